/**
 * HKDF with SHA-256 (RFC 5869, sections 2.2 and 2.3), by OpenSSL. The vault derives every key with it; a root key has
 * no other use.
 */
import { createSecretKey, hkdfSync, KeyObject } from "node:crypto";
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";

interface HkdfInput {
  /** Input keying material: a root key. */
  readonly ikm: Uint8Array | KeyObject;
  readonly salt: Uint8Array;
  /** Domain separation label and context. */
  readonly info: Uint8Array;
  /** Bytes of output, 1 to 8160. */
  readonly lengthBytes: number;
}

/** Longest info, in bytes, that OpenSSL takes; the RFC has no limit, and @noble/hashes computes longer ones. */
const NATIVE_INFO_BYTES_MAX = 1024;

/**
 * Derives output keying material. The caller wipes it.
 * @example hkdfSha256({ ikm: rootKey, salt, info: Buffer.from("pv/v1/example"), lengthBytes: 32 })
 */
export function hkdfSha256(input: HkdfInput): Uint8Array {
  const { ikm, salt, info, lengthBytes } = input;
  if (info.length <= NATIVE_INFO_BYTES_MAX) return new Uint8Array(hkdfSync("sha256", ikm, salt, info, lengthBytes));
  if (!(ikm instanceof KeyObject)) return hkdf(sha256, ikm, salt, info, lengthBytes);
  const bytes = ikm.export();
  try {
    return hkdf(sha256, bytes, salt, info, lengthBytes);
  } finally {
    bytes.fill(0);
  }
}

/** Derives a 32-byte key as a KeyObject: held by OpenSSL, overwritten when freed, absent from heap snapshots. */
export function hkdfKey(input: Omit<HkdfInput, "lengthBytes">): KeyObject {
  const okm = hkdfSha256({ ...input, lengthBytes: 32 });
  try {
    return createSecretKey(okm);
  } finally {
    okm.fill(0);
  }
}
