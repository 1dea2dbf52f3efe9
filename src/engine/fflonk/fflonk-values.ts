/**
 * The values of FFLONK that provers and verifiers share, as the engine handles them: A. Gabizon, Z. Williamson,
 * "fflonk: a Fast-Fourier inspired verifier efficient version of PlonK" (eprint 2021/1167), in the form of snarkjs.
 * Decoding and encoding are in src/engine/encoding.
 *
 * Several polynomials are committed to at once, interleaved: C0(X) = sum of X^i p_i(X^8) over the circuit's eight, C1
 * of four (a, b, c and the gates' quotient T0), C2 of three (z and the permutation's quotients T1 and T2).
 */
import type { G1Point, G2Point } from "../curves/points.js";
import { domainPowerOf } from "../plonk/key.js";

/** The polynomials of C0, by their places in it. */
export const CIRCUIT_POLYNOMIALS = ["l", "r", "o", "m", "k", "s1", "s2", "s3"] as const;

/** Names of a proof's values, in the order of the transcript. */
export const EVALUATIONS = [
  ...(["l", "r", "m", "o", "k", "s1", "s2", "s3"] as const),
  ...(["a", "b", "c", "z", "zOmega", "t1Omega", "t2Omega"] as const),
] as const;

export type Evaluation = (typeof EVALUATIONS)[number];

/** The fixed polynomials, the wires and z at xi; z, T1 and T2 at xi times the domain's root; each in [0, r). */
export type FflonkEvaluations = Readonly<Record<Evaluation, bigint>>;

/** A proof. All points are finite: C1 and C2 are blinded, so that infinity is a sign of a forged one. */
export interface FflonkProof {
  readonly curve: "BN254";
  /** Commitments to C1 and C2, and the two openings, W and W'. */
  readonly c1: G1Point;
  readonly c2: G1Point;
  readonly w1: G1Point;
  readonly w2: G1Point;
  readonly evaluations: FflonkEvaluations;
  /** The inverse of all that a contract divides by; it follows from the rest, and is checked. */
  readonly inverse: bigint;
}

export interface FflonkVerifyingKey {
  readonly curve: "BN254";
  readonly publicCount: number;
  /** The domain has 2^domainPower gates. */
  readonly domainPower: number;
  /** Commitment to the selectors and the permutation. */
  readonly c0: G1Point;
  /** The setup's secret times the generator of G2. */
  readonly tauG2: G2Point;
}

/** Rows at the domain's end that no gate has: the wires' values there are random, and hide the others. */
export const BLINDING_ROWS = 2;
/** Scalars that blind z. */
export const Z_BLINDING_COUNT = 3;

/** Returns the power of the smallest domain for a number of gates. */
export function fflonkDomainPowerOf(gateCount: number): number {
  return domainPowerOf(gateCount + BLINDING_ROWS);
}

/**
 * Returns how many powers of the secret, from the power 0 on, a setup must have for a domain of 2^domainPower gates. No
 * commitment takes more than 9 n; snarkjs asks for 18 more, and so do we, that one setup serves both.
 */
export function fflonkPowerCount(domainPower: number): number {
  return 9 * 2 ** domainPower + 18;
}
