/**
 * Records of things that are used once and soon: authorization codes, reset tokens, client assertions. An expired
 * record reads as absent.
 */
import type { Clock } from "../platform/clock.js";
import type { Store, StoreCommit, StoreKey, StoreRecord, StoreValue } from "../platform/store/store.js";
import { ExpirySweep } from "./expiry-sweep.js";

/** A type, not an interface, so that records that extend it are StoreValues. */
export type Expiring = { readonly expires_at_ms: number };

/** New records for one sweep. */
const SWEEP_EVERY = 8;
const SWEEP_RECORDS = 32;

export class ExpiringRecords<T extends Expiring & StoreValue> {
  readonly #table: string;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #sweep: ExpirySweep<T>;

  /** @param options.table first part of the keys; never change it */
  constructor(options: { readonly table: string }, dependencies: { readonly store: Store; readonly clock: Clock }) {
    this.#table = options.table;
    this.#store = dependencies.store;
    this.#clock = dependencies.clock;
    this.#sweep = new ExpirySweep(
      {
        table: options.table,
        everyCalls: SWEEP_EVERY,
        records: SWEEP_RECORDS,
        expiresAtMs: (value) => value.expires_at_ms,
      },
      dependencies,
    );
  }

  /** Returns the record with this id, unless it has expired. */
  find(id: string): StoreRecord<T> | undefined {
    const record = this.#store.get<T>([this.#table, id]);
    return record === undefined || record.value.expires_at_ms <= this.#clock.nowMs() ? undefined : record;
  }

  /** Returns the key of the record with this id. */
  keyOf(id: string): StoreKey {
    return [this.#table, id];
  }

  /** Returns the commit of a new record; it conflicts when there is one with this id already. */
  insertCommit(id: string, value: T): StoreCommit {
    const key = [this.#table, id];
    return { checks: [{ key, version: "absent" }], puts: [{ key, value }] };
  }

  /** Returns the commit that replaces a record as read. */
  replaceCommit(record: StoreRecord<T>, value: T): StoreCommit {
    return { checks: [{ key: record.key, version: record.version }], puts: [{ key: record.key, value }] };
  }

  /** Returns the commit that uses a record up; it conflicts when another request did so first. */
  deleteCommit(record: StoreRecord<T>): StoreCommit {
    return { checks: [{ key: record.key, version: record.version }], deletes: [record.key] };
  }

  /** Deletes some expired records every few calls; called after each new record. */
  async sweep(): Promise<void> {
    await this.#sweep.sweep();
  }
}
