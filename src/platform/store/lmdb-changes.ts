/**
 * The changes that one commit makes, key by key: read and judged first, written afterwards, with the store's own record kept in
 * step. Inside a transaction only.
 */
import { assert } from "../errors.js";
import { chainHeadKey, chainKeyId, chainMac, chainRecordKey, NO_PREDECESSOR, type ChainHead, type LogHead } from "./chain.js";
import { decodeKey, encodeKey } from "./keys.js";
import { readBinary } from "./lmdb-environment.js";
import type { Environment, StoreMeta } from "./lmdb-environment.js";
import { decodeRecord, encodeRecord } from "./record.js";

interface Change {
  readonly key: Buffer;
  readonly oldTag: bigint | undefined;
  /** Undefined: the record goes. */
  json: Uint8Array | undefined;
}

/** A record for a log as it came from the wire. */
export interface AppendedRecord {
  /** Encoded name of the log. */
  readonly key: Buffer;
  readonly json: Buffer;
  readonly indexes: readonly Buffer[];
  readonly unlinked: boolean;
}

export class ChangeSet {
  readonly #environment: Environment;
  readonly #changes = new Map<string, Change>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  get size(): number {
    return this.#changes.size;
  }

  /** The version of a record as the transaction sees it. Throws `data_corrupt`. */
  versionOf(key: Buffer): number | undefined {
    return this.#current(key)?.version;
  }

  /** Plans to write or, without JSON, to delete; the last plan for a key holds. Throws `data_corrupt` over a damaged record. */
  plan(key: Buffer, json: Uint8Array | undefined): void {
    const name = key.toString("latin1");
    const earlier = this.#changes.get(name);
    if (earlier === undefined) this.#changes.set(name, { key, oldTag: this.#current(key)?.tag, json });
    else earlier.json = json;
  }

  /** Plans the next record of a log, its index entries, and the log's new head. Throws `data_corrupt` over a damaged head. */
  append(record: AppendedRecord, chainKey: Uint8Array | undefined): void {
    const chain = String(decodeKey(record.key)[0]);
    const headKey = encodeKey(chainHeadKey(chain));
    const head = this.#chainHead(headKey);
    const number = (head?.number ?? 0) + 1;
    for (const index of record.indexes) this.plan(Buffer.concat([index, encodeKey([number])]), Buffer.from("true"));
    if (record.unlinked) {
      this.plan(encodeKey(chainRecordKey(chain, number)), record.json);
      const next: LogHead = { number };
      this.plan(headKey, Buffer.from(JSON.stringify(next)));
      return;
    }
    assert(chainKey !== undefined, "a store with hash chains is opened with their key");
    const mac = chainMac(chainKey, { chain, number, predecessor: head?.mac ?? NO_PREDECESSOR, json: record.json });
    this.plan(encodeKey(chainRecordKey(chain, number)), Buffer.concat([Buffer.from(`{"mac":"${mac}","event":`), record.json, Buffer.from("}")]));
    const next: ChainHead = { number, mac, key_id: chainKeyId(chainKey) };
    this.plan(headKey, Buffer.from(JSON.stringify(next)));
  }

  /** Writes everything under one new version and updates `meta`, which the caller puts at the end of the transaction. */
  write(meta: StoreMeta): void {
    let sum = BigInt(`0x${meta.tag_sum}`);
    meta.sequence += 1;
    for (const { key, oldTag, json } of this.#changes.values()) {
      if (oldTag !== undefined) {
        sum -= oldTag;
        meta.count -= 1;
      }
      if (json !== undefined) {
        const record = encodeRecord(key, meta.sequence, json);
        void this.#environment.put(key, record.bytes);
        sum += record.tag;
        meta.count += 1;
      } else if (oldTag !== undefined) {
        void this.#environment.remove(key);
      }
    }
    meta.tag_sum = BigInt.asUintN(64, sum).toString(16);
  }

  /** The head as planned in this commit, or as stored. */
  #chainHead(key: Buffer): ChainHead | undefined {
    const planned = this.#changes.get(key.toString("latin1"))?.json;
    if (planned !== undefined) return JSON.parse(Buffer.from(planned).toString("utf8")) as ChainHead;
    const bytes = readBinary(this.#environment, key);
    return bytes === undefined ? undefined : (JSON.parse(decodeRecord(key, bytes).json.toString("utf8")) as ChainHead);
  }

  #current(key: Buffer): { version: number; tag: bigint } | undefined {
    const bytes = readBinary(this.#environment, key);
    return bytes === undefined ? undefined : decodeRecord(key, bytes);
  }
}
