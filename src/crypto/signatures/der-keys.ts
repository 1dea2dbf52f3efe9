/**
 * Raw keys as KeyObjects of node:crypto: fixed DER prefixes before 32-byte seeds (PKCS #8, RFC 8410, section 7) and
 * public keys (SPKI, RFC 8410, section 4, and RFC 5480, section 2). DER from callers is never parsed here.
 */
import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { cachedPublicKey } from "./public-key-cache.js";

type SeedCurve = "ed25519" | "x25519";
type PointCurve = "p256";

const SEED_PREFIXES: Readonly<Record<SeedCurve, Buffer>> = {
  ed25519: Buffer.from("302e020100300506032b657004220420", "hex"),
  x25519: Buffer.from("302e020100300506032b656e04220420", "hex"),
};
const RAW_PUBLIC_PREFIXES: Readonly<Record<SeedCurve | PointCurve, Buffer>> = {
  ed25519: Buffer.from("302a300506032b6570032100", "hex"),
  x25519: Buffer.from("302a300506032b656e032100", "hex"),
  p256: Buffer.from("3059301306072a8648ce3d020106082a8648ce3d030107034200", "hex"),
};
const RAW_PUBLIC_BYTES: Readonly<Record<SeedCurve | PointCurve, number>> = { ed25519: 32, x25519: 32, p256: 65 };
const SEED_BYTES = 32;
/** First byte of a point given by both coordinates (SEC 1, 2.3.3). */
const UNCOMPRESSED = 0x04;

/**
 * Returns the private key of a 32-byte seed, held by OpenSSL. The caller wipes the seed.
 * @example const key = privateKeyOfSeed("ed25519", seed);
 */
export function privateKeyOfSeed(curve: SeedCurve, seed: Uint8Array): KeyObject {
  if (seed.length !== SEED_BYTES) throw new TypeError("the seed is not 32 bytes");
  const der = Buffer.concat([SEED_PREFIXES[curve], seed]);
  try {
    return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  } finally {
    der.fill(0);
  }
}

/** Returns the private key of PKCS #8 DER that this service exported. The caller wipes the bytes. */
export function privateKeyOfPkcs8(der: Uint8Array): KeyObject {
  return createPrivateKey({
    key: Buffer.from(der.buffer, der.byteOffset, der.byteLength),
    format: "der",
    type: "pkcs8",
  });
}

/**
 * Returns the public key of raw bytes (32-byte Ed25519 and X25519 keys, 65-byte uncompressed P-256 points). Undefined
 * for another length or form, and for points off the curve.
 */
export function publicKeyOfRaw(curve: SeedCurve | PointCurve, raw: Uint8Array): KeyObject | undefined {
  if (raw.length !== RAW_PUBLIC_BYTES[curve]) return undefined;
  // OpenSSL accepts the hybrid forms of X9.62, too: the same key in another spelling.
  if (curve === "p256" && raw[0] !== UNCOMPRESSED) return undefined;
  return cachedPublicKey(curve, raw, () => {
    try {
      return createPublicKey({ key: Buffer.concat([RAW_PUBLIC_PREFIXES[curve], raw]), format: "der", type: "spki" });
    } catch {
      return undefined;
    }
  });
}

/** Returns the raw bytes of a public key, or of a private key's public key: the inverse of `publicKeyOfRaw`. */
export function rawPublicKey(curve: SeedCurve | PointCurve, key: KeyObject): Uint8Array {
  const spki = (key.type === "private" ? createPublicKey(key) : key).export({ format: "der", type: "spki" });
  return new Uint8Array(spki.subarray(spki.length - RAW_PUBLIC_BYTES[curve]));
}
