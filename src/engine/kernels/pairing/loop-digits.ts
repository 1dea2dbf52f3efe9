/**
 * The loop of BN254's optimal ate pairing (F. Vercauteren, "Optimal pairings", eprint 2008/096), whose length is 6x + 2
 * for the curve's seed x, and the signed digits in which it and powers of the seed are written.
 */
import { BN254 } from "../../curves/bn254.js";

/** Signed digits of the loop's length below the highest, which is 1; from the highest down. */
export const LOOP_DIGITS: readonly (-1 | 0 | 1)[] = nonAdjacentForm(6n * BN254.seed + 2n, 2)
  .slice(1)
  .map(unit);

/**
 * Returns the digits of a positive number to the base 2, the highest first: each is 0 or odd and below 2^(width - 1) in
 * size, and of any `width` neighbours at most one is not 0. Width 2 gives -1, 0 and 1.
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
