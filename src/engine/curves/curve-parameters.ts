/**
 * What the engine must know of a pairing-friendly curve, and what follows from it at once. The numbers of each curve
 * are a table of their own (bn254.ts, bls12-381.ts). A proof system reaches a curve's arithmetic through
 * curve-kernels.ts.
 */
import { power } from "../field/prime-field.js";
import type { Fq2 } from "../field/prime-field.js";

/** Names of the curves, as the API writes them. */
export type CurveName = "BN254" | "BLS12_381";

/** The numbers that define a curve. */
export interface CurveParameters<Name extends CurveName = CurveName> {
  readonly name: Name;
  /** The name in snarkjs files and JSON, which circom takes for the scalar field as well. */
  readonly snarkjsName: "bn128" | "bls12381";
  /** How the curve was constructed, which decides the loop of its pairing and the tests of its subgroups. */
  readonly family: "BN" | "BLS12";
  /** Prime of the base field (coordinates), and the bytes of one of its elements in files. */
  readonly q: bigint;
  readonly fqBytes: number;
  /** Prime order of G1, G2 and the target group (scalars), and the bytes of a scalar in files. */
  readonly r: bigint;
  readonly frBytes: number;
  /** The curve is y^2 = x^3 + b over Fq, its twist y^2 = x^3 + twistB over Fq2. */
  readonly b: bigint;
  readonly twistB: Fq2;
  /** The twist is y^2 = x^3 + b / nonResidue (D), or y^2 = x^3 + b * nonResidue (M). */
  readonly twistType: "D" | "M";
  /** Points of the curve over Fq for each point of G1: 1 when all of them are in G1. */
  readonly cofactorG1: bigint;
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

/** As `CurveParameters`, for every curve. */
export type AnyCurve = CurveParameters;

/** Returns the generator's coordinates over Fq: x, y in G1, and x.c0, x.c1, y.c0, y.c1 in G2. */
export function generatorCoordinates(
  { generatorG1, generatorG2 }: CurveParameters,
  group: "g1" | "g2",
): readonly bigint[] {
  if (group === "g1") return [generatorG1.x, generatorG1.y];
  return [generatorG2.x.c0, generatorG2.x.c1, generatorG2.y.c0, generatorG2.y.c1];
}

/** Roots by their log, each computed once: a curve has no more of them than its two-adicity and one. */
const rootsOfUnity = new WeakMap<CurveParameters, Map<number, bigint>>();

/**
 * Returns the root of unity of order 2^log modulo r that snarkjs uses.
 * @throws RangeError when 2^log does not divide r - 1.
 */
export function rootOfUnity(curve: CurveParameters, log: number): bigint {
  if (!Number.isInteger(log) || log < 0 || log > curve.twoAdicity)
    throw new RangeError(`the scalar field has no root of unity of order 2^${log}`);
  const roots = rootsOfUnity.get(curve) ?? new Map<number, bigint>();
  rootsOfUnity.set(curve, roots);
  let root = roots.get(log);
  if (root === undefined) {
    root = power(curve.leastNonResidue, (curve.r - 1n) >> BigInt(log), curve.r);
    roots.set(log, root);
  }
  return root;
}
