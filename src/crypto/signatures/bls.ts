/**
 * BLS signatures on BLS12-381 as Ethereum's consensus layer uses them (draft-irtf-cfrg-bls-signature, minimal public
 * keys: 48 bytes in G1, signatures 96 bytes in G2, proof-of-possession ciphersuite). Every point is checked for its
 * subgroup. A signature takes tens of milliseconds: keep it off threads that answer quickly.
 */
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { equalBytes } from "../constant-time.js";

export const BLS_PUBLIC_KEY_BYTES = 48;
export const BLS_SIGNATURE_BYTES = 96;
export const BLS_DOMAIN = "BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";

/** Compressed, at infinity, no coordinates: the only encoding of the neutral element of G2. */
const NEUTRAL_SIGNATURE = Uint8Array.of(0xc0, ...new Uint8Array(BLS_SIGNATURE_BYTES - 1));

const scheme = bls12_381.longSignatures;
type SignaturePoint = ReturnType<typeof scheme.sign>;
type PublicPoint = ReturnType<typeof scheme.getPublicKey>;

/** A fresh 32-byte private key below the group order; the caller wipes it. */
export function generateBls(): Uint8Array {
  return bls12_381.utils.randomSecretKey();
}

export function blsPublicKey(privateKey: Uint8Array): Uint8Array {
  return scheme.getPublicKey(privateKey).toBytes(true);
}

export function signBls(privateKey: Uint8Array, message: Uint8Array): Uint8Array {
  return scheme.Signature.toBytes(scheme.sign(hashMessage(message), privateKey));
}

/** False for a wrong signature of any form; a public key that is none counts as wrong too. */
export function verifyBls(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const point = readSignature(signature);
  const key = readPublicKey(publicKey);
  return point !== undefined && key !== undefined && scheme.verify(point, hashMessage(message), key);
}

/** True for 48 bytes of a point in the prime-order subgroup of G1 that is not its neutral element. */
export function isBlsPublicKey(bytes: Uint8Array): boolean {
  return readPublicKey(bytes) !== undefined;
}

/**
 * The sum of signatures; undefined when one of them is no signature or there is none. The neutral element adds nothing
 * and may come out, as the consensus layer's tests have it: nothing verifies under it.
 */
export function aggregateBls(signatures: readonly Uint8Array[]): Uint8Array | undefined {
  const points = signatures.map(readSummand);
  if (points.length === 0 || points.includes(undefined)) return undefined;
  // Added here, and written here where it is neutral: the library's own sum takes and gives no neutral element.
  const sum = points.reduce<SignaturePoint>(
    (total, point) => (point === undefined ? total : total.add(point)),
    bls12_381.G2.Point.ZERO,
  );
  return sum.is0() ? Uint8Array.from(NEUTRAL_SIGNATURE) : scheme.Signature.toBytes(sum);
}

/**
 * Whether an aggregate is that of the i-th key on the i-th message for all i. The messages must differ from each other:
 * with equal ones a signer could choose its key so that it cancels another's (the caller refuses that with words).
 */
export function verifyAggregateBls(
  publicKeys: readonly Uint8Array[],
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

function readPublicKey(bytes: Uint8Array): PublicPoint | undefined {
  if (bytes.length !== BLS_PUBLIC_KEY_BYTES) return undefined;
  try {
    const point = bls12_381.G1.Point.fromBytes(bytes);
    point.assertValidity();
    return point.is0() || !point.isTorsionFree() ? undefined : point;
  } catch {
    return undefined;
  }
}
