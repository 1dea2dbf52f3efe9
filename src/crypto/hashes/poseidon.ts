/**
 * Poseidon over the scalar field of BN254 (alpha = 5, 8 full rounds, Grain constants), as circomlib's `Poseidon(2)` and
 * `Poseidon(5)` compute it. Grassi et al., "Poseidon", USENIX Security 2021. About 0.3 ms a hash of two: keep it off
 * the event loop.
 */
import { grainGenConstants, poseidon } from "@noble/curves/abstract/poseidon.js";
import { bn254 } from "@noble/curves/bn254.js";

/** Number of inputs -> partial rounds, from circomlib's table for states of one element more. */
const PARTIAL_ROUNDS = { 2: 57, 5: 60 } as const;
type Width = keyof typeof PARTIAL_ROUNDS;

/** Order of BN254's scalar field, in which the hash computes. */
export const FIELD_ORDER = bn254.fields.Fr.ORDER;

type Permutation = (state: bigint[]) => bigint[];
/** Made on first use and kept: constants of the hash, so that module state is harmless. */
const permutations = new Map<Width, Permutation>();

/**
 * Hashes two field elements into one. The order of the two matters.
 * @throws RangeError when an input is not in 0 .. r - 1
 * @example const parent = poseidonPair(leftChild, rightChild);
 */
export function poseidonPair(left: bigint, right: bigint): bigint {
  return hash(2, [left, right]);
}

/**
 * Hashes five field elements into one, as EdDSA-Poseidon does.
 * @throws RangeError when an input is not in 0 .. r - 1
 */
export function poseidonFive(inputs: readonly [bigint, bigint, bigint, bigint, bigint]): bigint {
  return hash(5, inputs);
}

function hash(width: Width, inputs: readonly bigint[]): bigint {
  if (inputs.some((input) => input < 0n || input >= FIELD_ORDER))
    throw new RangeError("Poseidon takes canonical field elements");
  const digest = permutationOf(width)([0n, ...inputs])[0];
  if (digest === undefined) throw new Error("invariant broken: Poseidon yields its whole state");
  return digest;
}

/** The constants take 30 ms to derive, so that they are made on first use and not when the module loads. */
function permutationOf(width: Width): Permutation {
  const made = permutations.get(width);
  if (made !== undefined) return made;
  const parameters = {
    Fp: bn254.fields.Fr,
    t: width + 1,
    roundsFull: 8,
    roundsPartial: PARTIAL_ROUNDS[width],
    sboxPower: 5,
  };
  const permutation = poseidon({ ...parameters, ...grainGenConstants(parameters) });
  permutations.set(width, permutation);
  return permutation;
}
