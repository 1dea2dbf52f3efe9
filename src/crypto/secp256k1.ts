/**
 * ECDSA on secp256k1 over 32-byte digests (SEC 1, nonces of RFC 6979, low S as BIP-62 and Ethereum ask). Hashes nothing: whoever
 * calls says what was signed. Signatures are r(32) || s(32), big-endian, with the parity of R's y beside them.
 */
import { createHmac } from "node:crypto";
import { ecdsa } from "@noble/curves/abstract/weierstrass.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256 } from "@noble/hashes/sha2.js";

export const DIGEST_BYTES = 32;
export const PRIVATE_KEY_BYTES = 32;

const { Point } = secp256k1;
type Point = InstanceType<typeof Point>;
/**
 * The nonce generator of RFC 6979 feeds the private key to HMAC in messages that are made for it. The default leaves them to the garbage
 * collector, which frees without overwriting: dozens of copies of the key outlived the thread.
 */
const signer = ecdsa(Point, sha256, {
  hmac: (key: Uint8Array, message: Uint8Array) => {
    try {
      return createHmac("sha256", key).update(message).digest();
    } finally {
      message.fill(0);
    }
  },
});
const { Fn } = Point;
const ORDER = Fn.ORDER;
const HALF_ORDER = ORDER >> 1n;
const UNCOMPRESSED_BYTES = 65;
/**
 * Public keys that were used lately, with a table of their multiples once they are used again: a verification is twice as fast with
 * the table. Window 4 makes it 520 points, about 150 KB and 4 ms.
 */
const PREPARED_KEYS_MAX = 32;
const TABLE_WINDOW_BITS = 4;

export interface EcdsaSignature {
  readonly r: bigint;
  readonly s: bigint;
  /** 0 or 1: whether the y of R is odd. */
  readonly yParity: number;
}

/** A fresh private key; the caller wipes it. */
export function generateSecp256k1(): Uint8Array {
  return secp256k1.utils.randomSecretKey();
}

/** The 65-byte uncompressed public key. */
export function secp256k1PublicKey(privateKey: Uint8Array): Uint8Array {
  return secp256k1.getPublicKey(privateKey, false);
}

/** The public key as an uncompressed point, from 33 or 65 bytes; undefined when they are no point of the curve. */
export function parseSecp256k1PublicKey(bytes: Uint8Array): Uint8Array | undefined {
  try {
    return Point.fromBytes(bytes).toBytes(false);
  } catch {
    return undefined;
  }
}

/** Signs a 32-byte digest; the same key and digest give the same signature. */
export function signDigest(privateKey: Uint8Array, digest: Uint8Array): EcdsaSignature {
  assertDigest(digest);
  // Recovered form: parity(1) || r(32) || s(32).
  const bytes = signer.sign(digest, privateKey, { prehash: false, lowS: true, format: "recovered" });
  return { r: toBigInt(bytes.subarray(1, 33)), s: toBigInt(bytes.subarray(33)), yParity: bytes[0] ?? 0 };
}

/**
 * Whether a signature is that of a key on a digest. False for high S, for r and s out of range, and for a parity that is not R's
 * where one is given.
 * @param publicKey 65 bytes, as `parseSecp256k1PublicKey` answers them
 */
export function verifyDigest(publicKey: Uint8Array, digest: Uint8Array, signature: Omit<EcdsaSignature, "yParity"> & { readonly yParity?: number | undefined }): boolean {
  assertDigest(digest);
  const { r, s, yParity } = signature;
  if (r <= 0n || r >= ORDER || s <= 0n || s > HALF_ORDER) return false;
  const inverse = Fn.inv(s);
  const z = Fn.create(toBigInt(digest));
  const sum = multipleOfBase(Fn.mul(z, inverse)).add(pointOf(publicKey).multiplyUnsafe(Fn.mul(r, inverse)));
  if (sum.is0()) return false;
  const { x, y } = sum.toAffine();
  if (x % ORDER !== r) return false;
  // With a parity the signature says which point R was; x at or above the order would need two more values, which nobody uses.
  return yParity === undefined || (x < ORDER && Number(y & 1n) === yParity);
}

/** r(32) || s(32). */
export function signatureBytes({ r, s }: Omit<EcdsaSignature, "yParity">): Uint8Array {
  const bytes = new Uint8Array(64);
  bytes.set(fromBigInt(r), 0);
  bytes.set(fromBigInt(s), 32);
  return bytes;
}

/** Reads r(32) || s(32); ranges are the verification's business. */
export function readSignature(bytes: Uint8Array): { r: bigint; s: bigint } {
  return { r: toBigInt(bytes.subarray(0, 32)), s: toBigInt(bytes.subarray(32, 64)) };
}

const preparedKeys = new Map<string, { readonly point: Point; uses: number }>();

/** The point of a public key; public data only is kept. */
function pointOf(publicKey: Uint8Array): Point {
  if (publicKey.length !== UNCOMPRESSED_BYTES) throw new TypeError("the public key is not an uncompressed point");
  const name = Buffer.from(publicKey).toString("latin1");
  const known = preparedKeys.get(name) ?? { point: Point.fromBytes(publicKey), uses: 0 };
  preparedKeys.delete(name);
  preparedKeys.set(name, known);
  known.uses += 1;
  if (known.uses === 2) known.point.precompute(TABLE_WINDOW_BITS);
  if (preparedKeys.size > PREPARED_KEYS_MAX) {
    const oldest = preparedKeys.keys().next();
    if (oldest.done !== true) preparedKeys.delete(oldest.value);
  }
  return known.point;
}

function multipleOfBase(scalar: bigint): Point {
  return scalar === 0n ? Point.ZERO : Point.BASE.multiplyUnsafe(scalar);
}

function assertDigest(digest: Uint8Array): void {
  if (digest.length !== DIGEST_BYTES) throw new TypeError("the digest is not 32 bytes");
}

function toBigInt(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
}

function fromBigInt(value: bigint): Uint8Array {
  return Buffer.from(value.toString(16).padStart(64, "0"), "hex");
}
