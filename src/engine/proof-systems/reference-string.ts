/**
 * A structured reference string, the powers of a secret tau times the generators, from which the keys of universal
 * systems follow. Whoever knows tau forges proofs of every such key.
 */
import type { CurveParameters } from "../curves/curve-parameters.js";
import type { G2Point } from "../curves/points.js";
import type { PowersOfTau } from "../powers-of-tau/lagrange-points.js";
import type { PointRowOptions } from "../powers-of-tau/point-row-work.js";

/** Points are affine in Montgomery form, little-endian, x then y, as in snarkjs' files. */
export interface StructuredReferenceString {
  readonly curve: CurveParameters;
  /** SHA-256 of the file that is kept, lower-case hex. */
  readonly sha256: string;
  /** There are 2^(power + 1) - 1 powers, which serve domains up to 2^power. */
  readonly power: number;
  /** Returns tau^0 to tau^(count - 1), times the generator of G1. */
  powersG1(count: number): Uint8Array;
  /**
   * Returns the Lagrange polynomials of the domain of 2^domainPower at tau, times the generator of G1. They are made of
   * the powers where the file does not have them: half a minute for 2^16 on two threads.
   */
  lagrangeG1(domainPower: number, options?: PointRowOptions): Promise<Uint8Array>;
  /**
   * Opens the file of a ceremony, with its alpha and beta.
   * @throws PowersOfTauError for a development string, which has none
   */
  openPowers(): PowersOfTau;
  /** tau times the generator of G2. */
  readonly tauG2: G2Point;
}
