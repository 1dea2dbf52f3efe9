/**
 * EdDSA with Poseidon on Baby Jubjub (EIP-2494), as circomlib's `EdDSAPoseidonVerifier` checks it: BLAKE-512 expands
 * the key and makes the nonce, the message is one element of BN254's scalar field, and S = r + h * s modulo the order
 * of the subgroup. Points are packed as circomlibjs packs them: y in 32 bytes little-endian, top bit set when x is
 * above (p - 1) / 2.
 */
import { randomBytes } from "node:crypto";
import { bn254 } from "@noble/curves/bn254.js";
import { babyjubjub } from "@noble/curves/misc.js";
import { blake512 } from "@noble/hashes/blake1.js";
import { FIELD_ORDER, poseidonFive } from "../hashes/poseidon.js";

const BABY_JUBJUB_POINT_BYTES = 32;
export const BABY_JUBJUB_SIGNATURE_BYTES = 64;
const PRIVATE_KEY_BYTES = 32;

const { Point } = babyjubjub;
export type BabyJubJubPoint = InstanceType<typeof Point>;
const Fr = bn254.fields.Fr;
const A = 168700n;
const D = 168696n;
const SUBGROUP_ORDER = Point.Fn.ORDER;
const HALF_FIELD = (FIELD_ORDER - 1n) / 2n;
const X_IS_LARGE = 0x80;

/** A signature as the numbers that a circuit takes. */
export interface EddsaPoseidonSignature {
  readonly r8: BabyJubJubPoint;
  readonly s: bigint;
}

/** Returns a new private key, 32 random bytes. The caller wipes it. */
export function generateBabyJubJub(): Uint8Array {
  return new Uint8Array(randomBytes(PRIVATE_KEY_BYTES));
}

/**
 * Returns the public key A of a private key.
 * @param privateKey 32 bytes
 */
export function babyJubJubPublicKey(privateKey: Uint8Array): BabyJubJubPoint {
  const expanded = expandKey(privateKey);
  try {
    return publicPoint(secretScalar(expanded));
  } finally {
    expanded.fill(0);
  }
}

/**
 * Signs a field element; the same key and message give the same signature.
 * @param privateKey 32 bytes
 * @throws RangeError when the message is not in 0 .. r - 1: reducing it would sign another message
 * @example const signature = packSignature(signPoseidon(privateKey, 42n));
 */
export function signPoseidon(privateKey: Uint8Array, message: bigint): EddsaPoseidonSignature {
  assertElement(message);
  const expanded = expandKey(privateKey);
  const nonceInput = new Uint8Array(64);
  try {
    const scalar = secretScalar(expanded);
    nonceInput.set(expanded.subarray(32), 0);
    nonceInput.set(toLittleEndian(message), 32);
    const nonce = fromLittleEndian(blake512(nonceInput)) % SUBGROUP_ORDER;
    const r8 = Point.BASE.multiply(nonce);
    const hash = challenge(r8, publicPoint(scalar), message);
    return { r8, s: (nonce + hash * scalar) % SUBGROUP_ORDER };
  } finally {
    expanded.fill(0);
    nonceInput.fill(0);
  }
}

/**
 * Returns whether S * B8 = R8 + 8 h * A, with both points in the prime-order subgroup, S below its order, and A not
 * neutral.
 * @throws RangeError when the message is not in 0 .. r - 1
 */
export function verifyPoseidon(
  publicKey: BabyJubJubPoint,
  message: bigint,
  { r8, s }: EddsaPoseidonSignature,
): boolean {
  assertElement(message);
  if (s < 0n || s >= SUBGROUP_ORDER || publicKey.is0() || !publicKey.isTorsionFree() || !r8.isTorsionFree())
    return false;
  const hash = (8n * challenge(r8, publicKey, message)) % SUBGROUP_ORDER;
  const left = s === 0n ? Point.ZERO : Point.BASE.multiplyUnsafe(s);
  const right = hash === 0n ? r8 : r8.add(publicKey.multiplyUnsafe(hash));
  return left.equals(right);
}

