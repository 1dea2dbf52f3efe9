/**
 * Checks the signatures of this service's own tokens, on the calling thread, with OpenSSL. An Ed25519 signature is
 * computed again and compared: the scheme is deterministic (RFC 8032, 5.1.6), so that only the signature that this
 * service wrote passes, and signing costs less than half of verifying. ECDSA signatures are random and RSA signatures
 * are quick to verify, so both are verified.
 */
import { sign, timingSafeEqual, verify, type KeyObject } from "node:crypto";

const ED25519_SIGNATURE_BYTES = 64;
/** Order of the P-256 group (FIPS 186-5). */
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** JWS algorithms that tokens may be signed with (RFC 7518, RFC 8037). */
export type SigningAlgorithm = "EdDSA" | "ES256" | "RS256";

/** A key, bound to the one algorithm that it may be used with. */
export interface VerificationKey {
  /**
   * True when the signature of the bytes was made with this key and is in its one canonical spelling. About 0.1 ms.
   * @param signature raw bytes; r(32) || s(32), big-endian, for ES256
   */
  signed(bytes: Uint8Array, signature: Uint8Array): boolean;
}

/** Both parts of a pair. The code that builds it has checked that they match. */
export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** Binds a key pair to an algorithm. */
export function verificationKey({ privateKey, publicKey }: KeyPair, alg: SigningAlgorithm): VerificationKey {
  switch (alg) {
    case "EdDSA":
      return {
        signed: (bytes, signature) =>
          signature.length === ED25519_SIGNATURE_BYTES && timingSafeEqual(sign(null, bytes, privateKey), signature),
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

/**
 * True for an ES256 signature whose s is in the lower half: the other half, (r, n - s), is a second spelling of the
 * same signature.
 */
export function hasLowS(signature: Uint8Array): boolean {
  return signature.length === 64 && sOf(signature) <= P256_ORDER / 2n;
}

/** Returns the signature with s in the lower half of the group order. */
export function withLowS(signature: Uint8Array): Uint8Array {
  if (hasLowS(signature)) return signature;
  const flipped = P256_ORDER - sOf(signature);
  return Buffer.concat([signature.subarray(0, 32), Buffer.from(flipped.toString(16).padStart(64, "0"), "hex")]);
}

function sOf(signature: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(signature).toString("hex", 32)}`);
}
