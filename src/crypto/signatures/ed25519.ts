/**
 * Ed25519 (RFC 8032, section 5.1, without prehash) and X25519 (RFC 7748, section 5) by OpenSSL, which refuses
 * non-canonical signatures and low-order results.
 */
import { createPublicKey, diffieHellman, sign, verify, type KeyObject } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { privateKeyOfSeed, publicKeyOfRaw, rawPublicKey } from "./der-keys.js";

export const ED25519_SIGNATURE_BYTES = 64;
export const SEED_BYTES = 32;

/** Returns the 32-byte public key of an Ed25519 or X25519 private key. */
export function okpPublicKey(curve: "ed25519" | "x25519", privateKey: KeyObject): Uint8Array {
  return rawPublicKey(curve, createPublicKey(privateKey));
}

/** Returns the private key of a 32-byte seed. The caller wipes the seed. */
export function ed25519PrivateKey(seed: Uint8Array): KeyObject {
  return privateKeyOfSeed("ed25519", seed);
}

/**
 * Returns whether the bytes are a usable public key: 32 bytes of a point in canonical form and not of low order,
 * because under a low-order key one signature is valid for many messages. OpenSSL accepts any 32 bytes as a key.
 */
export function isEd25519PublicKey(raw: Uint8Array): boolean {
  if (raw.length !== 32) return false;
  try {
    return !ed25519.Point.fromBytes(raw).isSmallOrder();
  } catch {
    return false;
  }
}

/**
 * Signs a message of any length; returns R(32) || S(32).
 * @example signEd25519(ed25519PrivateKey(seed), Buffer.from("message"))
 */
export function signEd25519(privateKey: KeyObject, message: Uint8Array): Uint8Array {
  return new Uint8Array(sign(null, message, privateKey));
}

/** Returns whether the signature is valid; false for malformed ones, too. */
export function verifyEd25519(publicKey: KeyObject, message: Uint8Array, signature: Uint8Array): boolean {
  return signature.length === ED25519_SIGNATURE_BYTES && verify(null, message, publicKey, signature);
}

/**
 * Returns the 32-byte X25519 secret shared with a peer. Undefined when it is all zero (RFC 7748, section 6.1: a
 * low-order point) or the peer's key is not 32 bytes. It is not a key: derive one from it, then wipe it.
 */
export function x25519SharedSecret(privateKey: KeyObject, peer: Uint8Array): Uint8Array | undefined {
  const publicKey = publicKeyOfRaw("x25519", peer);
  if (publicKey === undefined) return undefined;
  try {
    const secret = diffieHellman({ privateKey, publicKey });
    return secret.some((byte) => byte !== 0) ? new Uint8Array(secret) : undefined;
  } catch {
    // OpenSSL fails the derivation for a low-order point.
    return undefined;
  }
}