/** Returns y(32, little-endian) with the top bit set for a large x. */
export function packPoint(point: BabyJubJubPoint): Uint8Array {
  const { x, y } = point.toAffine();
  const bytes = toLittleEndian(y);
  bytes[31] = (bytes[31] ?? 0) | (x > HALF_FIELD ? X_IS_LARGE : 0);
  return bytes;
}

/**
 * Reads a packed point of 32 bytes. Undefined when the encoding is not canonical, or the point is not on the curve or
 * outside of the prime-order subgroup.
 */
export function unpackPoint(packed: Uint8Array): BabyJubJubPoint | undefined {
  if (packed.length !== BABY_JUBJUB_POINT_BYTES) return undefined;
  const bytes = Uint8Array.from(packed);
  const isLarge = ((bytes[31] ?? 0) & X_IS_LARGE) !== 0;
  bytes[31] = (bytes[31] ?? 0) & ~X_IS_LARGE;
  const y = fromLittleEndian(bytes);
  if (y >= FIELD_ORDER) return undefined;
  const root = squareRoot(y);
  if (root === undefined || (root === 0n && isLarge)) return undefined;
  const x = root > HALF_FIELD === isLarge ? root : Fr.neg(root);
  const point = Point.fromAffine({ x, y });
  return point.isTorsionFree() ? point : undefined;
}

/** Returns R8 packed(32) || S(32, little-endian). */
export function packSignature({ r8, s }: EddsaPoseidonSignature): Uint8Array {
  return Uint8Array.from([...packPoint(r8), ...toLittleEndian(s)]);
}

/** Reads a packed signature. Undefined for another length, a malformed point, or S at or above the order. */
export function unpackSignature(packed: Uint8Array): EddsaPoseidonSignature | undefined {
  if (packed.length !== BABY_JUBJUB_SIGNATURE_BYTES) return undefined;
  const r8 = unpackPoint(packed.subarray(0, 32));
  const s = fromLittleEndian(packed.subarray(32));
  return r8 === undefined || s >= SUBGROUP_ORDER ? undefined : { r8, s };
}

/** BLAKE-512 of the key, pruned as Ed25519 prunes: a multiple of 8 with bit 254 set and bit 255 clear. */
function expandKey(privateKey: Uint8Array): Uint8Array {
  if (privateKey.length !== PRIVATE_KEY_BYTES) throw new TypeError("the private key is not 32 bytes");
  const expanded = Uint8Array.from(blake512(privateKey));
  expanded[0] = (expanded[0] ?? 0) & 0xf8;
  expanded[31] = ((expanded[31] ?? 0) & 0x7f) | 0x40;
  return expanded;
}

function secretScalar(expanded: Uint8Array): bigint {
  return fromLittleEndian(expanded.subarray(0, 32));
}

/** B8 * (s / 8): circomlib's base point already contains the cofactor. */
function publicPoint(scalar: bigint): BabyJubJubPoint {
  return Point.BASE.multiply((scalar >> 3n) % SUBGROUP_ORDER);
}

function challenge(r8: BabyJubJubPoint, publicKey: BabyJubJubPoint, message: bigint): bigint {
  const r = r8.toAffine();
  const a = publicKey.toAffine();
  return poseidonFive([r.x, r.y, a.x, a.y, message]);
}

/** A root x of a x^2 + y^2 = 1 + d x^2 y^2, or undefined. */
function squareRoot(y: bigint): bigint | undefined {
  const ySquared = Fr.sqr(y);
  const denominator = Fr.sub(A, Fr.mul(D, ySquared));
  if (Fr.is0(denominator)) return undefined;
  try {
    return Fr.sqrt(Fr.div(Fr.sub(1n, ySquared), denominator));
  } catch {
    return undefined;
  }
}

function assertElement(message: bigint): void {
  if (message < 0n || message >= FIELD_ORDER) throw new RangeError("the message is not a field element");
}

function toLittleEndian(value: bigint): Uint8Array {
  return Uint8Array.from(Buffer.from(value.toString(16).padStart(64, "0"), "hex")).reverse();
}

function fromLittleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(Uint8Array.from(bytes).reverse()).toString("hex")}`);
}
