/**
 * The changes of one commit, by key. All of them are checked before any is written, and the meta record is updated with
 * them. Used inside transactions only.
 */
import type { AppendedRecord, ChainTails } from "./lmdb-chains.js";
import type { StoreMeta } from "./lmdb-environment.js";
import type { RecordSpace } from "./record-space.js";
import { KEY_ROOM_BYTES, writeNumber } from "../keys.js";
import { decodeRecord, encodeRecord } from "../record.js";

interface Change {
  readonly key: Buffer;
  readonly oldTag: bigint | undefined;
  /** Undefined: the record is deleted. */
  json: Uint8Array | undefined;
}

const INDEX_ENTRY = "true";
/** Buffer for keys of index entries, reused because LMDB copies a key at once. */
const indexKey = Buffer.allocUnsafeSlow(KEY_ROOM_BYTES);

export class ChangeSet {
  readonly #space: RecordSpace;
  readonly #tails: ChainTails;
  readonly #changes = new Map<string, Change>();
  readonly #appends: AppendedRecord[] = [];

  /** @param tails the ends of the logs in this transaction; the caller writes their heads */
  constructor(space: RecordSpace, tails: ChainTails) {
    this.#space = space;
    this.#tails = tails;
  }

  /** Number of records that are written or deleted. */
  get size(): number {
    return this.#changes.size + this.#appends.length;
  }

  /** Returns the version of a record in this transaction, or undefined. Throws `data_corrupt`. */
  versionOf(key: Buffer): number | undefined {
    return this.#current(key)?.version;
  }

  /**
   * Plans to write a record or, without JSON, to delete it. A later plan for the same key replaces an earlier one.
   * Throws `data_corrupt` for a damaged record.
   */
  plan(key: Buffer, json: Uint8Array | undefined): void {
    const name = key.toString("latin1");
    const earlier = this.#changes.get(name);
    if (earlier === undefined) this.#changes.set(name, { key, oldTag: this.#current(key)?.tag, json });
    else earlier.json = json;
  }

  /** Plans the next record of a log and its index entries. Throws `data_corrupt` for a damaged head. */
  append(record: AppendedRecord): void {
    this.#tails.require(record);
    this.#appends.push(record);
  }

  /**
   * Writes all changes with one new version, and updates `meta`, which the caller writes at the end of the transaction.
   */
  write(meta: StoreMeta): void {
    let sum = meta.tag_sum;
    meta.sequence += 1;
    for (const [name, { key, oldTag, json }] of this.#changes) {
      this.#tails.forget(name);
      if (oldTag !== undefined) {
        sum -= oldTag;
        meta.count -= 1;
      }
      if (json !== undefined) {
        sum += this.#put(meta, key, json);
      } else if (oldTag !== undefined) {
        this.#space.remove(key);
      }
    }
    for (const append of this.#appends) {
      const next = this.#tails.link(append);
      // A key that ends in a new number is new, so there is no old record to read.
      sum += this.#put(meta, next.key, ...next.json);
      for (const index of append.indexes) {
        indexKey.set(index, 0);
        sum += this.#put(meta, indexKey.subarray(0, writeNumber(next.number, indexKey, index.length)), INDEX_ENTRY);
      }
    }
    meta.tag_sum = BigInt.asUintN(64, sum);
  }

  #put(meta: StoreMeta, key: Buffer, ...json: readonly (string | Uint8Array)[]): bigint {
    const record = encodeRecord(key, meta.sequence, ...json);
    this.#space.put(key, record.bytes);
    meta.count += 1;
    return record.tag;
  }

  #current(key: Buffer): { version: number; tag: bigint } | undefined {
    const bytes = this.#space.read(key);
    return bytes === undefined ? undefined : decodeRecord(key, bytes);
  }
}
