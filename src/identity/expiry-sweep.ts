/**
 * Deletes expired records, a few at a time, while new ones are written. Strangers can make records that expire
 * (throttle counters, reset tokens, assertions), and no other request would delete them.
 */
import type { Clock } from "../platform/clock.js";
import { StoreConflict, type Store, type StoreKey, type StoreValue } from "../platform/store/store.js";

export interface ExpirySweepOptions<T> {
  /** First part of the keys. */
  readonly table: string;
  /** Calls of `sweep` for one that reads records. */
  readonly everyCalls: number;
  /** Records that are read at a time; more than `everyCalls`, so that expired ones cannot pile up. */
  readonly records: number;
  /** Returns when a record expires, in milliseconds since the Unix epoch. */
  readonly expiresAtMs: (value: T) => number;
}

export class ExpirySweep<T extends StoreValue> {
  readonly #options: ExpirySweepOptions<T>;
  readonly #store: Store;
  readonly #clock: Clock;
  #calls = 0;
  #after: StoreKey | undefined;

  constructor(options: ExpirySweepOptions<T>, dependencies: { readonly store: Store; readonly clock: Clock }) {
    this.#options = options;
    this.#store = dependencies.store;
    this.#clock = dependencies.clock;
  }

  /** Called after each new record; every few calls it reads some records and deletes the expired ones. */
  async sweep(): Promise<void> {
    const { table, everyCalls, records: limit, expiresAtMs } = this.#options;
    this.#calls += 1;
    if (this.#calls < everyCalls) return;
    this.#calls = 0;
    const after = this.#after === undefined ? {} : { after: this.#after };
    const records = this.#store.range<T>([table], { limit, ...after });
    this.#after = records.length < limit ? undefined : records.at(-1)?.key;
    const now = this.#clock.nowMs();
    const expired = records.filter(({ value }) => expiresAtMs(value) <= now);
    if (expired.length === 0) return;
    try {
      await this.#store.commit({
        checks: expired.map(({ key, version }) => ({ key, version })),
        deletes: expired.map(({ key }) => key),
      });
    } catch (error) {
      // One of them was used in the meantime: none is deleted, and a later sweep reads them again.
      if (!(error instanceof StoreConflict)) throw error;
    }
  }
}
