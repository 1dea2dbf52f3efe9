/**
 * Checking the signatures of our own tokens, on the calling thread and by OpenSSL. An Ed25519 signature is made again
 * and compared: the scheme is deterministic (RFC 8032, 5.1.6), so that of all bytes only those that our own signing
 * wrote pass, and signing costs less than half of verifying. ECDSA's signatures are random and RSA's are quick to
 * verify: both are verified.
 */
import { sign, timingSafeEqual, verify, type KeyObject } from "node:crypto";

/** JWS algorithms that tokens may be signed with (RFC 7518, RFC 8037). */
export const SIGNING_ALGORITHMS = ["EdDSA", "ES256", "RS256"] as const;
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number];

/** A key and the one algorithm that it may be used with. */
export interface VerificationKey {
  /**
   * Whether a signature (raw bytes; r and s for ES256) is the key's on the bytes, in its one spelling. About 0.1 ms.
   */
  signed(bytes: Uint8Array, signature: Uint8Array): boolean;
}

/** Both parts of a pair: whoever makes this has checked that they belong together. */
export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function verificationKey({ privateKey, publicKey }: KeyPair, alg: SigningAlgorithm): VerificationKey {
  switch (alg) {
    case "EdDSA":
      return {
        signed: (bytes, signature) =>
          signature.length === ED25519_BYTES && timingSafeEqual(sign(null, bytes, privateKey), signature),
      };
    case "ES256":
      return {
        signed: (bytes, signature) =>
          hasLowS(signature) && verify("sha256", bytes, { key: publicKey, dsaEncoding: "ieee-p1363" }, signature),
      };
    case "RS256":
      return { signed: (bytes, signature) => verify("sha256", bytes, publicKey, signature) };
  }
}

const ED25519_BYTES = 64;

/** Order of the P-256 group (FIPS 186-5). */
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/**
 * True for an ES256 signature whose s is in the lower half: the other half, (r, n - s), is a second spelling of the
 * same signature.
 */
export function hasLowS(signature: Uint8Array): boolean {
  return signature.length === 64 && sOf(signature) <= P256_ORDER / 2n;
}

/** The same signature with s in the lower half. */
export function withLowS(signature: Uint8Array): Uint8Array {
  if (hasLowS(signature)) return signature;
  const flipped = P256_ORDER - sOf(signature);
  return Buffer.concat([signature.subarray(0, 32), Buffer.from(flipped.toString(16).padStart(64, "0"), "hex")]);
}

function sOf(signature: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(signature).toString("hex", 32)}`);
}
