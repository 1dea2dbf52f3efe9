/**
 * Compressed points in gnark's binary form (gnark-crypto, ecc/bn254/marshal.go): big-endian x with two flag bits at the
 * top of the first byte. G2 writes the coefficient of i (A1) before the constant one (A0).
 *
 *   0b10 y is the smaller of y and -y
 *   0b11 y is the larger one
 *   0b01 infinity, all other bits zero; refused here, as no proof or key has it
 *   0b00 not compressed; refused here
 *
 * An extension element is the larger one when its A1 is, or, if A1 = 0, when its A0 is. One encoding per point.
 */
import type { CurveParameters } from "../curves/curve-parameters.js";
import type { G1Point, G2Point } from "../curves/points.js";
import { addFq2, multiplyFq2, negateFq2, reduce, squareRoot, squareRootFq2 } from "../field/prime-field.js";
import type { Fq2, RootPower } from "../field/prime-field.js";
import { Malformed } from "./decoded.js";
import type { PointChecks } from "./json-points.js";

const FLAG = { smallest: 0b1000_0000, largest: 0b1100_0000, infinity: 0b0100_0000, mask: 0b1100_0000 } as const;

/** Returns the encoding of a finite G1 point: fqBytes bytes. */
export function compressG1(point: G1Point, curve: CurveParameters): Uint8Array {
  const bytes = bigEndian(point.x, curve.fqBytes);
  return withFlag(bytes, isLargest(point.y, curve.q) ? FLAG.largest : FLAG.smallest);
}

/** Returns the encoding of a finite G2 point: 2 * fqBytes bytes, x.c1 then x.c0. */
export function compressG2(point: G2Point, curve: CurveParameters): Uint8Array {
  const bytes = new Uint8Array(2 * curve.fqBytes);
  bytes.set(bigEndian(point.x.c1, curve.fqBytes));
  bytes.set(bigEndian(point.x.c0, curve.fqBytes), curve.fqBytes);
  return withFlag(bytes, isLargestFq2(point.y, curve.q) ? FLAG.largest : FLAG.smallest);
}

/**
 * Reads a finite G1 point.
 * @param name of the point, for the message
 * @throws Malformed on infinity, an uncompressed flag, x >= q, or an x that belongs to no point
 */
export function decompressG1(bytes: Uint8Array, checks: PointChecks, name: string): G1Point {
  const { curve } = checks;
  const isLarge = readFlag(bytes, name);
  const x = readCoordinate(withoutFlag(bytes), curve, name);
  const root = squareRoot(squaredY(x, curve), curve.q, rootPowerOf(checks));
  if (root === undefined) throw new Malformed(`${name} is not on the curve`);
  return { x, y: isLargest(root, curve.q) === isLarge ? root : curve.q - root };
}

/**
 * Reads a finite point of the subgroup G2.
 * @param name of the point, for the message
 * @throws Malformed on infinity, an uncompressed flag, a coordinate >= q, or an x that belongs to no point of G2
 */
export function decompressG2(bytes: Uint8Array, checks: PointChecks, name: string): G2Point {
  const { curve } = checks;
  const isLarge = readFlag(bytes, name);
  const x = readPair(withoutFlag(bytes), curve, name);
  const root = squareRootFq2(squaredYOnTwist(x, curve), curve.q, rootPowerOf(checks));
  if (root === undefined) throw new Malformed(`${name} is not on the curve`);
  const point = { x, y: isLargestFq2(root, curve.q) === isLarge ? root : negateFq2(root, curve.q) };
  if (!checks.isInSubgroupG2(point)) throw new Malformed(`${name} is not in the subgroup G2`);
  return point;
}

/** Returns the number whose square root `decompressG1` takes: y^2 of the encoded point of G1, if there is one. */
export function radicandG1(bytes: Uint8Array, curve: CurveParameters): bigint {
  return squaredY(readCoordinate(withoutFlag(bytes), curve, ""), curve);
}

/** Returns the element whose square root `decompressG2` takes. */
export function radicandG2(bytes: Uint8Array, curve: CurveParameters): Fq2 {
  return squaredYOnTwist(readPair(withoutFlag(bytes), curve, ""), curve);
}

function squaredY(x: bigint, curve: CurveParameters): bigint {
  return reduce(x * x * x + curve.b, curve.q);
}

function squaredYOnTwist(x: Fq2, curve: CurveParameters): Fq2 {
  return addFq2(multiplyFq2(multiplyFq2(x, x, curve.q), x, curve.q), curve.twistB, curve.q);
}

/** c1 before c0. */
function readPair(bytes: Uint8Array, curve: CurveParameters, name: string): Fq2 {
  return {
    c1: readCoordinate(bytes.subarray(0, curve.fqBytes), curve, name),
    c0: readCoordinate(bytes.subarray(curve.fqBytes), curve, name),
  };
}

function rootPowerOf(checks: PointChecks): RootPower {
  return (value) => checks.squareRootPower(value);
}

function readFlag(bytes: Uint8Array, name: string): boolean {
  switch ((bytes[0] ?? 0) & FLAG.mask) {
    case FLAG.smallest:
      return false;
    case FLAG.largest:
      return true;
    case FLAG.infinity:
      throw new Malformed(`${name} is the point at infinity`);
    default:
      throw new Malformed(`${name} is not a compressed point`);
  }
}

function readCoordinate(bytes: Uint8Array, curve: CurveParameters, name: string): bigint {
  const value = BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
  if (value >= curve.q) throw new Malformed(`${name} has a coordinate that is not below the field's modulus`);
  return value;
}

function withFlag(bytes: Uint8Array, flag: number): Uint8Array {
  bytes[0] = (bytes[0] ?? 0) | flag;
  return bytes;
}

function withoutFlag(bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[0] = (copy[0] ?? 0) & ~FLAG.mask;
  return copy;
}

function bigEndian(value: bigint, length: number): Uint8Array {
  return Uint8Array.from(Buffer.from(value.toString(16).padStart(2 * length, "0"), "hex"));
}

function isLargest(value: bigint, q: bigint): boolean {
  return 2n * value > q;
}

function isLargestFq2(value: Fq2, q: bigint): boolean {
  return value.c1 === 0n ? isLargest(value.c0, q) : isLargest(value.c1, q);
}
