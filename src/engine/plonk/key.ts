/**
 * The values of PLONK that provers and verifiers share, as the engine handles them. Decoding and encoding are in
 * src/engine/encoding.
 */
import type { CurveName } from "../curves/curve-parameters.js";
import type { G1Point, G2Point } from "../curves/points.js";

/** A proof. All points are finite: each commitment is blinded, so that infinity is a sign of a forged one. */
export interface PlonkProof {
  readonly curve: CurveName;
  /** Commitments to the wires' values, the permutation's product, the three parts of the quotient, two openings. */
  readonly a: G1Point;
  readonly b: G1Point;
  readonly c: G1Point;
  readonly z: G1Point;
  readonly t1: G1Point;
  readonly t2: G1Point;
  readonly t3: G1Point;
  readonly wXi: G1Point;
  readonly wXiOmega: G1Point;
  /** Values at xi, and that of z at xi times the domain's root; each in [0, r). */
  readonly evaluations: PlonkEvaluations;
}

export interface PlonkEvaluations {
  readonly a: bigint;
  readonly b: bigint;
  readonly c: bigint;
  readonly s1: bigint;
  readonly s2: bigint;
  readonly zOmega: bigint;
}

/** Commitments to the selectors and the permutation. Undefined is infinity: a selector that is 0. */
export interface PlonkVerifyingKey {
  readonly curve: CurveName;
  readonly publicCount: number;
  /** The domain has 2^domainPower gates. */
  readonly domainPower: number;
  /** Factors that keep the three columns of the permutation apart. */
  readonly k1: bigint;
  readonly k2: bigint;
  readonly selectors: {
    readonly m: G1Point | undefined;
    readonly l: G1Point | undefined;
    readonly r: G1Point | undefined;
    readonly o: G1Point | undefined;
    readonly k: G1Point | undefined;
  };
  readonly s1: G1Point;
  readonly s2: G1Point;
  readonly s3: G1Point;
  /** The setup's secret times the generator of G2. */
  readonly tauG2: G2Point;
}

/** Commitments to the polynomials that a circuit fixes, by their names. */
export type PlonkCommitments = PlonkVerifyingKey["selectors"] &
  Readonly<Record<"s1" | "s2" | "s3", G1Point | undefined>>;

/** Returns the commitments to the circuit. */
export function commitmentsOf({ selectors, s1, s2, s3 }: PlonkVerifyingKey): PlonkCommitments {
  return { ...selectors, s1, s2, s3 };
}

/** snarkjs' factors: 2 and 3 are in no subgroup of a power of two, and neither is their ratio. */
export const COLUMN_FACTORS = { k1: 2n, k2: 3n } as const;

/** snarkjs makes no smaller domain: the quotient's last part has six coefficients more than the domain. */
export const DOMAIN_POWER_MIN = 3;

/** Returns the power of the smallest domain for a number of gates. */
export function domainPowerOf(gateCount: number): number {
  return Math.max(DOMAIN_POWER_MIN, Math.ceil(Math.log2(gateCount)));
}
