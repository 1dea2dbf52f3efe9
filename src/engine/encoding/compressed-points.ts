/**
 * Compressed points in gnark's binary form (gnark-crypto, marshal.go of ecc/bn254 and ecc/bls12-381): big-endian x with
 * flag bits at the top of the first byte. G2 writes the coefficient of i (A1) before the constant one (A0).
 *
 *   BN254   BLS12-381 (the form of Zcash and of draft-irtf-cfrg-pairing-friendly-curves-11, appendix C)
 *   0b10    0b100      y is the smaller of y and -y
 *   0b11    0b101      y is the larger one
 *   0b01    0b110      infinity, all other bits zero; refused here, as no proof or key has it
 *   others             not compressed, or nothing; refused here
 *
 * An extension element is the larger one when its A1 is, or, if A1 = 0, when its A0 is. One encoding per point.
 */
import type { CurveName, CurveParameters } from "../curves/curve-parameters.js";
import type { G1Point, G2Point } from "../curves/points.js";
import { addFq2, multiplyFq2, negateFq2, reduce, squareRoot, squareRootFq2 } from "../field/prime-field.js";
import type { Fq2, RootPower } from "../field/prime-field.js";
import { Malformed } from "./decoded.js";
import type { PointChecks } from "./json-points.js";

interface Flags {
  readonly smallest: number;
  readonly largest: number;
  readonly infinity: number;
  readonly mask: number;
}

const FLAGS: Readonly<Record<CurveName, Flags>> = {
  BN254: { smallest: 0b1000_0000, largest: 0b1100_0000, infinity: 0b0100_0000, mask: 0b1100_0000 },
  BLS12_381: { smallest: 0b1000_0000, largest: 0b1010_0000, infinity: 0b1100_0000, mask: 0b1110_0000 },
};

/** Returns the encoding of a finite G1 point: fqBytes bytes. */
export function compressG1(point: G1Point, curve: CurveParameters): Uint8Array {
  const bytes = bigEndian(point.x, curve.fqBytes);
  return withFlag(bytes, FLAGS[curve.name][isLargest(point.y, curve.q) ? "largest" : "smallest"]);
}

/** Returns the encoding of a finite G2 point: 2 * fqBytes bytes, x.c1 then x.c0. */
export function compressG2(point: G2Point, curve: CurveParameters): Uint8Array {
  const bytes = new Uint8Array(2 * curve.fqBytes);
  bytes.set(bigEndian(point.x.c1, curve.fqBytes));
  bytes.set(bigEndian(point.x.c0, curve.fqBytes), curve.fqBytes);
  return withFlag(bytes, FLAGS[curve.name][isLargestFq2(point.y, curve.q) ? "largest" : "smallest"]);
}

/**
 * Reads a finite point of the subgroup G1.
 * @param name of the point, for the message
 * @throws Malformed on infinity, an uncompressed flag, x >= q, or an x that belongs to no point of G1
 */
export function decompressG1(bytes: Uint8Array, checks: PointChecks, name: string): G1Point {
  const { curve } = checks;
  const isLarge = readFlag(bytes, curve, name);
  const x = readCoordinate(withoutFlag(bytes, curve), curve, name);
  const root = squareRoot(squaredY(x, curve), curve.q, rootPowerOf(checks));
  if (root === undefined) throw new Malformed(`${name} is not on the curve`);
  const point = { x, y: isLargest(root, curve.q) === isLarge ? root : curve.q - root };
  if (checks.areInSubgroupG1([point])[0] !== true) throw new Malformed(`${name} is not in the subgroup G1`);
  return point;
}

/**
 * Reads a finite point of the subgroup G2.
 * @param name of the point, for the message
 * @throws Malformed on infinity, an uncompressed flag, a coordinate >= q, or an x that belongs to no point of G2
 */
export function decompressG2(bytes: Uint8Array, checks: PointChecks, name: string): G2Point {
  const { curve } = checks;
  const isLarge = readFlag(bytes, curve, name);
  const x = readPair(withoutFlag(bytes, curve), curve, name);
  const root = squareRootFq2(squaredYOnTwist(x, curve), curve.q, rootPowerOf(checks));
  if (root === undefined) throw new Malformed(`${name} is not on the curve`);
  const point = { x, y: isLargestFq2(root, curve.q) === isLarge ? root : negateFq2(root, curve.q) };
  if (!checks.isInSubgroupG2(point)) throw new Malformed(`${name} is not in the subgroup G2`);
  return point;
}

/** Returns the number whose square root `decompressG1` takes: y^2 of the encoded point of G1, if there is one. */
export function radicandG1(bytes: Uint8Array, curve: CurveParameters): bigint {
  return squaredY(readCoordinate(withoutFlag(bytes, curve), curve, ""), curve);
}

/** Returns the element whose square root `decompressG2` takes. */
export function radicandG2(bytes: Uint8Array, curve: CurveParameters): Fq2 {
  return squaredYOnTwist(readPair(withoutFlag(bytes, curve), curve, ""), curve);
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

function readFlag(bytes: Uint8Array, curve: CurveParameters, name: string): boolean {
  const flags = FLAGS[curve.name];
  switch ((bytes[0] ?? 0) & flags.mask) {
    case flags.smallest:
      return false;
    case flags.largest:
      return true;
    case flags.infinity:
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

function withoutFlag(bytes: Uint8Array, curve: CurveParameters): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[0] = (copy[0] ?? 0) & ~FLAGS[curve.name].mask;
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
