/**
 * Asks again what a contract is (deployments.ts, `describe`) where its network's node could not be asked when the
 * contract was recorded: at its next use, behind whoever uses it, less and less often while the node stays silent. That
 * it is still to be asked is stored.
 */
import type { Clock } from "../../../platform/clock.js";
import { AppError } from "../../../platform/errors.js";
import type { Log } from "../../../platform/log.js";
import type { Store } from "../../../platform/store/store.js";
import { retryOnConflict } from "../../../platform/store/tables.js";
import type { Deployments } from "../deployments.js";
import { NO_ADDRESS, type ContractRepository, type StoredContract, type TokenFacts } from "../contract-repository.js";

export interface DescriptionDependencies {
  readonly store: Pick<Store, "commit">;
  readonly repository: ContractRepository;
  readonly deployments: Deployments;
  readonly clock: Clock;
  readonly log: Log;
}

interface Failed {
  readonly times: number;
  readonly notBeforeMs: number;
}

/** Contracts that are asked about at the same time; a list may show a hundred. */
const ASKING_MAX = 4;
const FIRST_PAUSE_MS = 5_000;
const PAUSE_MAX_MS = 600_000;
/** Contracts whose failures are remembered; beyond it all are forgotten, and asked about a little too early. */
const FAILED_MAX = 10_000;

export class ContractDescriptions {
  readonly #with: DescriptionDependencies;
  readonly #asking = new Map<string, Promise<void>>();
  readonly #failed = new Map<string, Failed>();
  #isStopped = false;

  constructor(dependencies: DescriptionDependencies) {
    this.#with = dependencies;
  }

  /** A contract is used: begins to ask about it when that is still to be done and due. Returns at once. */
  use(contract: StoredContract): void {
    const { id, undescribed, address } = contract;
    if (
      undescribed !== true ||
      address === NO_ADDRESS ||
      this.#isStopped ||
      this.#asking.has(id) ||
      this.#asking.size >= ASKING_MAX
    )
      return;
    if (this.#with.clock.monotonicMs() < (this.#failed.get(id)?.notBeforeMs ?? 0)) return;
    this.#asking.set(
      id,
      this.#ask(contract).finally(() => {
        this.#asking.delete(id);
      }),
    );
  }

  /** Begins nothing more, and waits for what is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#asking.values());
  }

  async #ask(contract: StoredContract): Promise<void> {
    const { deployments, repository, store, log } = this.#with;
    const { owner, id } = contract;
    try {
      const described = await deployments.describe(contract);
      if (described.undescribed === true) {
        this.#pause(id);
        return;
      }
      await retryOnConflict(async () => {
        const current = repository.find(owner, id);
        // Changed by its owner, deployed elsewhere or deleted while the node was asked.
        if (
          current?.value.undescribed !== true ||
          current.value.address !== contract.address ||
          current.value.type !== contract.type
        )
          return;
        const { undescribed: _undescribed, ...known } = current.value;
        await store.commit(
          repository.update(current, { ...known, ...described, token: factsOf(known.token, described.token) }),
        );
      });
      this.#failed.delete(id);
    } catch (error) {
      this.#pause(id);
      log.warn("what a contract is could not be found out now", error instanceof AppError ? { code: error.code } : {});
    }
  }

  #pause(id: string): void {
    const times = (this.#failed.get(id)?.times ?? 0) + 1;
    if (this.#failed.size >= FAILED_MAX) this.#failed.clear();
    this.#failed.set(id, {
      times,
      notBeforeMs:
        this.#with.clock.monotonicMs() + Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** Math.min(times - 1, 20)),
    });
  }
}

/** What was said of a token by its owner counts more than what it says itself. */
function factsOf(said: TokenFacts | null, found: TokenFacts | null): TokenFacts | null {
  if (said === null || found === null) return found ?? said;
  return { ...found, ...Object.fromEntries(Object.entries(said).filter(([, member]) => member !== null)) };
}
