/**
 * BLS signatures on BLS12-381 as Ethereum's consensus layer uses them (draft-irtf-cfrg-bls-signature, sections 2, 3.3
 * and 4.2.3): minimal public keys, 48 bytes in G1; signatures of 96 bytes in G2; proof-of-possession ciphersuite. Every
 * point is checked for its subgroup. A signature takes tens of milliseconds: keep it off threads that must answer
 * quickly.
 */
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { equalBytes } from "../constant-time.js";

export const BLS_PUBLIC_KEY_BYTES = 48;
export const BLS_SIGNATURE_BYTES = 96;
const BLS_DOMAIN = "BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";
/** Of its own, so that no signature of a message passes for a proof. */
const POSSESSION_DOMAIN = "BLS_POP_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";

/** Compressed, at infinity, no coordinates: the only encoding of the neutral element of G2. */
const NEUTRAL_SIGNATURE = Uint8Array.of(0xc0, ...new Uint8Array(BLS_SIGNATURE_BYTES - 1));

const scheme = bls12_381.longSignatures;
const G1_ZERO = bls12_381.G1.Point.ZERO;
type SignaturePoint = ReturnType<typeof scheme.sign>;
type PublicPoint = ReturnType<typeof scheme.getPublicKey>;
/** A public key that `readBlsPublicKey` has read and checked. */
export type BlsPublicKey = PublicPoint;

/** Returns a new 32-byte private key below the group order, big-endian. The caller wipes it. */
export function generateBls(): Uint8Array {
  return bls12_381.utils.randomSecretKey();
}

/** Returns the 48-byte compressed public key of a 32-byte private key. */
export function blsPublicKey(privateKey: Uint8Array): Uint8Array {
  return scheme.getPublicKey(privateKey).toBytes(true);
}

/**
 * Signs a message of any length; returns 96 bytes.
 * @example verifyBls(blsPublicKey(privateKey), message, signBls(privateKey, message)) // true
 */
export function signBls(privateKey: Uint8Array, message: Uint8Array): Uint8Array {
  return scheme.Signature.toBytes(scheme.sign(hashMessage(message), privateKey));
}

/** Returns whether the signature is valid; false for malformed signatures and public keys, too. */
export function verifyBls(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const point = readSignature(signature);
  const key = readPublicKey(publicKey);
  return point !== undefined && key !== undefined && scheme.verify(point, hashMessage(message), key);
}

/** Reads 48 bytes of a point in the prime-order subgroup of G1, not neutral; undefined for others. Takes about 1 ms. */
export function readBlsPublicKey(bytes: Uint8Array): BlsPublicKey | undefined {
  return readPublicKey(bytes);
}

/** Returns whether the bytes are a public key: 48 bytes of a point in the prime-order subgroup of G1, not neutral. */
export function isBlsPublicKey(bytes: Uint8Array): boolean {
  return readPublicKey(bytes) !== undefined;
}

/**
 * Returns the sum of signatures; undefined when there is none, or one of them is malformed. Summands and the sum may be
 * the neutral element, as in the consensus layer's tests; nothing verifies under it.
 */
export function aggregateBls(signatures: readonly Uint8Array[]): Uint8Array | undefined {
  const points = signatures.map(readSummand);
  if (points.length === 0 || points.includes(undefined)) return undefined;
  // Added here, because the library's own sum neither accepts nor returns the neutral element.
  const sum = points.reduce<SignaturePoint>(
    (total, point) => (point === undefined ? total : total.add(point)),
    bls12_381.G2.Point.ZERO,
  );
  return sum.is0() ? Uint8Array.from(NEUTRAL_SIGNATURE) : scheme.Signature.toBytes(sum);
}

/**
 * Returns whether an aggregate is valid for the i-th key on the i-th message for all i. The caller must refuse equal
 * messages: with them, a signer could choose its key so that it cancels another's.
 */
export function verifyAggregateBls(
  publicKeys: readonly (Uint8Array | BlsPublicKey)[],
  messages: readonly Uint8Array[],
  signature: Uint8Array,
): boolean {
  const point = readSignature(signature);
  const keys = publicKeys.map(readPublicKey);
  if (point === undefined || keys.length === 0 || keys.length !== messages.length || keys.includes(undefined))
    return false;
  const items = keys.flatMap((publicKey, index) => {
    const message = messages[index];
    return publicKey === undefined || message === undefined ? [] : [{ message: hashMessage(message), publicKey }];
  });
  return scheme.verifyBatch(point, items);
}

/**
 * Returns whether a signature is the sum of one signature on the same message for each key (FastAggregateVerify,
 * section 3.3.4). False for no keys. The caller must know that each key's owner has its private key: otherwise a signer
 * could choose its key so that it cancels the others'.
 */
export function fastVerifyAggregateBls(
  publicKeys: readonly (Uint8Array | BlsPublicKey)[],
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  const point = readSignature(signature);
  const keys = publicKeys.map(readPublicKey);
  if (point === undefined || keys.length === 0 || keys.includes(undefined)) return false;
  const sum = keys.reduce<PublicPoint>((total, key) => (key === undefined ? total : total.add(key)), G1_ZERO);
  return !sum.is0() && scheme.verify(point, hashMessage(message), sum);
}

/** Returns the 96-byte proof that somebody has the private key of a public key (PopProve, section 3.3.2). */
export function proveBlsPossession(privateKey: Uint8Array): Uint8Array {
  const hash = scheme.hash(blsPublicKey(privateKey), POSSESSION_DOMAIN);
  return scheme.Signature.toBytes(scheme.sign(hash, privateKey));
}

/** Returns whether a proof of possession is valid (PopVerify, section 3.3.3); false for malformed ones, too. */
export function verifyBlsPossession(publicKey: Uint8Array, proof: Uint8Array): boolean {
  const point = readSignature(proof);
  const key = readPublicKey(publicKey);
  return (
    point !== undefined && key !== undefined && scheme.verify(point, scheme.hash(publicKey, POSSESSION_DOMAIN), key)
  );
}

function hashMessage(message: Uint8Array): SignaturePoint {
  return scheme.hash(message, BLS_DOMAIN);
}

function readSummand(bytes: Uint8Array): SignaturePoint | undefined {
  return equalBytes(bytes, NEUTRAL_SIGNATURE) ? bls12_381.G2.Point.ZERO : readSignature(bytes);
}

function readSignature(bytes: Uint8Array): SignaturePoint | undefined {
  if (bytes.length !== BLS_SIGNATURE_BYTES) return undefined;
  try {
    const point = scheme.Signature.fromBytes(bytes);
    point.assertValidity();
    return point.is0() || !point.isTorsionFree() ? undefined : point;
  } catch {
    return undefined;
  }
}

function readPublicKey(bytes: Uint8Array | BlsPublicKey): PublicPoint | undefined {
  if (!(bytes instanceof Uint8Array)) return bytes;
  if (bytes.length !== BLS_PUBLIC_KEY_BYTES) return undefined;
  try {
    const point = bls12_381.G1.Point.fromBytes(bytes);
    point.assertValidity();
    return point.is0() || !point.isTorsionFree() ? undefined : point;
  } catch {
    return undefined;
  }
}
