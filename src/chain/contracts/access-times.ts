/**
 * When contracts were last used. Kept in memory and written now and then, many in one commit, so that a read costs no
 * write to the disk; what a crash loses is at most half a minute of it. A list by it asks for the writing first and so
 * is always right.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Log } from "../../platform/log.js";
import type { Store } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import type { ContractRepository, StoredContract } from "./contract-repository.js";

export interface AccessDependencies {
  readonly store: Pick<Store, "commit">;
  readonly repository: ContractRepository;
  readonly clock: Clock;
  readonly log: Log;
}

interface Access {
  readonly owner: Subject;
  readonly id: string;
  readonly at: string;
}

/** Half a minute: a contract that is used all the time costs two commits a minute. */
const FLUSH_MS = 30_000;
/** Records of one commit. */
const BATCH = 100;
/** Contracts with an unwritten time; one more writes at once. */
const PENDING_MAX = 1_000;

export class ContractAccesses {
  readonly #with: AccessDependencies;
  readonly #pending = new Map<string, Access>();
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();

  constructor(dependencies: AccessDependencies) {
    this.#with = dependencies;
  }

  /** Notes that a contract was used. */
  note({ owner, id }: Pick<StoredContract, "owner" | "id">): void {
    this.#pending.set(id, { owner, id, at: isoTimestamp(this.#with.clock.nowMs()) });
    if (this.#pending.size > PENDING_MAX) this.#flushLater(0);
    else this.#flushLater(FLUSH_MS);
  }

  /** When it was used last, written or not. */
  of({ id, accessed_at: stored }: Pick<StoredContract, "id" | "accessed_at">): string | null {
    return this.#pending.get(id)?.at ?? stored;
  }

  /** Writes what is noted. Rejects as the store does; what was not written is noted still. */
  async flush(): Promise<void> {
    const run = this.#flushing.then(async () => {
      await this.#writeAll();
    });
    // The next one must run whether this one fails or not; its caller hears of it.
    this.#flushing = run.catch(() => undefined);
    await run;
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#flushOrWarn();
  }

  #flushLater(delayMs: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#flushOrWarn();
    }, delayMs);
    this.#timer.unref();
  }

  async #flushOrWarn(): Promise<void> {
    try {
      await this.flush();
    } catch {
      // The store itself reports why; the times stay noted for the next turn.
      this.#with.log.warn("times of last use were not written", { count: this.#pending.size });
    }
  }

  async #writeAll(): Promise<void> {
    for (let batch = this.#batch(); batch.length > 0; batch = this.#batch()) {
      await retryOnConflict(async () => {
        const commits = batch.flatMap(({ owner, id, at }) => {
          const current = this.#with.repository.find(owner, id);
          return current === undefined
            ? []
            : [this.#with.repository.update(current, { ...current.value, accessed_at: at })];
        });
        if (commits.length > 0) await this.#with.store.commit(mergeCommits(...commits));
      });
      for (const access of batch) if (this.#pending.get(access.id) === access) this.#pending.delete(access.id);
    }
  }

  #batch(): Access[] {
    return [...this.#pending.values()].slice(0, BATCH);
  }
}
