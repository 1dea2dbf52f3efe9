/**
 * The content key of a JSON Web Encryption by ECDH-ES (RFC 7518, section 4.6; X25519 by RFC 8037, section 3.2), from
 * the secret that the key agreement gave: as Concat KDF derives it, or unwrapped with what it derives. Content is
 * encrypted by A256GCM and nothing else.
 */
import { createDecipheriv, createHash } from "node:crypto";

/** Ways to the content key that are taken. */
export const JWE_ALGORITHMS = ["ECDH-ES", "ECDH-ES+A256KW"] as const;
export type JweAlgorithm = (typeof JWE_ALGORITHMS)[number];
/** Curves of the key agreement (RFC 7518, section 6.2.1.1; RFC 8037, section 2). */
export type JweCurve = "X25519" | "P-256";
/** The one cipher of contents (RFC 7518, section 5.3). */
export const JWE_ENCRYPTION = "A256GCM";

/** What a token says of how its content key is found. */
export interface KeyAgreementHeader {
  readonly algorithm: JweAlgorithm;
  readonly curve: JweCurve;
  /** The sender's key for this token: 32 bytes of X25519, or a point of P-256 as 4 || x(32) || y(32). */
  readonly ephemeralKey: Uint8Array;
  /** Bytes of `apu` and `apv`; empty where absent. */
  readonly partyU: Uint8Array;
  readonly partyV: Uint8Array;
  /** 40 bytes with ECDH-ES+A256KW, none with ECDH-ES. */
  readonly encryptedKey: Uint8Array;
}

const KEY_BYTES = 32;
const HASH_BYTES = 32;
const KEY_WRAP = "aes256-wrap";
/** RFC 3394, section 2.2.3.1. */
const KEY_WRAP_IV = Buffer.alloc(8, 0xa6);

/**
 * Returns the content key, 32 bytes, which the caller wipes; undefined when the encrypted key was wrapped with another,
 * or is there where none belongs.
 * @param secret of the key agreement, 32 bytes
 */
export function contentKeyOf(secret: Uint8Array, header: KeyAgreementHeader): Uint8Array | undefined {
  const { algorithm, partyU, partyV, encryptedKey } = header;
  if (algorithm === "ECDH-ES")
    return encryptedKey.length === 0
      ? concatKdf(secret, { algorithmId: JWE_ENCRYPTION, partyU, partyV, keyBytes: KEY_BYTES })
      : undefined;
  const wrappingKey = concatKdf(secret, { algorithmId: algorithm, partyU, partyV, keyBytes: KEY_BYTES });
  try {
    return unwrapAes256(wrappingKey, encryptedKey);
  } finally {
    wrappingKey.fill(0);
  }
}

/**
 * Derives a key of at most 32 bytes: the first bytes of SHA-256(00000001 || secret || algorithm id || apu || apv ||
 * bits of the key), each of the three in the middle after its length (RFC 7518, section 4.6.2; NIST SP 800-56A, 5.8.1).
 */
export function concatKdf(
  secret: Uint8Array,
  {
    algorithmId,
    partyU,
    partyV,
    keyBytes,
  }: {
    readonly algorithmId: string;
    readonly partyU: Uint8Array;
    readonly partyV: Uint8Array;
    readonly keyBytes: number;
  },
): Uint8Array {
  if (keyBytes > HASH_BYTES) throw new TypeError("one round gives at most 32 bytes");
  const hash = createHash("sha256").update(u32be(1)).update(secret);
  for (const part of [Buffer.from(algorithmId, "ascii"), partyU, partyV]) hash.update(u32be(part.length)).update(part);
  return new Uint8Array(hash.update(u32be(8 * keyBytes)).digest()).subarray(0, keyBytes);
}

/**
 * Returns the 32-byte key that was wrapped by AES-256 Key Wrap (RFC 3394); undefined for another wrapping key or other
 * bytes.
 */
export function unwrapAes256(wrappingKey: Uint8Array, wrapped: Uint8Array): Uint8Array | undefined {
  if (wrapped.length !== KEY_BYTES + KEY_WRAP_IV.length) return undefined;
  try {
    const decipher = createDecipheriv(KEY_WRAP, wrappingKey, KEY_WRAP_IV);
    const key = decipher.update(wrapped);
    decipher.final();
    return key.length === KEY_BYTES ? key : undefined;
  } catch {
    return undefined;
  }
}

function u32be(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
