/**
 * Ed25519 (RFC 8032, pure) and X25519 (RFC 7748) through OpenSSL, which refuses non-canonical signatures and low-order
 * results.
 */
import { createPublicKey, diffieHellman, sign, verify, type KeyObject } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { privateKeyOfSeed, publicKeyOfRaw, rawPublicKey } from "./der-keys.js";

export const ED25519_SIGNATURE_BYTES = 64;
export const SEED_BYTES = 32;

/** The 32-byte public key of an Ed25519 or X25519 private key. */
export function okpPublicKey(curve: "ed25519" | "x25519", privateKey: KeyObject): Uint8Array {
  return rawPublicKey(curve, createPublicKey(privateKey));
}

export function ed25519PrivateKey(seed: Uint8Array): KeyObject {
  return privateKeyOfSeed("ed25519", seed);
}

/**
 * True for 32 bytes of a point in canonical form that is not of low order: under such a key one signature holds for
 * many messages. OpenSSL takes any 32 bytes for a key.
 */
export function isEd25519PublicKey(raw: Uint8Array): boolean {
  if (raw.length !== 32) return false;
  try {
    return !ed25519.Point.fromBytes(raw).isSmallOrder();
  } catch {
    return false;
  }
}

/** 64 bytes, R || S. */
export function signEd25519(privateKey: KeyObject, message: Uint8Array): Uint8Array {
  return new Uint8Array(sign(null, message, privateKey));
}

/** False for a wrong signature of any form. */
export function verifyEd25519(publicKey: KeyObject, message: Uint8Array, signature: Uint8Array): boolean {
  return signature.length === ED25519_SIGNATURE_BYTES && verify(null, message, publicKey, signature);
}

/**
 * The 32-byte X25519 secret shared with a peer, or undefined when it is all zero (RFC 7748 section 6.1: a low-order
 * point) or the peer's key is not 32 bytes. Never used as a key itself: derive from it, then wipe it.
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
