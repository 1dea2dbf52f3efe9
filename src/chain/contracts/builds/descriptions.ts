/**
 * Asks the network's node again which kind of token a contract is (deployments.ts, `describe`), where the node did not
 * answer when the record was made. It asks in the background when the contract is next used, and less and less often
 * while the node stays silent. The record says that the answer is still missing, so that a restart forgets nothing.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../platform/clock.js";
import { AppError } from "../../../platform/errors.js";
import type { Log } from "../../../platform/log.js";
import type { Store } from "../../../platform/store/store.js";
import { retryOnConflict } from "../../../platform/store/tables.js";
import type { Deployments } from "../deployments.js";
import { NO_ADDRESS, type ContractRepository } from "../contract-repository.js";
import type { StoredContract, TokenFacts } from "../contract-records.js";

interface DescriptionDependencies {
  readonly store: Pick<Store, "commit">;
  readonly repository: ContractRepository;
  readonly deployments: Deployments;
  readonly clock: Clock;
  readonly log: Log;
}

/** The failures in a row of asking about one contract. */
interface Failures {
  readonly count: number;
  readonly notBeforeMs: number;
}

/** Contracts that are asked about at a time; a list may show a hundred. */
const ASKING_MAX = 4;
const FIRST_PAUSE_MS = 5_000;
const PAUSE_MAX_MS = 600_000;
/** Contracts whose failures are remembered; one beyond that is asked about a little too early. */
const FAILURES_MAX = 10_000;

export class ContractDescriptions {
  readonly #dependencies: DescriptionDependencies;
  readonly #asking = new Map<string, Promise<void>>();
  readonly #failures = new LRUCache<string, Failures>({ max: FAILURES_MAX });
  #isStopped = false;

  constructor(dependencies: DescriptionDependencies) {
    this.#dependencies = dependencies;
  }

  /** Called when a contract is used: begins to ask about it if the answer is missing and due. Returns at once. */
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
    if (this.#dependencies.clock.monotonicMs() < (this.#failures.get(id)?.notBeforeMs ?? 0)) return;
    this.#asking.set(
      id,
      this.#ask(contract).finally(() => {
        this.#asking.delete(id);
      }),
    );
  }

  /** Waits for the questions under way; no more are asked. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#asking.values());
  }

  async #ask(contract: StoredContract): Promise<void> {
    const { deployments, repository, store, log } = this.#dependencies;
    const { owner, id } = contract;
    try {
      const described = await deployments.describe(contract);
      if (described.undescribed === true) {
        this.#pause(id);
        return;
      }
      await retryOnConflict(async () => {
        const current = repository.find(owner, id);
        // The owner may have changed, redeployed or deleted the contract while the node was asked.
        if (
          current?.value.undescribed !== true ||
          current.value.address !== contract.address ||
          current.value.type !== contract.type
        )
          return;
        const { undescribed: _undescribed, ...rest } = current.value;
        await store.commit(
          repository.update(current, { ...rest, ...described, token: factsOf(rest.token, described.token) }),
        );
      });
      this.#failures.delete(id);
    } catch (error) {
      this.#pause(id);
      log.warn(
        "the type of a contract could not be determined",
        error instanceof AppError ? { code: error.code } : { error },
      );
    }
  }

  #pause(id: string): void {
    const count = (this.#failures.get(id)?.count ?? 0) + 1;
    const pauseMs = Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** Math.min(count - 1, 20));
    this.#failures.set(id, { count, notBeforeMs: this.#dependencies.clock.monotonicMs() + pauseMs });
  }
}

/** Returns the facts of a token. What its owner gave takes precedence over what the contract answered. */
function factsOf(given: TokenFacts | null, answered: TokenFacts | null): TokenFacts | null {
  if (given === null || answered === null) return answered ?? given;
  return { ...answered, ...Object.fromEntries(Object.entries(given).filter(([, member]) => member !== null)) };
}
