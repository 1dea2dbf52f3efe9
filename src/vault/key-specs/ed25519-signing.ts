/**
 * Ed25519 signatures of a vault's key, each made twice from two copies of the key and answered only when both are the
 * same; undefined stands in the place of one that is not. Throws `signature_self_check_failed` when the seed is not
 * that of the record's public key.
 */
import { createSecretKey, type KeyObject } from "node:crypto";
import { equalBytes } from "../../crypto/constant-time.js";
import { ed25519PrivateKey, expandedSeed, okpPublicKey, signEd25519 } from "../../crypto/signatures/ed25519.js";
import type { Ed25519Signer } from "../../engine/kernels/ed25519/signer.js";
import { selfCheckFailed } from "./jws.js";
import type { UnwrappedKey } from "./key-spec.js";

/** Made one apart from the other, so that a copy of the key that was damaged in memory shows. */
const COPIES = ["first", "second"] as const;

/** By the kernel, which makes both at once. */
export function signSideBySide(
  signer: Ed25519Signer,
  key: UnwrappedKey,
  raw: Uint8Array,
  messages: readonly Uint8Array[],
): readonly (Uint8Array | undefined)[] {
  const [first, second] = COPIES.map((copy) =>
    key.toKeyObject(`expanded, ${copy}`, (seed) => laneKey(seed, raw)).export(),
  );
  if (first === undefined || second === undefined) throw new Error("invariant broken: there are two copies");
  try {
    return signer.sign([first, second], messages);
  } finally {
    first.fill(0);
    second.fill(0);
  }
}

/** By OpenSSL, one after the other: signing again costs a third of a verification. */
export function signTwice(
  key: UnwrappedKey,
  raw: Uint8Array,
  messages: readonly Uint8Array[],
): readonly (Uint8Array | undefined)[] {
  const [first, second] = COPIES.map((copy) =>
    key.toKeyObject(`sign, ${copy}`, (seed) => checkedPrivateKey(seed, raw)),
  );
  if (first === undefined || second === undefined) throw new Error("invariant broken: there are two copies");
  return messages.map((message) => {
    const signature = signEd25519(first, message);
    return equalBytes(signEd25519(second, message), signature) ? signature : undefined;
  });
}

function laneKey(seed: Uint8Array, raw: Uint8Array): KeyObject {
  const derived = okpPublicKey("ed25519", checkedPrivateKey(seed, raw));
  const expanded = expandedSeed(seed);
  const bytes = Buffer.concat([expanded, derived]);
  try {
    return createSecretKey(bytes);
  } finally {
    expanded.fill(0);
    bytes.fill(0);
  }
}

/** Throws when the seed is not that of the public key. */
function checkedPrivateKey(seed: Uint8Array, raw: Uint8Array): KeyObject {
  const made = ed25519PrivateKey(seed);
  if (!equalBytes(okpPublicKey("ed25519", made), raw)) throw selfCheckFailed();
  return made;
}
