/**
 * Ed25519 signatures of a vault's key by OpenSSL, each made twice from two copies of the key and returned only when both
 * are the same: one wrong signature would reveal the key. Ed25519 is deterministic (RFC 8032), so that two sound
 * signatures are equal, and signing again costs a third of a verification.
 */
import type { KeyObject } from "node:crypto";
import { equalBytes } from "../../crypto/constant-time.js";
import { ed25519PrivateKey, okpPublicKey, signEd25519 } from "../../crypto/signatures/ed25519.js";
import { selfCheckFailed } from "./jws.js";
import type { UnwrappedKey } from "./key-spec.js";

/**
 * Signs each message; undefined stands in the place of a signature that came out differently the second time.
 * @param raw the 32-byte public key of the record
 * @throws signature_self_check_failed when the seed is not that of the public key
 */
export function signTwice(
  key: UnwrappedKey,
  raw: Uint8Array,
  messages: readonly Uint8Array[],
): readonly (Uint8Array | undefined)[] {
  // Made one apart from the other, so that a copy of the key that was damaged in memory shows.
  const first = key.toKeyObject("sign, first", (seed) => checkedPrivateKey(seed, raw));
  const second = key.toKeyObject("sign, second", (seed) => checkedPrivateKey(seed, raw));
  return messages.map((message) => {
    const signature = signEd25519(first, message);
    return equalBytes(signEd25519(second, message), signature) ? signature : undefined;
  });
}

/** Throws when the seed is not that of the public key. */
function checkedPrivateKey(seed: Uint8Array, raw: Uint8Array): KeyObject {
  const made = ed25519PrivateKey(seed);
  if (!equalBytes(okpPublicKey("ed25519", made), raw)) throw selfCheckFailed();
  return made;
}
