/**
 * The parts of a Groth16 proof and of its verifying key (Groth 2016, eprint 2016/260, section 3.2). Types and limits
 * only.
 */
import type { CurveName } from "../curves/curve-parameters.js";
import type { G1Point, G2Point } from "../curves/points.js";

/** A proof. A decoder or the prover has checked that its points are finite, on the curve and in their subgroups. */
export interface Groth16Proof {
  readonly curve: CurveName;
  readonly a: G1Point;
  readonly b: G2Point;
  readonly c: G1Point;
}

export interface Groth16VerifyingKey {
  readonly curve: CurveName;
  /** Public signals of the circuit; `ic` has one point more, for the constant wire. */
  readonly publicCount: number;
  readonly alphaG1: G1Point;
  readonly betaG2: G2Point;
  readonly gammaG2: G2Point;
  readonly deltaG2: G2Point;
  /** Undefined is infinity: the point of a public signal that no constraint uses. */
  readonly ic: readonly (G1Point | undefined)[];
}

/**
 * Public signals that a key may have: each costs the verifier about 60 microseconds, and a proof's answer lists them
 * all.
 */
export const PUBLIC_SIGNALS_MAX = 65_536;
