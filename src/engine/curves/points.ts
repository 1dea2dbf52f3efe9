/**
 * Curve points as bigints, and their form in zkey files: affine, Montgomery form, little-endian. Infinity is never a
 * value of these types; where it can occur, it is undefined.
 */
import { readBigIntLE, writeBigIntLE } from "../field/bytes.js";
import { addFq2, equalFq2, inverse, multiplyFq2, reduce } from "../field/prime-field.js";
import type { Fq2 } from "../field/prime-field.js";
import type { CurveParameters } from "./curve-parameters.js";

/** A finite point of G1, coordinates in [0, q). */
export interface G1Point {
  readonly x: bigint;
  readonly y: bigint;
}

/** A finite point of the twist that holds G2, coordinates in [0, q). */
export interface G2Point {
  readonly x: Fq2;
  readonly y: Fq2;
}

/**
 * Tells whether the coordinates are canonical and satisfy y^2 = x^3 + b. On BN254 the point is then in G1, which is the
 * whole curve; elsewhere `areInSubgroupG1` tells.
 */
export function isOnCurveG1(point: G1Point, curve: CurveParameters): boolean {
  if (!isCanonical(point.x, curve) || !isCanonical(point.y, curve)) return false;
  return reduce(point.y * point.y - point.x * point.x * point.x - curve.b, curve.q) === 0n;
}

/** Tells whether the coordinates are canonical and satisfy the twist's equation; it does not test the subgroup. */
export function isOnTwist(point: G2Point, curve: CurveParameters): boolean {
  if (![point.x.c0, point.x.c1, point.y.c0, point.y.c1].every((value) => isCanonical(value, curve))) return false;
  const cube = multiplyFq2(multiplyFq2(point.x, point.x, curve.q), point.x, curve.q);
  return equalFq2(multiplyFq2(point.y, point.y, curve.q), addFq2(cube, curve.twistB, curve.q));
}

/** Returns -point. */
export function negateG1(point: G1Point, curve: CurveParameters): G1Point {
  return { x: point.x, y: reduce(-point.y, curve.q) };
}

/** Tells whether two points with canonical coordinates are equal. */
export function equalG1(a: G1Point, b: G1Point): boolean {
  return a.x === b.x && a.y === b.y;
}

/** Tells whether two points with canonical coordinates are equal. */
export function equalG2(a: G2Point, b: G2Point): boolean {
  return equalFq2(a.x, b.x) && equalFq2(a.y, b.y);
}

/** Returns x || y in the form of zkey files. */
export function encodeG1(point: G1Point, curve: CurveParameters): Uint8Array {
  return encodeMontgomery([point.x, point.y], curve);
}

/** Returns x.c0 || x.c1 || y.c0 || y.c1 in the form of zkey files. */
export function encodeG2(point: G2Point, curve: CurveParameters): Uint8Array {
  return encodeMontgomery([point.x.c0, point.x.c1, point.y.c0, point.y.c1], curve);
}

/** Reads the layout of `encodeG1`; undefined for infinity and for anything off the curve or not canonical. */
export function decodeG1(bytes: Uint8Array, offset: number, curve: CurveParameters): G1Point | undefined {
  const [x, y] = decodeMontgomery(bytes, offset, 2, curve);
  if (x === undefined || y === undefined) return undefined;
  const point = { x, y };
  return isOnCurveG1(point, curve) ? point : undefined;
}

/** Reads the layout of `encodeG2`; undefined for infinity and for anything off the twist or not canonical. */
export function decodeG2(bytes: Uint8Array, offset: number, curve: CurveParameters): G2Point | undefined {
  const [x0, x1, y0, y1] = decodeMontgomery(bytes, offset, 4, curve);
  if (x0 === undefined || x1 === undefined || y0 === undefined || y1 === undefined) return undefined;
  const point = { x: { c0: x0, c1: x1 }, y: { c0: y0, c1: y1 } };
  return isOnTwist(point, curve) ? point : undefined;
}

function isCanonical(value: bigint, curve: CurveParameters): boolean {
  return value >= 0n && value < curve.q;
}

function encodeMontgomery(values: readonly bigint[], curve: CurveParameters): Uint8Array {
  const bytes = new Uint8Array(values.length * curve.fqBytes);
  values.forEach((value, i) =>
    writeBigIntLE((value << BigInt(8 * curve.fqBytes)) % curve.q, bytes, i * curve.fqBytes, curve.fqBytes),
  );
  return bytes;
}

function decodeMontgomery(
  bytes: Uint8Array,
  offset: number,
  count: number,
  curve: CurveParameters,
): (bigint | undefined)[] {
  const radixInverse = inverse(1n << BigInt(8 * curve.fqBytes), curve.q);
  return Array.from({ length: count }, (_, i) => {
    const raw = readBigIntLE(bytes, offset + i * curve.fqBytes, curve.fqBytes);
    return raw < curve.q ? (raw * radixInverse) % curve.q : undefined;
  });
}
