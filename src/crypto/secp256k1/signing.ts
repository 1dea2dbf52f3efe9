/**
 * ECDSA signatures on secp256k1 over 32-byte digests (SEC 1 v2, 4.1.3): nonces of RFC 6979, low S, each verified before
 * it is returned. r = x(k G) by OpenSSL's ladder, s = (z + r d) / k as (b z + r (b d)) / (b k) with a random b for each
 * signature, so that the inversion, whose time depends on its argument, sees only numbers that are independent of k.
 * ARGUMENT.md has the whole composition and its tests.
 *
 * Copies of key d and nonce k: bytes are overwritten here, and OpenSSL overwrites memory that it frees (it keeps the
 * last k until the next one or until the object is freed, see secp256k1.ts). Bigints of d, k and what is computed from
 * them cannot be overwritten; they stay in the thread's heap until they are collected or the thread ends.
 */
import { randomBytes } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { DeterministicNonces } from "./rfc6979.js";
import { addMultiples } from "./known-keys.js";
import { weightedSum, type AffinePoint } from "./tables.js";
import {
  digestScalar,
  PRIVATE_KEY_BYTES,
  readScalar,
  scalarBytes,
  secp256k1PublicKey,
  type EcdsaSignature,
} from "./secp256k1.js";

const { Fn } = secp256k1.Point;
const FIELD_ORDER = secp256k1.Point.Fp.ORDER;
const ORDER = Fn.ORDER;
const HALF_ORDER = ORDER >> 1n;
/** A second nonce is needed once in 2^127 signatures. */
const NONCES_MAX = 16;
/**
 * Faults that cancel each other pass once in 2^31; a single fault never does. Each bit costs 1 % of a slice's check.
 */
const WEIGHT_BYTES = 4;
/** Two signatures are cheaper to check one by one. */
const TOGETHER_MIN = 3;

export interface SigningKey {
  /** 32 bytes, big-endian. */
  readonly privateKey: Uint8Array;
  /** 65 bytes from the key's record; signatures must verify under it. */
  readonly publicKey: Uint8Array;
}

/** A signature with the values that its check uses. */
export interface FreshSignature extends EcdsaSignature {
  readonly digest: Uint8Array;
  /** R with the signature's parity. */
  readonly point: AffinePoint;
  /** 1/s. */
  readonly inverse: bigint;
}

/** r, the blinded numerator of s, and the blinded nonce. */
interface Draft {
  readonly digest: Uint8Array;
  readonly point: AffinePoint;
  readonly r: bigint;
  /** b (z + r d). */
  readonly blindedSum: bigint;
  /** b k. */
  readonly blindedNonce: bigint;
}

/**
 * Signs 32-byte digests and verifies the signatures; undefined in place of one that is not valid, a fault of the
 * machine.
 * @throws TypeError when the key or a digest is not 32 bytes
 * @throws RangeError when the key is 0 or not below the order
 * @example const [signature] = signDigests({ privateKey, publicKey }, [keccak256(message)]);
 */
export function signDigests(key: SigningKey, digests: readonly Uint8Array[]): (EcdsaSignature | undefined)[] {
  return checkedSignatures(key.publicKey, freshSignatures(key.privateKey, digests));
}

/** Signs digests without verifying the signatures, for `checkedSignatures`; throws as `signDigests`. */
export function freshSignatures(privateKey: Uint8Array, digests: readonly Uint8Array[]): FreshSignature[] {
  if (privateKey.length !== PRIVATE_KEY_BYTES) throw new TypeError("the private key is not 32 bytes");
  const d = readScalar(privateKey);
  if (d === 0n || d >= ORDER) throw new RangeError("the private key is no scalar of the group");
  const drafts = digests.map((digest) => draftOf(privateKey, d, digest));
  const inverses = Fn.invertBatch(drafts.flatMap(({ blindedNonce, blindedSum }) => [blindedNonce, blindedSum]));
  return drafts.map(({ digest, point, r, blindedNonce, blindedSum }, index) => {
    const s = Fn.mul(blindedSum, inverses[2 * index] ?? 0n);
    const inverse = Fn.mul(blindedNonce, inverses[2 * index + 1] ?? 0n);
    const low =
      s <= HALF_ORDER
        ? { s, inverse, point }
        : { s: ORDER - s, inverse: ORDER - inverse, point: { x: point.x, y: FIELD_ORDER - point.y } };
    return { digest, r, ...low, yParity: Number(low.point.y & 1n) };
  });
}

