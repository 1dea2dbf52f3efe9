/**
 * Keys and signatures on secp256k1 (SEC 1), and their verification: ECDSA over 32-byte digests, low S as BIP-62 and
 * Ethereum ask. Hashes nothing: whoever calls says what was signed. Signatures are r(32) || s(32), big-endian, with the
 * parity of R's y beside them.
 */
import { createECDH, type ECDH } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { addMultiples } from "./known-keys.js";
import { affineSums } from "./tables.js";

export const DIGEST_BYTES = 32;
export const PRIVATE_KEY_BYTES = 32;

const { Point } = secp256k1;
const { Fn } = Point;
const ORDER = Fn.ORDER;
const HALF_ORDER = ORDER >> 1n;

export interface EcdsaSignature {
  readonly r: bigint;
  readonly s: bigint;
  /** 0 or 1: whether the y of R is odd. */
  readonly yParity: number;
}

/** That a signature is one of a digest; without a parity, whatever R's is. */
export interface EcdsaClaim {
  readonly digest: Uint8Array;
  readonly signature: Omit<EcdsaSignature, "yParity"> & { readonly yParity?: number | undefined };
}

/** A fresh private key; the caller wipes it. */
export function generateSecp256k1(): Uint8Array {
  return secp256k1.utils.randomSecretKey();
}

/**
 * Holds its last scalar until the next one comes, or the garbage collector: weakly, so that it goes as any other would,
 * and OpenSSL overwrites what it frees. Making one takes a seventh of the time that a multiplication does.
 */
let heldCurve: WeakRef<ECDH> | undefined;

/**
 * The 65-byte uncompressed public key: the private key times the base point, by OpenSSL's ladder, whose time does not
 * depend on the key (0.6 ms; noble's takes 0.9). Throws for keys out of range.
 */
export function secp256k1PublicKey(privateKey: Uint8Array): Uint8Array {
  let curve = heldCurve?.deref();
  if (curve === undefined) {
    curve = createECDH("secp256k1");
    heldCurve = new WeakRef(curve);
  }
  curve.setPrivateKey(privateKey);
  return curve.getPublicKey();
}

/** The public key as an uncompressed point, from 33 or 65 bytes; undefined when they are no point of the curve. */
export function parseSecp256k1PublicKey(bytes: Uint8Array): Uint8Array | undefined {
  try {
    return Point.fromBytes(bytes).toBytes(false);
  } catch {
    return undefined;
  }
}

/**
 * Whether a signature is that of a key on a digest. False for high S, for r and s out of range, and for a parity that
 * is not R's where one is given.
 * @param publicKey 65 bytes, as `parseSecp256k1PublicKey` answers them
 */
export function verifyDigest(publicKey: Uint8Array, digest: Uint8Array, signature: EcdsaClaim["signature"]): boolean {
  return verifyDigests(publicKey, [{ digest, signature }])[0] ?? false;
}

/** The same for several signatures of one key, which share what they need of inversions. */
export function verifyDigests(publicKey: Uint8Array, claims: readonly EcdsaClaim[]): boolean[] {
  // What is out of range has no inverse and gets no sum.
  const inverses = Fn.invertBatch(claims.map((claim) => (isInRange(claim) ? claim.signature.s : 0n)));
  const sums = affineSums(
    claims.map(({ digest, signature: { r } }, index) => {
      const inverse = inverses[index] ?? 0n;
      return inverse === 0n
        ? undefined
        : addMultiples(publicKey, Fn.mul(digestScalar(digest), inverse), Fn.mul(r, inverse));
    }),
  );
  return claims.map(({ signature: { r, yParity } }, index) => {
    const sum = sums[index];
    if (sum === undefined || sum.x % ORDER !== r) return false;
    // With a parity the signature says which point R was; x at or above the order would need two more values, which
    // nobody uses.
    return yParity === undefined || (sum.x < ORDER && Number(sum.y & 1n) === yParity);
  });
}

/** r(32) || s(32). */
export function signatureBytes({ r, s }: Omit<EcdsaSignature, "yParity">): Uint8Array {
  const bytes = new Uint8Array(2 * PRIVATE_KEY_BYTES);
  bytes.set(scalarBytes(r), 0);
  bytes.set(scalarBytes(s), PRIVATE_KEY_BYTES);
  return bytes;
}

/** Reads r(32) || s(32); ranges are the verification's business. */
export function readSignature(bytes: Uint8Array): { r: bigint; s: bigint } {
  return { r: readScalar(bytes.subarray(0, 32)), s: readScalar(bytes.subarray(32, 64)) };
}

/** The number that stands for a digest in a signature. Throws for digests that are not 32 bytes. */
export function digestScalar(digest: Uint8Array): bigint {
  if (digest.length !== DIGEST_BYTES) throw new TypeError("the digest is not 32 bytes");
  return readScalar(digest) % ORDER;
}

/** A number of 32 bytes, big-endian; makes no text on the way, which nobody could overwrite. */
export function readScalar(bytes: Uint8Array): bigint {
  const words = new DataView(bytes.buffer, bytes.byteOffset, PRIVATE_KEY_BYTES);
  return (
    (words.getBigUint64(0) << 192n) |
    (words.getBigUint64(8) << 128n) |
    (words.getBigUint64(16) << 64n) |
    words.getBigUint64(24)
  );
}

/** The 32 bytes of a public number, big-endian. */
export function scalarBytes(value: bigint): Uint8Array {
  return Buffer.from(value.toString(16).padStart(2 * PRIVATE_KEY_BYTES, "0"), "hex");
}

function isInRange({ signature: { r, s } }: EcdsaClaim): boolean {
  return r > 0n && r < ORDER && s > 0n && s <= HALF_ORDER;
}
