/**
 * Hash chains in the store: numbered records, each with a code over its content and its predecessor's code, so that a
 * changed, removed or inserted record is detected. The writer thread links a record inside the commit that contains it.
 *
 *   record   [chain, number]  -> {"mac": hex, "event": content}; in an unlinked log the content alone
 *   head     [chain#head]     -> {"number", "mac", "key_id"} of the last record; in an unlinked log {"number"} alone
 *   mac      HMAC-SHA256(key, "pv/v1/chain\0" || u16be(length of chain) || chain || u64be(number)
 *                             || predecessor's mac(32) || JSON)
 */
import { createHmac, hash } from "node:crypto";
import { assert } from "../errors.js";
import type { StoreKey, StoreValue } from "./store.js";

/** The end of a chain. A type and not an interface, so that it is assignable to StoreValue. */
export type ChainHead = { readonly number: number; readonly mac: string; readonly key_id: string };
/** The end of an unlinked log. It stays when records are deleted, so that no number is used twice. */
export type LogHead = { readonly number: number };
export type ChainRecord = { readonly mac: string; readonly event: StoreValue };

export const CHAIN_KEY_BYTES = 32;
const LABEL = Buffer.from("pv/v1/chain\0");
const KEY_ID_LABEL = "pv/v1/chain-key-id";
const KEY_ID_BYTES = 8;
const HASH_BLOCK_BYTES = 64;
const MAC_BYTES = 32;
/** The predecessor's code of the first record. */
export const NO_PREDECESSOR = "00".repeat(32);

/** Returns the key of a chain's head. */
export function chainHeadKey(chain: string): StoreKey {
  return [`${chain}#head`];
}

/** Returns the key of a chain's record; numbers start at 1. */
export function chainRecordKey(chain: string, number: number): StoreKey {
  return [chain, number];
}

/** Returns the public id of a chain key, 16 hex digits. */
export function chainKeyId(key: Uint8Array): string {
  return createHmac("sha256", key)
    .update(KEY_ID_LABEL)
    .digest("hex")
    .slice(0, 2 * KEY_ID_BYTES);
}

/**
 * Returns the code of a record, 64 hex digits.
 * @param key 32 bytes
 * @param link.predecessor code of the record before it, or NO_PREDECESSOR
 * @param link.json the record's content exactly as JSON.stringify writes it
 */
export function chainMac(
  key: Uint8Array,
  link: {
    readonly chain: string;
    readonly number: number;
    readonly predecessor: string;
    readonly json: Uint8Array | string;
  },
): string {
  const chain = Buffer.from(link.chain);
  const frame = Buffer.alloc(2 + chain.length + 8);
  frame.writeUInt16BE(chain.length, 0);
  frame.set(chain, 2);
  frame.writeBigUInt64BE(BigInt(link.number), 2 + chain.length);
  return createHmac("sha256", key)
    .update(LABEL)
    .update(frame)
    .update(Buffer.from(link.predecessor, "hex"))
    .update(link.json)
    .digest("hex");
}

/**
 * A chain key, prepared for many links. `mac` returns the same as `chainMac`: HMAC is two hashes over the padded key
 * (RFC 2104), and two calls of `hash` cost half as much as one createHmac, which creates a stream.
 */
export class ChainKey {
  readonly id: string;
  /** (key xor ipad)(64) || LABEL || frame of the link */
  #inner = Buffer.alloc(1024);
  /** (key xor opad)(64) || inner hash(32) */
  readonly #outer = Buffer.alloc(HASH_BLOCK_BYTES + MAC_BYTES);

  /** @param key 32 bytes */
  constructor(key: Uint8Array) {
    assert(key.length === CHAIN_KEY_BYTES, "a chain is linked with a key of 32 bytes");
    this.id = chainKeyId(key);
    for (let at = 0; at < HASH_BLOCK_BYTES; at += 1) {
      this.#inner[at] = (key[at] ?? 0) ^ 0x36;
      this.#outer[at] = (key[at] ?? 0) ^ 0x5c;
    }
    this.#inner.set(LABEL, HASH_BLOCK_BYTES);
  }

  /**
   * Returns the code of a record, as `chainMac` does.
   * @param link.chain name of the chain as UTF-8
   */
  mac(link: {
    readonly chain: Uint8Array;
    readonly number: number;
    readonly predecessor: string;
    readonly json: Uint8Array;
  }): string {
    const { chain, number, predecessor, json } = link;
    const start = HASH_BLOCK_BYTES + LABEL.length;
    const length = start + 2 + chain.length + 8 + MAC_BYTES + json.length;
    if (length > this.#inner.length) this.#inner = Buffer.concat([this.#inner.subarray(0, start)], 2 * length);
    const inner = this.#inner;
    inner.writeUInt16BE(chain.length, start);
    inner.set(chain, start + 2);
    let at = start + 2 + chain.length;
    at = inner.writeUInt32BE(Math.floor(number / 2 ** 32), at);
    at = inner.writeUInt32BE(number % 2 ** 32, at);
    at += inner.write(predecessor, at, MAC_BYTES, "hex");
    inner.set(json, at);
    this.#outer.write(hash("sha256", inner.subarray(0, length), "binary"), HASH_BLOCK_BYTES, "latin1");
    return hash("sha256", this.#outer, "hex");
  }
}
