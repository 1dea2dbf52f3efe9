/**
 * P-256 by OpenSSL: ECDSA with SHA-256 (FIPS 186-5, section 6; ES256 of RFC 7518, section 3.4), whose signatures are
 * r(32) || s(32), big-endian, and key agreement (ECDH of SP 800-56A, section 5.7.1.2).
 */
import { diffieHellman, generateKeyPairSync, sign, verify, type KeyObject } from "node:crypto";
import { publicKeyOfRaw, rawPublicKey } from "./der-keys.js";

const SIGNATURE_BYTES = 64;
const ENCODING = "ieee-p1363";

interface P256KeyPair {
  /** PKCS #8 DER; the caller wipes it. */
  readonly pkcs8: Uint8Array;
  /** 65-byte uncompressed point. */
  readonly publicKey: Uint8Array;
}

/** Returns a new key pair. */
export function generateP256KeyPair(): P256KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  // export() returns memory of its own; a copy would leave it unwiped.
  return { pkcs8: privateKey.export({ format: "der", type: "pkcs8" }), publicKey: rawPublicKey("p256", publicKey) };
}

/**
 * Signs a message of any length; returns 64 bytes. Nonces are random.
 * @example signP256(privateKeyOfPkcs8(pair.pkcs8), message)
 */
export function signP256(privateKey: KeyObject, message: Uint8Array): Uint8Array {
  return new Uint8Array(sign("sha256", message, { key: privateKey, dsaEncoding: ENCODING }));
}

/** Returns whether the signature is valid; false for malformed ones, too. */
export function verifyP256(publicKey: KeyObject, message: Uint8Array, signature: Uint8Array): boolean {
  return (
    signature.length === SIGNATURE_BYTES &&
    verify("sha256", message, { key: publicKey, dsaEncoding: ENCODING }, signature)
  );
}

/**
 * Returns the 32-byte secret shared with a peer: the x coordinate of the product. Undefined when the peer's key is no
 * 65-byte uncompressed point of the curve, because the product with a point of another curve tells of the private key.
 * The curve's order is prime, so that its points have no low-order ones among them. The secret is not a key: derive one
 * from it, then wipe it.
 */
export function p256SharedSecret(privateKey: KeyObject, peer: Uint8Array): Uint8Array | undefined {
  const publicKey = publicKeyOfRaw("p256", peer);
  return publicKey === undefined ? undefined : diffieHellman({ privateKey, publicKey });
}
