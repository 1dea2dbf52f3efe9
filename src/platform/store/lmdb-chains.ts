/**
 * The ends of the logs of one transaction (chain.ts): each head is read once and written once, however many records are appended in
 * between. Inside a transaction only; thrown away with it.
 */
import { createSecretKey, type KeyObject } from "node:crypto";
import { assert } from "../errors.js";
import { chainHeadKey, chainKeyId, chainMac, chainRecordKey, NO_PREDECESSOR, type ChainHead } from "./chain.js";
import { decodeKey, encodeKey } from "./keys.js";
import { readBinary, type Environment, type StoreMeta } from "./lmdb-environment.js";
import { decodeRecord, encodeRecord } from "./record.js";

/** A record for a log as it came from the wire. */
export interface AppendedRecord {
  /** Encoded name of the log. */
  readonly key: Buffer;
  readonly json: Buffer;
  readonly indexes: readonly Buffer[];
  readonly unlinked: boolean;
}

interface Tail {
  readonly chain: string;
  readonly headKey: Buffer;
  /** Of the stored head; undefined before the first record. */
  readonly storedTag: bigint | undefined;
  number: number;
  /** Of the last record; undefined in an unlinked log. */
  mac: string | undefined;
  isChanged: boolean;
}

/** A record that has its place. */
export interface LinkedRecord {
  readonly key: Buffer;
  readonly json: Buffer;
  /** The number as the last part of a key. */
  readonly encodedNumber: Buffer;
}

/** What links the chains of a store, prepared once. */
export class ChainKey {
  readonly key: KeyObject;
  readonly id: string;

  /** @param bytes 32 bytes */
  constructor(bytes: Uint8Array) {
    this.key = createSecretKey(bytes);
    this.id = chainKeyId(bytes);
  }
}

export class ChainTails {
  readonly #environment: Environment;
  readonly #chainKey: ChainKey | undefined;
  readonly #tails = new Map<string, Tail>();

  constructor(environment: Environment, chainKey: ChainKey | undefined) {
    this.#environment = environment;
    this.#chainKey = chainKey;
  }

  /** Reads what linking the record needs, so that `link` cannot fail. Throws `data_corrupt` over a damaged head. */
  require({ key, unlinked }: AppendedRecord): void {
    assert(unlinked || this.#chainKey !== undefined, "a store with hash chains is opened with their key");
    this.#tailOf(key);
  }

  /** Gives a record the next number and, in a linked log, its code. */
  link(record: AppendedRecord): LinkedRecord {
    const tail = this.#tailOf(record.key);
    tail.number += 1;
    tail.isChanged = true;
    const placed = { key: encodeKey(chainRecordKey(tail.chain, tail.number)), encodedNumber: encodeKey([tail.number]) };
    if (record.unlinked) {
      tail.mac = undefined;
      return { ...placed, json: record.json };
    }
    assert(this.#chainKey !== undefined, "the record was required before");
    tail.mac = chainMac(this.#chainKey.key, { chain: tail.chain, number: tail.number, predecessor: tail.mac ?? NO_PREDECESSOR, json: record.json });
    return { ...placed, json: Buffer.concat([Buffer.from(`{"mac":"${tail.mac}","event":`), record.json, Buffer.from("}")]) };
  }

  /** Writes the heads of the logs that grew. Before the store's own record, which it keeps in step. */
  write(meta: StoreMeta): void {
    let sum = BigInt(`0x${meta.tag_sum}`);
    for (const { headKey, storedTag, number, mac, isChanged } of this.#tails.values()) {
      if (!isChanged) continue;
      if (storedTag === undefined) meta.count += 1;
      else sum -= storedTag;
      const head = mac === undefined ? { number } : { number, mac, key_id: this.#chainKey?.id };
      const record = encodeRecord(headKey, meta.sequence, Buffer.from(JSON.stringify(head)));
      void this.#environment.put(headKey, record.bytes);
      sum += record.tag;
    }
    meta.tag_sum = BigInt.asUintN(64, sum).toString(16);
  }

  #tailOf(key: Buffer): Tail {
    const name = key.toString("latin1");
    const known = this.#tails.get(name);
    if (known !== undefined) return known;
    const chain = String(decodeKey(key)[0]);
    const headKey = encodeKey(chainHeadKey(chain));
    const bytes = readBinary(this.#environment, headKey);
    const stored = bytes === undefined ? undefined : decodeRecord(headKey, bytes);
    const head = stored === undefined ? undefined : (JSON.parse(stored.json.toString("utf8")) as Pick<ChainHead, "number"> & Partial<ChainHead>);
    const tail: Tail = { chain, headKey, storedTag: stored?.tag, number: head?.number ?? 0, mac: head?.mac, isChanged: false };
    this.#tails.set(name, tail);
    return tail;
  }
}
