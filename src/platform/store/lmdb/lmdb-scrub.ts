/**
 * Walks every record of the store and says what is damaged: tags that do not hold, records that a lookup does not find,
 * and, through the running count and sum, records that a damaged page hides. It reads only.
 */
import { setImmediate } from "node:timers/promises";
import { decodeKey } from "../keys.js";
import { RESERVED_KEY_BYTE } from "../keys.js";
import { readBinary, readMeta, reasonOf } from "./lmdb-environment.js";
import type { Environment, StoreMeta } from "./lmdb-environment.js";
import { decodeRecord } from "../record.js";
import type { StoreKey } from "../store.js";

export interface IntegrityReport {
  /** True when nothing is damaged and nothing is missing. */
  readonly sound: boolean;
  readonly records: number;
  /** Bytes of keys and values that were read. */
  readonly bytes: number;
  /** The first damages found, at most DAMAGES_MAX. Keys only where they can be read; never a value. */
  readonly damages: readonly Damage[];
}

export interface Damage {
  readonly reason: string;
  readonly key?: StoreKey;
}

type Transaction = ReturnType<Environment["useReadTransaction"]>;

const DAMAGES_MAX = 100;
/** Records between two pauses: about 3 ms of the thread. */
const SLICE_RECORDS = 500;

/** Walks one consistent snapshot, pausing between slices so that the thread stays free. */
export async function scrubStore(environment: Environment): Promise<IntegrityReport> {
  const transaction = environment.useReadTransaction();
  const walk = new Walk(environment, transaction);
  try {
    while (walk.next(SLICE_RECORDS)) await setImmediate();
  } finally {
    transaction.done();
  }
  return walk.report();
}

/** The same without pauses, for the start. Costs about 6 us per record. */
export function scrubStoreNow(environment: Environment): IntegrityReport {
  const transaction = environment.useReadTransaction();
  const walk = new Walk(environment, transaction);
  try {
    while (walk.next(Number.MAX_SAFE_INTEGER));
  } finally {
    transaction.done();
  }
  return walk.report();
}

class Walk {
  readonly #environment: Environment;
  readonly #transaction: Transaction;
  readonly #damages: Damage[] = [];
  readonly #meta: StoreMeta | undefined;
  #records = 0;
  #bytes = 0;
  #sum = 0n;
  #last: Buffer | undefined;

  constructor(environment: Environment, transaction: Transaction) {
    this.#environment = environment;
    this.#transaction = transaction;
    try {
      this.#meta = readMeta(environment, transaction);
      if (this.#meta === undefined) this.#damage("the store's own record is missing");
    } catch (error) {
      this.#damage(reasonOf(error));
    }
  }

  /** Walks up to `limit` records; false when the end, or a place beyond which nothing can be read, has been reached. */
  next(limit: number): boolean {
    let walked = 0;
    try {
      const start = this.#last ?? Buffer.of(RESERVED_KEY_BYTE + 1);
      const options = {
        start,
        exclusiveStart: this.#last !== undefined,
        limit: Math.min(limit, 2 ** 31 - 1),
        transaction: this.#transaction,
      };
      for (const { key, value } of this.#environment.getRange(options)) {
        this.#look(Buffer.from(key), value);
        walked += 1;
      }
    } catch (error) {
      this.#damage(`the walk broke off: ${reasonOf(error)}`);
      return false;
    }
    return walked === limit;
  }

  report(): IntegrityReport {
    if (this.#meta !== undefined) {
      if (this.#meta.count !== this.#records)
        this.#damage(`${this.#meta.count} records were written, ${this.#records} are found`);
      if (this.#meta.tag_sum !== BigInt.asUintN(64, this.#sum)) this.#damage("the sum over all records does not hold");
    }
    return { sound: this.#damages.length === 0, records: this.#records, bytes: this.#bytes, damages: this.#damages };
  }

  #look(key: Buffer, bytes: Buffer): void {
    if (this.#last !== undefined && Buffer.compare(this.#last, key) >= 0)
      throw new Error("the order of the keys is broken");
    this.#last = key;
    this.#records += 1;
    this.#bytes += key.length + bytes.length;
    try {
      this.#sum += decodeRecord(key, bytes).tag;
      // A damaged branch page leads a lookup astray though a walk along the leaves still finds the record.
      if (readBinary(this.#environment, key, this.#transaction) === undefined)
        this.#damage("a lookup does not find the record", key);
    } catch (error) {
      this.#damage(reasonOf(error), key);
    }
  }

  #damage(reason: string, key?: Buffer): void {
    if (this.#damages.length < DAMAGES_MAX) this.#damages.push({ reason, ...readable(key) });
  }
}

function readable(key: Buffer | undefined): { key?: StoreKey } {
  if (key === undefined) return {};
  try {
    return { key: decodeKey(key) };
  } catch {
    // The key itself is damaged; the reason stands without it.
    return {};
  }
}
