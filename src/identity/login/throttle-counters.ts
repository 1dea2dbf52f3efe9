/**
 * Durable counters of failed logins and sign-ups. A counter that has had its time is as good as absent, and is swept up
 * on the way: strangers can make counters at will, so nobody else would.
 */
import type { Clock } from "../../platform/clock.js";
import { StoreConflict, type Store, type StoreCommit, type StoreKey } from "../../platform/store/store.js";

const TABLE = "login_throttle";

export type CounterKind = "account" | "address" | "signup" | "reset_address" | "reset_account" | "invitation";

/** A type, not an interface, so that it is a StoreValue. */
export type Counter = {
  readonly count: number;
  /** Until when the next attempt must wait. */
  readonly blocked_until_ms: number;
  /** Attempt that is being evaluated, if any, and until when it may take. */
  readonly attempt_id: string | null;
  readonly attempt_until_ms: number;
  /** From then on the counter is as good as absent. */
  readonly forget_at_ms: number;
};

export interface CounterRecord {
  readonly key: StoreKey;
  readonly value: Counter;
  readonly version: number | "absent";
}

const FRESH: Counter = { count: 0, blocked_until_ms: 0, attempt_id: null, attempt_until_ms: 0, forget_at_ms: 0 };
/** Each sweep looks at more counters than were made since the last one, so leftovers cannot pile up. */
const SWEEP_EVERY = 16;
const SWEEP_RECORDS = 64;

export class ThrottleCounters {
  readonly #store: Store;
  readonly #clock: Clock;
  #sinceSweep = 0;
  #sweepAfter: StoreKey | undefined;

  constructor(dependencies: { readonly store: Store; readonly clock: Clock }) {
    this.#store = dependencies.store;
    this.#clock = dependencies.clock;
  }

  /** The counter as it counts now: one that may be forgotten reads as zero. */
  read(kind: CounterKind, hash: string): CounterRecord {
    const key = [TABLE, kind, hash];
    const record = this.#store.get<Counter>(key);
    if (record === undefined) return { key, value: FRESH, version: "absent" };
    const value = record.value.forget_at_ms <= this.#clock.nowMs() ? FRESH : record.value;
    return { key, value, version: record.version };
  }

  /** Removes some counters that have had their time, now and then. */
  async sweep(): Promise<void> {
    this.#sinceSweep += 1;
    if (this.#sinceSweep < SWEEP_EVERY) return;
    this.#sinceSweep = 0;
    const records = this.#store.range<Counter>([TABLE], {
      limit: SWEEP_RECORDS,
      ...(this.#sweepAfter === undefined ? {} : { after: this.#sweepAfter }),
    });
    this.#sweepAfter = records.length < SWEEP_RECORDS ? undefined : records.at(-1)?.key;
    const now = this.#clock.nowMs();
    const over = records.filter((record) => record.value.forget_at_ms <= now);
    if (over.length === 0) return;
    try {
      await this.#store.commit({
        checks: over.map(({ key, version }) => ({ key, version })),
        deletes: over.map(({ key }) => key),
      });
    } catch (error) {
      // Somebody used one of them meanwhile: none is removed, and the next round finds the rest.
      if (!(error instanceof StoreConflict)) throw error;
    }
  }
}

/** A commit that puts a new value in place of the counter that was read. */
export function replaceCounter(read: CounterRecord, value: Counter): StoreCommit {
  return { checks: [{ key: read.key, version: read.version }], puts: [{ key: read.key, value }] };
}
