/**
 * ECDSA on secp256k1 over 32-byte digests (SEC 1, nonces of RFC 6979, low S as BIP-62 and Ethereum ask). Hashes nothing: whoever
 * calls says what was signed. Signatures are r(32) || s(32), big-endian, with the parity of R's y beside them.
 */
import { createHmac } from "node:crypto";
import { ecdsa } from "@noble/curves/abstract/weierstrass.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { MultiplesTable, sumByTables } from "./secp256k1-tables.js";

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
 * Public keys that were used lately, with a table of their multiples (secp256k1-tables.ts) once they are used often: it costs as much
 * as eight verifications without it, and saves three quarters of each.
 */
const KNOWN_KEYS_MAX = 32;
const USES_BEFORE_TABLE = 8;

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
  const [u1, u2] = [Fn.mul(Fn.create(toBigInt(digest)), inverse), Fn.mul(r, inverse)];
  const sum = sumOf(publicKey, u1, u2);
  if (sum === undefined) return false;
  const { x, y } = sum;
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

interface KnownKey {
  readonly point: Point;
  uses: number;
  table?: MultiplesTable;
}

const knownKeys = new Map<string, KnownKey>();
let baseTable: MultiplesTable | undefined;

/** u1 G + u2 Q; undefined for the point at infinity. */
function sumOf(publicKey: Uint8Array, u1: bigint, u2: bigint): { readonly x: bigint; readonly y: bigint } | undefined {
  const key = knownKey(publicKey);
  if (key.uses > USES_BEFORE_TABLE) {
    baseTable ??= new MultiplesTable(Point.BASE);
    key.table ??= new MultiplesTable(key.point);
    const sum = sumByTables([[baseTable, u1], [key.table, u2]]);
    if (sum !== undefined) return sum;
  }
  const sum = multipleOfBase(u1).add(key.point.multiplyUnsafe(u2));
  return sum.is0() ? undefined : sum.toAffine();
}

/** The point of a public key; public data only is kept. */
function knownKey(publicKey: Uint8Array): KnownKey {
  if (publicKey.length !== UNCOMPRESSED_BYTES) throw new TypeError("the public key is not an uncompressed point");
  const name = Buffer.from(publicKey).toString("latin1");
  const known: KnownKey = knownKeys.get(name) ?? { point: Point.fromBytes(publicKey), uses: 0 };
  knownKeys.delete(name);
  knownKeys.set(name, known);
  known.uses += 1;
  if (knownKeys.size > KNOWN_KEYS_MAX) {
    const oldest = knownKeys.keys().next();
    if (oldest.done !== true) knownKeys.delete(oldest.value);
  }
  return known;
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
