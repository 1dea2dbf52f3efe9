/**
 * RSA signatures by OpenSSL: RSASSA-PSS with a salt as long as the hash, and RSASSA-PKCS1-v1_5 (RFC 8017, sections 8.1
 * and 8.2; the algorithms of RFC 7518, sections 3.3 and 3.5). No decryption. PSS verification accepts exactly that salt
 * length; OpenSSL's automatic detection accepts others, which the standard's algorithms do not allow.
 */
import { constants, createPublicKey, generateKeyPairSync, sign, verify, type KeyObject } from "node:crypto";
import { cachedPublicKey } from "./public-key-cache.js";

export type RsaAlgorithm = "PS256" | "PS384" | "PS512" | "RS256" | "RS384" | "RS512";
export const RSA_ALGORITHMS: readonly RsaAlgorithm[] = ["PS256", "PS384", "PS512", "RS256", "RS384", "RS512"];

/** Public exponent F4, also the only one that is accepted in keys of others. */
const PUBLIC_EXPONENT = 65537;
const MODULUS_BITS: readonly number[] = [2048, 3072, 4096];
/** A SubjectPublicKeyInfo of 4096 bits has 550 bytes. */
const SPKI_BYTES_MAX = 600;

export interface RsaKeyPair {
  /** PKCS #8 DER; the caller wipes it. */
  readonly pkcs8: Uint8Array<ArrayBuffer>;
  /** SubjectPublicKeyInfo DER. */
  readonly spki: Uint8Array<ArrayBuffer>;
}

/**
 * Returns a new key pair. Blocks its thread: tenths of a second for 2048 bits, seconds for 4096.
 * @param modulusBits 2048, 3072 or 4096
 */
export function generateRsaKeyPair(modulusBits: number): RsaKeyPair {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", {
    modulusLength: modulusBits,
    publicExponent: PUBLIC_EXPONENT,
  });
  // export() returns memory of its own; a copy would leave it unwiped.
  return {
    pkcs8: privateKey.export({ format: "der", type: "pkcs8" }),
    spki: publicKey.export({ format: "der", type: "spki" }),
  };
}

/**
 * Reads a public key of SubjectPublicKeyInfo DER. Undefined unless it is RSA with this modulus length and exponent
 * 65537, in the one canonical encoding: OpenSSL itself accepts trailing bytes and other parameters of the algorithm.
 */
export function rsaPublicKey(spki: Uint8Array, modulusBits: number): KeyObject | undefined {
  if (spki.length > SPKI_BYTES_MAX || !MODULUS_BITS.includes(modulusBits)) return undefined;
  return cachedPublicKey(`rsa-${String(modulusBits)}`, spki, () => {
    try {
      const key = createPublicKey({ key: Buffer.from(spki), format: "der", type: "spki" });
      const { modulusLength, publicExponent } = key.asymmetricKeyDetails ?? {};
      if (
        key.asymmetricKeyType !== "rsa" ||
        modulusLength !== modulusBits ||
        publicExponent !== BigInt(PUBLIC_EXPONENT)
      )
        return undefined;
      return key.export({ format: "der", type: "spki" }).equals(spki) ? key : undefined;
    } catch {
      return undefined;
    }
  });
}

/**
 * Signs a message of any length; returns as many bytes as the modulus has.
 * @example signRsa(privateKeyOfPkcs8(pair.pkcs8), "PS256", message)
 */
export function signRsa(privateKey: KeyObject, algorithm: RsaAlgorithm, message: Uint8Array): Uint8Array {
  return new Uint8Array(sign(hashOf(algorithm), message, { key: privateKey, ...paddingOf(algorithm) }));
}

/** Returns whether the signature is valid; false for malformed ones, too. */
export function verifyRsa(
  publicKey: KeyObject,
  algorithm: RsaAlgorithm,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  const bytes = (publicKey.asymmetricKeyDetails?.modulusLength ?? 0) / 8;
  return (
    signature.length === bytes &&
    verify(hashOf(algorithm), message, { key: publicKey, ...paddingOf(algorithm) }, signature)
  );
}

function hashOf(algorithm: RsaAlgorithm): string {
  return `sha${algorithm.slice(2)}`;
}

function paddingOf(algorithm: RsaAlgorithm): { padding: number; saltLength?: number } {
  return algorithm.startsWith("PS")
    ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: Number(algorithm.slice(2)) / 8 }
    : { padding: constants.RSA_PKCS1_PADDING };
}
