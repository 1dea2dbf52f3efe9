/** ECDSA on P-256 with SHA-256 (ES256 of RFC 7518) through OpenSSL. Signatures are r(32) || s(32), big-endian. */
import { generateKeyPairSync, sign, verify, type KeyObject } from "node:crypto";
import { rawPublicKey } from "./der-keys.js";

const SIGNATURE_BYTES = 64;
const ENCODING = "ieee-p1363";

export interface P256KeyPair {
  /** PKCS #8 DER; the caller wipes it. */
  readonly pkcs8: Uint8Array;
  /** 65-byte uncompressed point. */
  readonly publicKey: Uint8Array;
}

export function generateP256KeyPair(): P256KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  // Memory of its own already: a copy would leave this one behind, unwiped.
  return { pkcs8: privateKey.export({ format: "der", type: "pkcs8" }), publicKey: rawPublicKey("p256", publicKey) };
}

export function signP256(privateKey: KeyObject, message: Uint8Array): Uint8Array {
  return new Uint8Array(sign("sha256", message, { key: privateKey, dsaEncoding: ENCODING }));
}

export function verifyP256(publicKey: KeyObject, message: Uint8Array, signature: Uint8Array): boolean {
  return (
    signature.length === SIGNATURE_BYTES &&
    verify("sha256", message, { key: publicKey, dsaEncoding: ENCODING }, signature)
  );
}
