/**
 * Public keys that were read lately, as OpenSSL holds them: reading one from its bytes costs as much as half a
 * verification. Public data only; private keys are never kept here.
 */
import type { KeyObject } from "node:crypto";

/** Each is a KB or two. */
const KEYS_MAX = 256;
/** In order of last use, oldest first. Answers undefined for what was found to be no key are not kept. */
const keys = new Map<string, KeyObject>();

/**
 * The key of these bytes, read when it is not known.
 * @param kind what the bytes are read as; the same bytes may be keys of several kinds
 */
export function cachedPublicKey(
  kind: string,
  bytes: Uint8Array,
  read: () => KeyObject | undefined,
): KeyObject | undefined {
  const name = `${kind}|${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1")}`;
  const key = keys.get(name) ?? read();
  if (key === undefined) return undefined;
  keys.delete(name);
  keys.set(name, key);
  if (keys.size > KEYS_MAX) {
    const oldest = keys.keys().next();
    if (oldest.done !== true) keys.delete(oldest.value);
  }
  return key;
}
