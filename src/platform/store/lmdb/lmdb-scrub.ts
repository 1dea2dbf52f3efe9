/**
 * Reads every record of the store and reports damage: wrong tags, records that a lookup does not find, and, by the
 * count and sum of the meta record, records that a damaged page hides. It only reads.
 */
import { setImmediate } from "node:timers/promises";
import { decodeKey, RESERVED_KEY_BYTE } from "../keys.js";
import { readBinary, readMeta, reasonOf } from "./lmdb-environment.js";
import type { Environment, StoreMeta } from "./lmdb-environment.js";
import { decodeRecord } from "../record.js";
import type { StoreKey } from "../store.js";

export interface IntegrityReport {
  /** True when no record is damaged or missing. */
  readonly sound: boolean;
  readonly records: number;
  /** Bytes of the keys and values. */
  readonly bytes: number;
  /** The first damages, at most DAMAGES_MAX, with their keys where these can be read; never a value. */
  readonly damages: readonly Damage[];
}

export interface Damage {
  readonly reason: string;
  readonly key?: StoreKey;
}

type Transaction = ReturnType<Environment["useReadTransaction"]>;

const DAMAGES_MAX = 100;
/** Records between two pauses: about 3 ms. */
const SLICE_RECORDS = 500;

/**
 * Checks one consistent snapshot, and pauses between slices so that the thread can do other work.
 * @throws the signal's reason when it is aborted: then the environment is not read any more
 */
export async function scrubStore(environment: Environment, signal?: AbortSignal): Promise<IntegrityReport> {
  const transaction = environment.useReadTransaction();
  const walk = new Walk(environment, transaction);
  try {
    while (walk.next(SLICE_RECORDS)) {
      await setImmediate();
      signal?.throwIfAborted();
    }
  } finally {
    transaction.done();
  }
  return walk.report();
}

/** Does the same without pauses, for the start of the server. About 6 us per record. */
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
      if (this.#meta === undefined) this.#damage("the meta record of the store is missing");
    } catch (error) {
      this.#damage(reasonOf(error));
    }
  }

  /** Checks up to `limit` records. Returns false at the end, or where nothing further can be read. */
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
        this.#check(Buffer.from(key), value);
        walked += 1;
      }
    } catch (error) {
      this.#damage(`the records cannot be read further: ${reasonOf(error)}`);
      return false;
    }
    return walked === limit;
  }

  report(): IntegrityReport {
    if (this.#meta !== undefined) {
      if (this.#meta.count !== this.#records)
        this.#damage(`${this.#meta.count} records were written, ${this.#records} are found`);
      if (this.#meta.tag_sum !== BigInt.asUintN(64, this.#sum)) this.#damage("the sum over all records is wrong");
    }
    return { sound: this.#damages.length === 0, records: this.#records, bytes: this.#bytes, damages: this.#damages };
  }

  #check(key: Buffer, bytes: Buffer): void {
    if (this.#last !== undefined && Buffer.compare(this.#last, key) >= 0) throw new Error("the keys are out of order");
    this.#last = key;
    this.#records += 1;
    this.#bytes += key.length + bytes.length;
    try {
      this.#sum += decodeRecord(key, bytes).tag;
      // With a damaged branch page a lookup may miss a record that the walk along the leaves still finds.
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
    // The key itself is damaged; the reason is reported without it.
    return {};
  }
}
