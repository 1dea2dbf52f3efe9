/**
 * What the engine must know of a pairing-friendly curve, and what follows from it at once. The numbers of each curve
 * are a table of their own (bn254.ts, bls12-381.ts). A proof system reaches a curve's arithmetic through
 * curve-kernels.ts.
 */
import { power } from "../field/prime-field.js";
import type { Fq2 } from "../field/prime-field.js";

/** Each curve with the name that it has in snarkjs files and JSON. */
interface SnarkjsNames {
  readonly BN254: "bn128";
  readonly "BLS12-381": "bls12381";
}

export type CurveName = keyof SnarkjsNames;

/**
 * The numbers that define a curve. Proofs are over BN254 alone today, so that is what the type means by itself; what
 * works for every curve takes an `AnyCurve`.
 */
export interface CurveParameters<Name extends CurveName = "BN254"> {
  readonly name: Name;
  readonly snarkjsName: SnarkjsNames[Name];
  /** Prime of the base field (coordinates), and the bytes of one of its elements in files. */
  readonly q: bigint;
  readonly fqBytes: number;
  /** Prime order of G1, G2 and the target group (scalars), and the bytes of a scalar in files. */
  readonly r: bigint;
  readonly frBytes: number;
  /** The curve is y^2 = x^3 + b over Fq, its twist y^2 = x^3 + twistB over Fq2. */
  readonly b: bigint;
  readonly twistB: Fq2;
  readonly generatorG1: { readonly x: bigint; readonly y: bigint };
  readonly generatorG2: { readonly x: Fq2; readonly y: Fq2 };
  /** The parameter from which the curve's primes follow (x, u or z in the literature), with its sign. */
  readonly seed: bigint;
  /** On G1 the map (x, y) -> (endomorphismFactor x, y) multiplies by endomorphismScalar; both are cube roots of 1. */
  readonly endomorphismFactor: bigint;
  readonly endomorphismScalar: bigint;
  /** The n + u that is neither a square nor a cube in Fq2, over which Fq12 is built. */
  readonly nonResidue: Fq2;
  /** The largest k for which 2^k divides r - 1. */
  readonly twoAdicity: number;
  /** The least quadratic non-residue modulo r, whose powers are the roots of unity that snarkjs uses. */
  readonly leastNonResidue: bigint;
}

export type AnyCurve = CurveParameters<CurveName>;

/** Returns the generator's coordinates over Fq: x, y in G1, and x.c0, x.c1, y.c0, y.c1 in G2. */
export function generatorCoordinates({ generatorG1, generatorG2 }: AnyCurve, group: "g1" | "g2"): readonly bigint[] {
  if (group === "g1") return [generatorG1.x, generatorG1.y];
  return [generatorG2.x.c0, generatorG2.x.c1, generatorG2.y.c0, generatorG2.y.c1];
}

/**
 * Returns the root of unity of order 2^log modulo r that snarkjs uses.
 * @throws RangeError when 2^log does not divide r - 1.
 */
export function rootOfUnity(curve: AnyCurve, log: number): bigint {
  if (log > curve.twoAdicity) throw new RangeError(`the scalar field has no root of unity of order 2^${log}`);
  return power(curve.leastNonResidue, (curve.r - 1n) >> BigInt(log), curve.r);
}