/**
 * Returns the signatures that verify under the public key, undefined in place of others. Three and more are checked
 * together.
 * @param publicKey 65 bytes
 */
export function checkedSignatures(
  publicKey: Uint8Array,
  signatures: readonly FreshSignature[],
): (EcdsaSignature | undefined)[] {
  const areAllValid =
    signatures.length >= TOGETHER_MIN && areValid(publicKey, signatures, randomWeights(signatures.length));
  return signatures.map((signature) => (areAllValid || areValid(publicKey, [signature], [1n]) ? signature : undefined));
}

/**
 * Checks R = u1 G + u2 Q with u1 = z/s and u2 = r/s for all signatures: the sum of the differences, each times its
 * weight, must be the point at infinity. One fault never passes, since the group's order is prime; several would have
 * to cancel each other under weights that are chosen after them. Not for signatures of others: R is used as it was
 * computed.
 */
function areValid(publicKey: Uint8Array, signatures: readonly FreshSignature[], weights: readonly bigint[]): boolean {
  let [ofBase, ofKey] = [0n, 0n];
  for (const [index, signature] of signatures.entries()) {
    if (!isSound(signature)) return false;
    const weighted = (weights[index] ?? 0n) * signature.inverse;
    ofBase += digestScalar(signature.digest) * weighted;
    ofKey += signature.r * weighted;
  }
  const opposites = signatures.map(({ point: { x, y } }) => ({ x, y: -y }));
  return addMultiples(publicKey, ofBase % ORDER, ofKey % ORDER, weightedSum(opposites, weights)) === undefined;
}

/** Returns whether the numbers of a signature are in range and consistent. */
function isSound({ r, s, yParity, inverse, point: { x, y } }: FreshSignature): boolean {
  return (
    r > 0n &&
    r === x &&
    r < ORDER &&
    s > 0n &&
    s <= HALF_ORDER &&
    Number(y & 1n) === yParity &&
    (s * inverse) % ORDER === 1n
  );
}

function draftOf(privateKey: Uint8Array, d: bigint, digest: Uint8Array): Draft {
  const z = digestScalar(digest);
  const b = blindingFactor();
  const nonces = new DeterministicNonces(privateKey, scalarBytes(z));
  try {
    for (let tries = 0; tries < NONCES_MAX; tries += 1) {
      const nonce = nonces.next();
      const k = readScalar(nonce);
      if (k === 0n || k >= ORDER) continue;
      const bytes = secp256k1PublicKey(nonce);
      const point = { x: readScalar(bytes.subarray(1, 33)), y: readScalar(bytes.subarray(33)) };
      const r = point.x % ORDER;
      const blindedSum = (b * z + r * ((b * d) % ORDER)) % ORDER;
      if (r !== 0n && blindedSum !== 0n) return { digest, point, r, blindedSum, blindedNonce: (b * k) % ORDER };
    }
  } finally {
    nonces.wipe();
  }
  throw new Error("invariant broken: one of many nonces gives a signature");
}

/** A random scalar other than 0. */
function blindingFactor(): bigint {
  const bytes = randomBytes(PRIVATE_KEY_BYTES);
  const factor = readScalar(bytes) % ORDER;
  bytes.fill(0);
  return factor === 0n ? 1n : factor;
}

/** Odd, so that none is 0. */
function randomWeights(count: number): bigint[] {
  const bytes = randomBytes(count * WEIGHT_BYTES);
  return Array.from({ length: count }, (_, index) => BigInt(bytes.readUInt32BE(index * WEIGHT_BYTES)) | 1n);
}
