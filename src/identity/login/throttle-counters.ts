/**
 * Durable counters of failed logins, sign-ups and mails. They are security state, not a cache: a counter stays until it
 * expires, and an expired counter reads as zero.
 */
import type { Clock } from "../../platform/clock.js";
import type { Store, StoreCommit, StoreKey } from "../../platform/store/store.js";
import { ExpirySweep } from "../expiry-sweep.js";

const TABLE = "login_throttle";

export type CounterKind =
  | "account"
  | "address"
  | "signup"
  | "reset_address"
  | "reset_account"
  | "confirmation_address"
  | "confirmation_account"
  | "invitation"
  | "device_code"
  | "user_code";

/** A type, not an interface, so that it is a StoreValue. */
export type Counter = {
  readonly count: number;
  /** The next attempt must wait until then. */
  readonly blocked_until_ms: number;
  /** Attempt that is being evaluated, if any, and the time after which it counts as lost. */
  readonly attempt_id: string | null;
  readonly attempt_until_ms: number;
  /** The counter reads as zero from then on. */
  readonly forget_at_ms: number;
};

export interface CounterRecord {
  readonly key: StoreKey;
  readonly value: Counter;
  readonly version: number | "absent";
}

const ZERO: Counter = { count: 0, blocked_until_ms: 0, attempt_id: null, attempt_until_ms: 0, forget_at_ms: 0 };
/** New or changed counters for one sweep. */
const SWEEP_EVERY = 16;
const SWEEP_RECORDS = 64;

export class ThrottleCounters {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #sweep: ExpirySweep<Counter>;

  constructor(dependencies: { readonly store: Store; readonly clock: Clock }) {
    this.#store = dependencies.store;
    this.#clock = dependencies.clock;
    this.#sweep = new ExpirySweep(
      {
        table: TABLE,
        everyCalls: SWEEP_EVERY,
        records: SWEEP_RECORDS,
        expiresAtMs: (counter) => counter.forget_at_ms,
      },
      dependencies,
    );
  }

  /**
   * Returns a counter; zero for one that is absent or has expired.
   * @param hash of the account, address or subject (`throttle-keys.ts`)
   */
  read(kind: CounterKind, hash: string): CounterRecord {
    const key = [TABLE, kind, hash];
    const record = this.#store.get<Counter>(key);
    if (record === undefined) return { key, value: ZERO, version: "absent" };
    const value = record.value.forget_at_ms <= this.#clock.nowMs() ? ZERO : record.value;
    return { key, value, version: record.version };
  }

  /** Deletes some expired counters every few calls; called after each change of a counter. */
  async sweep(): Promise<void> {
    await this.#sweep.sweep();
  }
}

/** Returns the commit that replaces a counter as read. */
export function replaceCounter(read: CounterRecord, value: Counter): StoreCommit {
  return { checks: [{ key: read.key, version: read.version }], puts: [{ key: read.key, value }] };
}
