/** Curve points in snarkjs' JSON: projective triples of decimals with z = 1, extension elements as [c0, c1]. */
import type { PairingKernels } from "../curves/curve-kernels.js";
import { isOnCurveG1, isOnTwist } from "../curves/points.js";
import type { G1Point, G2Point } from "../curves/points.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import type { Fq2 } from "../field/prime-field.js";
import { readDecimal, readTuple } from "./decimal.js";
import { Malformed } from "./decoded.js";

/** The kernels' part in decoding points. */
export type PointChecks = Pick<PairingKernels, "curve" | "areInSubgroupG1" | "isInSubgroupG2" | "squareRootPower">;

/** Names by which snarkjs and others call the curve; accepted at the edge, written as the first. */
const CURVE_NAMES: Readonly<Record<CurveParameters["name"], readonly string[]>> = {
  BN254: ["bn128", "bn254", "bn-254", "alt_bn128", "altbn128"],
  BLS12_381: ["bls12381", "bls12_381", "bls12-381"],
};

/**
 * Checks the name of the curve.
 * @throws Malformed unless the value names the curve
 */
export function checkCurveName(value: unknown, curve: CurveParameters): void {
  if (typeof value !== "string" || !CURVE_NAMES[curve.name].includes(value.toLowerCase()))
    throw new Malformed(`curve must be ${curve.snarkjsName}`);
}

/** Returns a finite G1 point as [x, y, 1], decimals. */
export function g1ToJson(point: G1Point): string[] {
  return [point.x.toString(), point.y.toString(), "1"];
}

/** Returns a finite G2 point as [[x.c0, x.c1], [y.c0, y.c1], [1, 0]], decimals. */
export function g2ToJson(point: G2Point): string[][] {
  return [
    [point.x.c0.toString(), point.x.c1.toString()],
    [point.y.c0.toString(), point.y.c1.toString()],
    ["1", "0"],
  ];
}

/**
 * Reads a finite point of the subgroup G1.
 * @param name of the place, for the message
 * @throws Malformed on any other form, infinity included
 */
export function g1FromJson(value: unknown, checks: PointChecks, name: string): G1Point {
  const point = curvePointFromJson(value, checks.curve, name);
  if (checks.areInSubgroupG1([point])[0] !== true) throw new Malformed(`${name} is not in the subgroup G1`);
  return point;
}

/**
 * Reads many points of G1 as `g1FromJson` does, with one test of the subgroup for all.
 * @param name of each place by its number
 */
export function manyG1FromJson(
  values: readonly unknown[],
  checks: PointChecks,
  name: (index: number) => string,
): G1Point[] {
  const points = values.map((value, i) => curvePointFromJson(value, checks.curve, name(i)));
  const outside = checks.areInSubgroupG1(points).indexOf(false);
  if (outside >= 0) throw new Malformed(`${name(outside)} is not in the subgroup G1`);
  return points;
}

/**
 * Reads a finite point of the subgroup G2.
 * @param name of the place, for the message
 * @throws Malformed on any other form, infinity included
 */
export function g2FromJson(value: unknown, checks: PointChecks, name: string): G2Point {
  const { curve } = checks;
  const [x, y, z] = readTuple(value, 3, name);
  const [z0, z1] = readTuple(z, 2, `${name}[2]`);
  if (z0 !== "1" || z1 !== "0") throw new Malformed(`${name} is not in affine form with z = ["1", "0"]`);
  const element = (pair: unknown, place: string): Fq2 => {
    const [c0, c1] = readTuple(pair, 2, place);
    return { c0: readDecimal(c0, curve.q, `${place}[0]`), c1: readDecimal(c1, curve.q, `${place}[1]`) };
  };
  const point = { x: element(x, `${name}[0]`), y: element(y, `${name}[1]`) };
  if (!isOnTwist(point, curve)) throw new Malformed(`${name} is not on the curve`);
  if (!checks.isInSubgroupG2(point)) throw new Malformed(`${name} is not in the subgroup G2`);
  return point;
}

function curvePointFromJson(value: unknown, curve: CurveParameters, name: string): G1Point {
  const [x, y, z] = readTuple(value, 3, name);
  if (z !== "1") throw new Malformed(`${name} is not in affine form with z = "1"`);
  const point = { x: readDecimal(x, curve.q, `${name}[0]`), y: readDecimal(y, curve.q, `${name}[1]`) };
  if (!isOnCurveG1(point, curve)) throw new Malformed(`${name} is not on the curve`);
  return point;
}
