/**
 * When contracts were last used. The times are held in memory and written every half minute, many in one commit, so
 * that a read costs no write to the disk; a crash loses at most half a minute of them. A list sorted by last use has
 * them written first, so that it is always right.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Log } from "../../platform/log.js";
import type { Store } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import type { ContractRepository } from "./contract-repository.js";
import type { StoredContract } from "./contract-records.js";

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
  /** Counts uses, to order those of one millisecond. */
  readonly order: number;
}

/** At this interval, a contract in constant use costs two commits a minute. */
const FLUSH_MS = 30_000;
/** Records of one commit. */
const BATCH = 100;
/** Contracts with an unwritten time; beyond this number the times are written at once. */
const PENDING_MAX = 1_000;

export class ContractAccesses {
  readonly #dependencies: AccessDependencies;
  readonly #pending = new Map<string, Access>();
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();
  #uses = 0;

  constructor(dependencies: AccessDependencies) {
    this.#dependencies = dependencies;
  }

  /** Records that a contract is used now, after every use recorded before. */
  note({ owner, id }: Pick<StoredContract, "owner" | "id">): void {
    this.#uses += 1;
    this.#pending.set(id, { owner, id, at: isoTimestamp(this.#dependencies.clock.nowMs()), order: this.#uses });
    if (this.#pending.size > PENDING_MAX) this.#flushLater(0);
    else this.#flushLater(FLUSH_MS);
  }

  /** Returns when a contract was last used, whether that is written yet or not; null if never. */
  of({ id, accessed_at: stored }: Pick<StoredContract, "id" | "accessed_at">): string | null {
    return this.#pending.get(id)?.at ?? stored;
  }

  /** Writes all recorded times. Rejects as the store does; times that were not written are kept for the next try. */
  async flush(): Promise<void> {
    const run = this.#flushing.then(async () => {
      await this.#writeAll();
    });
    // A failure rejects this caller's promise; the next flush must run all the same.
    this.#flushing = run.catch(() => undefined);
    await run;
  }

  /** Writes what is left and stops the timer; a failure is only logged. */
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
      // The store itself logs the reason; the times are kept for the next try.
      this.#dependencies.log.warn("times of last use were not written", { count: this.#pending.size });
    }
  }

  async #writeAll(): Promise<void> {
    for (let batch = this.#batch(); batch.length > 0; batch = this.#batch()) {
      await retryOnConflict(async () => {
        const commits = batch.flatMap(({ owner, id, at, order }) => {
          const current = this.#dependencies.repository.find(owner, id);
          return current === undefined
            ? []
            : [
                this.#dependencies.repository.update(current, {
                  ...current.value,
                  accessed_at: at,
                  access_order: order,
                }),
              ];
        });
        if (commits.length > 0) await this.#dependencies.store.commit(mergeCommits(...commits));
      });
      for (const access of batch) if (this.#pending.get(access.id) === access) this.#pending.delete(access.id);
    }
  }

  #batch(): Access[] {
    return [...this.#pending.values()].slice(0, BATCH);
  }
}
