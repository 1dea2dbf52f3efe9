/**
 * The ends of the logs of a store (chain.ts). Each head is read once, and written once per transaction, however many
 * records are appended in it. Used inside transactions only, and discarded when a transaction fails.
 */
import { assert } from "../../errors.js";
import { chainHeadKey, chainRecordKey, NO_PREDECESSOR, type ChainHead, type ChainKey } from "../chain.js";
import { decodeKey, encodeKey, NUMBER_PART_BYTES, writeNumber } from "../keys.js";
import { decodeRecord, encodeRecord } from "../record.js";
import type { StoreMeta } from "./lmdb-environment.js";
import type { RecordSpace } from "./record-space.js";

/** A record for a log, as unpacked from a commit. */
export interface AppendedRecord {
  /** Encoded name of the log. */
  readonly key: Buffer;
  readonly json: Buffer;
  readonly indexes: readonly Buffer[];
  readonly unlinked: boolean;
}

interface Tail {
  readonly chain: Buffer;
  readonly headKey: Buffer;
  /** Key of the last record; overwritten by the key of the next one. */
  readonly recordKey: Buffer;
  /** Tag of the stored head; undefined before the first record. */
  storedTag: bigint | undefined;
  number: number;
  /** Code of the last record; undefined in an unlinked log. */
  mac: string | undefined;
  isChanged: boolean;
}

/** A record with its key, number and code. */
export interface LinkedRecord {
  /** Valid until the next record of the log is linked. */
  readonly key: Buffer;
  readonly number: number;
  /** UTF-8 or ASCII text, in pieces. */
  readonly json: readonly (string | Uint8Array)[];
}

export class ChainTails {
  readonly #space: RecordSpace;
  readonly #chainKey: ChainKey | undefined;
  /** By the encoded name of the log. The program defines only a few logs. */
  readonly #tails = new Map<string, Tail>();
  /** Names of the logs by the key of their head. */
  readonly #heads = new Map<string, string>();

  constructor(space: RecordSpace, chainKey: ChainKey | undefined) {
    this.#space = space;
    this.#chainKey = chainKey;
  }

  /** Reads all that `link` needs, so that it cannot fail. Throws `data_corrupt` for a damaged head. */
  require({ key, unlinked }: AppendedRecord): void {
    assert(unlinked || this.#chainKey !== undefined, "a store with hash chains is opened with their key");
    this.#tailOf(key);
  }

  /**
   * Discards a head that a commit writes as an ordinary record; it is read again when needed.
   * @param name the record's key as Latin-1 text
   */
  forget(name: string): void {
    const log = this.#heads.get(name);
    if (log !== undefined) this.#tails.delete(log);
  }

  /** Returns a record with the next number and, in a linked log, its code. */
  link({ key, json, unlinked }: AppendedRecord): LinkedRecord {
    const tail = this.#tailOf(key);
    tail.number += 1;
    tail.isChanged = true;
    writeNumber(tail.number, tail.recordKey, tail.recordKey.length - NUMBER_PART_BYTES);
    if (unlinked) {
      tail.mac = undefined;
      return { key: tail.recordKey, number: tail.number, json: [json] };
    }
    assert(this.#chainKey !== undefined, "the record was required before");
    tail.mac = this.#chainKey.mac({
      chain: tail.chain,
      number: tail.number,
      predecessor: tail.mac ?? NO_PREDECESSOR,
      json,
    });
    return { key: tail.recordKey, number: tail.number, json: [`{"mac":"${tail.mac}","event":`, json, "}"] };
  }

  /** Writes the heads of the logs that grew, and updates `meta`, which the caller writes afterwards. */
  write(meta: StoreMeta): void {
    let sum = meta.tag_sum;
    for (const tail of this.#tails.values()) {
      if (!tail.isChanged) continue;
      if (tail.storedTag === undefined) meta.count += 1;
      else sum -= tail.storedTag;
      const head =
        tail.mac === undefined
          ? { number: tail.number }
          : { number: tail.number, mac: tail.mac, key_id: this.#chainKey?.id };
      const record = encodeRecord(tail.headKey, meta.sequence, JSON.stringify(head));
      this.#space.put(tail.headKey, record.bytes);
      sum += record.tag;
      tail.storedTag = record.tag;
      tail.isChanged = false;
    }
    meta.tag_sum = BigInt.asUintN(64, sum);
  }

  #tailOf(key: Buffer): Tail {
    const name = key.toString("latin1");
    const cached = this.#tails.get(name);
    if (cached !== undefined) return cached;
    const chain = String(decodeKey(key)[0]);
    const headKey = encodeKey(chainHeadKey(chain));
    const bytes = this.#space.read(headKey);
    const stored = bytes === undefined ? undefined : decodeRecord(headKey, bytes);
    const head =
      stored === undefined
        ? undefined
        : (JSON.parse(stored.json.toString("utf8")) as Pick<ChainHead, "number"> & Partial<ChainHead>);
    const number = head?.number ?? 0;
    const tail: Tail = {
      chain: Buffer.from(chain),
      headKey,
      recordKey: encodeKey(chainRecordKey(chain, number)),
      storedTag: stored?.tag,
      number,
      mac: head?.mac,
      isChanged: false,
    };
    this.#tails.set(name, tail);
    this.#heads.set(headKey.toString("latin1"), name);
    return tail;
  }
}
