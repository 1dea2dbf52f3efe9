/** The curves that proofs can be over, by what names them: their own name, or a prime in a file. */
import { BLS12_381 } from "./bls12-381.js";
import { BN254 } from "./bn254.js";
import type { CurveName, CurveParameters } from "./curve-parameters.js";

const CURVES: Readonly<Record<CurveName, CurveParameters>> = { BN254, BLS12_381 };

/** Returns the numbers of a curve. */
export function curveNamed(name: CurveName): CurveParameters {
  return CURVES[name];
}

/** Returns the curve whose scalar field has this order: that of a circuit. */
export function curveOfScalarField(order: bigint): CurveParameters | undefined {
  return Object.values(CURVES).find(({ r }) => r === order);
}

/** Returns the curve whose base field has this order: that of a key. */
export function curveOfBaseField(order: bigint): CurveParameters | undefined {
  return Object.values(CURVES).find(({ q }) => q === order);
}
