/**
 * Records of things that are used once and soon: authorization codes, reset tokens, seen assertions. One that has had
 * its time reads as absent and is swept up on the way, because strangers can make them and would not tidy.
 */
import type { Clock } from "../../platform/clock.js";
import {
  StoreConflict,
  type Store,
  type StoreCommit,
  type StoreKey,
  type StoreRecord,
  type StoreValue,
} from "../../platform/store/store.js";

/** A type, not an interface, so that records that extend it are StoreValues. */
export type Expiring = { readonly expires_at_ms: number };

/** Each sweep looks at more records than were made since the last one, so leftovers cannot pile up. */
const SWEEP_EVERY = 8;
const SWEEP_RECORDS = 32;

export class ExpiringRecords<T extends Expiring & StoreValue> {
  readonly #table: string;
  readonly #store: Store;
  readonly #clock: Clock;
  #sinceSweep = 0;
  #sweepAfter: StoreKey | undefined;

  /** @param options.table first part of the keys; never change it */
  constructor(options: { readonly table: string }, dependencies: { readonly store: Store; readonly clock: Clock }) {
    this.#table = options.table;
    this.#store = dependencies.store;
    this.#clock = dependencies.clock;
  }

  find(id: string): StoreRecord<T> | undefined {
    const record = this.#store.get<T>([this.#table, id]);
    return record === undefined || record.value.expires_at_ms <= this.#clock.nowMs() ? undefined : record;
  }

  /** Conflicts when there is a record of that id already. */
  insertCommit(id: string, value: T): StoreCommit {
    const key = [this.#table, id];
    return { checks: [{ key, version: "absent" }], puts: [{ key, value }] };
  }

  replaceCommit(record: StoreRecord<T>, value: T): StoreCommit {
    return { checks: [{ key: record.key, version: record.version }], puts: [{ key: record.key, value }] };
  }

  /** Conflicts when somebody else used the record meanwhile. */
  deleteCommit(record: StoreRecord<T>): StoreCommit {
    return { checks: [{ key: record.key, version: record.version }], deletes: [record.key] };
  }

  /** Removes some records that have had their time, now and then. */
  async sweep(): Promise<void> {
    this.#sinceSweep += 1;
    if (this.#sinceSweep < SWEEP_EVERY) return;
    this.#sinceSweep = 0;
    const records = this.#store.range<T>([this.#table], {
      limit: SWEEP_RECORDS,
      ...(this.#sweepAfter === undefined ? {} : { after: this.#sweepAfter }),
    });
    this.#sweepAfter = records.length < SWEEP_RECORDS ? undefined : records.at(-1)?.key;
    const now = this.#clock.nowMs();
    const over = records.filter((record) => record.value.expires_at_ms <= now);
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
