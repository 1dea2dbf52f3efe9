/**
 * Hash chains in the store: numbered records, each with a code over its content and its predecessor's code, so that a record that was
 * changed, removed or put in between shows. The writer thread makes the links, inside the commit that the record belongs to.
 *
 *   record   [chain, number]            -> {"mac": hex, "event": content}; of an unlinked log the content alone
 *   head     [chain#head]               -> {"number", "mac", "key_id"} of the last record; of an unlinked log {"number"} alone
 *   mac      HMAC-SHA256(key, "pv/v1/chain\0" || u16be(length of chain) || chain || u64be(number) || predecessor's mac(32) || JSON)
 */
import { createHmac, type KeyObject } from "node:crypto";
import type { StoreKey, StoreValue } from "./store.js";

/** A type, not an interface, so that it is a StoreValue. */
export type ChainHead = { readonly number: number; readonly mac: string; readonly key_id: string };
/** Of an unlinked log; stays when its records are deleted, so that a number never comes twice. */
export type LogHead = { readonly number: number };
export type ChainRecord = { readonly mac: string; readonly event: StoreValue };

export const CHAIN_KEY_BYTES = 32;
const LABEL = Buffer.from("pv/v1/chain\0");
const KEY_ID_LABEL = "pv/v1/chain-key-id";
const KEY_ID_BYTES = 8;
/** Stands before the first record. */
export const NO_PREDECESSOR = "00".repeat(32);

export function chainHeadKey(chain: string): StoreKey {
  return [`${chain}#head`];
}

export function chainRecordKey(chain: string, number: number): StoreKey {
  return [chain, number];
}

/** Names a key without telling it, 16 hex digits. */
export function chainKeyId(key: Uint8Array): string {
  return createHmac("sha256", key).update(KEY_ID_LABEL).digest("hex").slice(0, 2 * KEY_ID_BYTES);
}

/** @param json the record's content exactly as JSON.stringify writes it */
export function chainMac(key: Uint8Array | KeyObject, link: { readonly chain: string; readonly number: number; readonly predecessor: string; readonly json: Uint8Array | string }): string {
  const chain = Buffer.from(link.chain);
  const frame = Buffer.alloc(2 + chain.length + 8);
  frame.writeUInt16BE(chain.length, 0);
  frame.set(chain, 2);
  frame.writeBigUInt64BE(BigInt(link.number), 2 + chain.length);
  return createHmac("sha256", key).update(LABEL).update(frame).update(Buffer.from(link.predecessor, "hex")).update(link.json).digest("hex");
}
