/**
 * Public keys that were read recently, as OpenSSL holds them: reading one from its bytes costs as much as half a
 * verification. Public data only; private keys are never stored here.
 */
import type { KeyObject } from "node:crypto";
import { LRUCache } from "lru-cache";

/** Each takes one or two KB. */
const KEYS_MAX = 256;
/** Module state, so that all readers of a thread share it. What turned out to be no key is not stored. */
const keys = new LRUCache<string, KeyObject>({ max: KEYS_MAX });

/**
 * Returns the key of these bytes, reading it if it is not in the cache.
 * @param kind what the bytes are read as; the same bytes may be keys of several kinds
 * @param read returns undefined when the bytes are no key
 */
export function cachedPublicKey(
  kind: string,
  bytes: Uint8Array,
  read: () => KeyObject | undefined,
): KeyObject | undefined {
  const name = `${kind}|${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1")}`;
  const cached = keys.get(name);
  if (cached !== undefined) return cached;
  const key = read();
  if (key !== undefined) keys.set(name, key);
  return key;
}
