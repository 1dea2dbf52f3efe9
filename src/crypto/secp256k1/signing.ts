/**
 * ECDSA signatures on secp256k1 over 32-byte digests (SEC 1, 4.1.3): nonces of RFC 6979, low S, each checked before it
 * is answered. r = x(k G) with OpenSSL's ladder, s = (z + r d) / k as (b z + r (b d)) / (b k) with a random b each
 * time, so that the inversion, whose time depends on what it inverts, sees no number that says anything about k.
 *
 * What stays of key d and nonce k: bytes are overwritten here, OpenSSL overwrites what it frees (the last k stays in
 * its object until the next one or the garbage collector comes, see secp256k1.ts). As numbers of JavaScript d, k and
 * what is computed of them cannot be overwritten; they lie in the thread's heap as long as the collector leaves them
 * there, and go with the thread.
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
/** Faults that cancel each other pass once in 2^31 times, a single one never. Each bit costs 1 % of a slice's check. */
const WEIGHT_BYTES = 4;
/** Two are cheaper to check one by one. */
const TOGETHER_MIN = 3;

export interface SigningKey {
  /** 32 bytes, big-endian. */
  readonly privateKey: Uint8Array;
  /** 65 bytes, as the key's record has them: what its signatures must verify under. */
  readonly publicKey: Uint8Array;
}

/** A signature together with what its check needs. */
export interface FreshSignature extends EcdsaSignature {
  readonly digest: Uint8Array;
  /** R with the parity that the signature says. */
  readonly point: AffinePoint;
  /** 1/s. */
  readonly inverse: bigint;
}

/** r, what makes s, and the blinded nonce. */
interface Draft {
  readonly digest: Uint8Array;
  readonly point: AffinePoint;
  readonly r: bigint;
  /** b (z + r d). */
  readonly blindedSum: bigint;
  /** b k. */
  readonly blindedNonce: bigint;
}

/** Signs 32-byte digests; undefined stands for a signature that its own key refused, a fault of the machine. */
export function signDigests(key: SigningKey, digests: readonly Uint8Array[]): (EcdsaSignature | undefined)[] {
  return checkedSignatures(key.publicKey, freshSignatures(key.privateKey, digests));
}

/** Signs digests and checks nothing; the same key and digest give the same signature. Throws for keys out of range. */
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
 * Those that verify under the public key, undefined in the place of the others. Three and more are checked together.
 */
export function checkedSignatures(
  publicKey: Uint8Array,
  signatures: readonly FreshSignature[],
): (EcdsaSignature | undefined)[] {
  const holdTogether =
    signatures.length >= TOGETHER_MIN && hold(publicKey, signatures, randomWeights(signatures.length));
  return signatures.map((signature) => (holdTogether || hold(publicKey, [signature], [1n]) ? signature : undefined));
}

/**
 * Whether each R = u1 G + u2 Q with u1 = z/s and u2 = r/s: the sum of the differences, each with its weight, is the
 * point at infinity. One fault never passes, since the group's order is prime; several would have to cancel each other
 * under weights that come after them. No check for others' signatures: R is taken as it was computed.
 */
function hold(publicKey: Uint8Array, signatures: readonly FreshSignature[], weights: readonly bigint[]): boolean {
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

/** The numbers of a signature are in range and belong to each other. */
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
