/**
 * What the pairing of a curve needs beside the curve's own constants. BN254: the optimal ate pairing of F. Vercauteren,
 * "Optimal pairings" (eprint 2008/096), over 6x + 2 for the seed x.
 */
import { BN254 } from "../../curves/curve-parameters.js";

export interface PairingConstants {
  /** The curve's seed, positive. */
  readonly seed: bigint;
  /** n of the n + u over which Fq12 is built. */
  readonly nonResidue: number;
  /** (x, y) -> (endomorphism x, y) multiplies a point of G1 by endomorphismScalar. */
  readonly endomorphism: bigint;
  readonly endomorphismScalar: bigint;
  /** Signed digits (non-adjacent form) of the loop's length below the highest, which is 1; from the highest down. */
  readonly loopDigits: readonly (-1 | 0 | 1)[];
}

export const BN254_PAIRING: PairingConstants = {
  seed: BN254.seed,
  nonResidue: 9,
  // The primitive cube root of unity of Fq that belongs to the scalar; the tests compare them on points.
  endomorphism: 2203960485148121921418603742825762020974279258880205651966n,
  endomorphismScalar: BN254.endomorphismScalar,
  loopDigits: nonAdjacentForm(6n * BN254.seed + 2n, 2)
    .slice(1)
    .map(unit),
};

/**
 * Digits of a positive number to the base 2, the highest first: 0 or odd and below 2^(width - 1) either way, and of any
 * `width` that follow each other at most one is not 0. Width 2 gives -1, 0 and 1.
 */
export function nonAdjacentForm(value: bigint, width: number): number[] {
  const digits: number[] = [];
  for (let rest = value; rest > 0n; rest >>= 1n) {
    const digit = (rest & 1n) === 0n ? 0 : Number(BigInt.asIntN(width, rest));
    rest -= BigInt(digit);
    digits.push(digit);
  }
  return digits.reverse();
}

function unit(digit: number): -1 | 0 | 1 {
  return digit === 0 ? 0 : digit < 0 ? -1 : 1;
}
