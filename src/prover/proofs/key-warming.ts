/**
 * Opens proving keys before their first proof is asked for: those of provers that have just become ready, on whichever
 * node, and after a start those that were in use last. One after the other, at no one's cost: a key takes memory that
 * nothing else has, and a proof that comes meanwhile shares the opening.
 */
import type { Subject } from "../../platform/auth/principal.js";
import type { Log } from "../../platform/log.js";
import type { Catalog } from "../catalog.js";
import { isVerifierOnly } from "../imports/import-files.js";
import { pinnedProver, type PinnedProverDependencies } from "./pinned-prover.js";
import type { ProverRepository, StoredProver } from "../repository.js";
import type { ProverVault } from "../vault-port.js";
import type { KeyImageMarks, MarkedProver } from "./key-image-marks.js";

interface KeyWarmingDependencies extends PinnedProverDependencies {
  readonly repository: Pick<ProverRepository, "find" | "someOfAll">;
  readonly catalog: Catalog;
  readonly vault: Pick<ProverVault, "untilUnsealed">;
  /** Tells which keys were in use; without it a start opens any. */
  readonly keyImages?: KeyImageMarks | undefined;
  readonly log: Log;
}

/** Provers that wait, newly provisioned ones: beyond that the first proof opens the key. */
const WAITING_MAX = 1_000;
/** Keys for which there is no room one after the other, at a start: those that come after are used even less. */
const MISSES_MAX = 8;
/** Provers that a start goes over where it does not know which were in use. */
const ANY_MAX = 64;

export class KeyWarming {
  readonly #with: KeyWarmingDependencies;
  readonly #waiting: MarkedProver[] = [];
  readonly #stop = new AbortController();
  #isRunning = false;

  constructor(dependencies: KeyWarmingDependencies) {
    this.#with = dependencies;
  }

  /** Opens the keys that were in use, once the vault is unsealed. Never rejects. */
  async start(): Promise<void> {
    const { signal } = this.#stop;
    try {
      await this.#with.vault.untilUnsealed(signal);
      const count = await this.#warmUsed();
      if (count > 0) this.#with.log.info("proving keys are open before their first proof", { count });
    } catch (error) {
      if (!signal.aborted) this.#with.log.warn("proving keys were not opened ahead of their first proof", { error });
    }
  }

  /** Opens the key of a prover that has become ready, after those that came before. */
  add(owner: Subject, id: string): void {
    if (this.#stop.signal.aborted || this.#waiting.length >= WAITING_MAX) return;
    this.#waiting.push({ owner, id });
    if (!this.#isRunning) void this.#runWaiting();
  }

  /** Opens no more, and ends what waits. */
  stop(): void {
    this.#waiting.length = 0;
    this.#stop.abort(new Error("the server stops"));
  }

  async #runWaiting(): Promise<void> {
    this.#isRunning = true;
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) await this.#warm(next);
    } finally {
      this.#isRunning = false;
    }
  }

  /** Returns how many keys were opened. */
  async #warmUsed(): Promise<number> {
    let opened = 0;
    let misses = 0;
    for await (const provers of this.#candidates()) {
      if (misses >= MISSES_MAX || this.#stop.signal.aborted) break;
      if (await this.#warmOne(provers)) opened += 1;
      else misses += 1;
    }
    return opened;
  }

  /** Opens the key of the first of the provers that has it still. */
  async #warmOne(provers: readonly MarkedProver[]): Promise<boolean> {
    for (const prover of provers) if (await this.#warm(prover)) return true;
    return false;
  }

  /** The provers of each key. */
  async *#candidates(): AsyncIterable<readonly MarkedProver[]> {
    const { keyImages, repository } = this.#with;
    let isAny = false;
    for await (const provers of keyImages?.recent() ?? []) {
      isAny = true;
      yield provers;
    }
    if (!isAny) for (const { id, build } of repository.someOfAll(ANY_MAX)) yield [{ owner: build.owner, id }];
  }

  /** Returns whether the key is open. What stands in the way is told to the first proof, if it still does then. */
  async #warm({ owner, id }: MarkedProver): Promise<boolean> {
    const prover = this.#with.repository.find(owner, id)?.value;
    if (prover === undefined || prover.status !== "provisioned" || isVerifierOnly(prover)) return false;
    try {
      return await this.#open(prover);
    } catch (error) {
      this.#with.log.debug("a proving key was not opened ahead of its first proof", () => ({ prover_id: id, error }));
      return false;
    }
  }

  async #open(prover: StoredProver): Promise<boolean> {
    const provider = this.#with.catalog.providerOf(prover);
    if (provider.warm === undefined) return false;
    const ready = await pinnedProver(prover, ["verifying_key", "proving_key"], this.#with);
    return await provider.warm(ready, { signal: this.#stop.signal });
  }
}
