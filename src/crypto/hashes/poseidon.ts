/**
 * Poseidon (alpha = 5, 8 full rounds, Grain constants): over the scalar field of BN254 as circomlib's `Poseidon(2)`,
 * `Poseidon(3)` and `Poseidon(5)` compute it, and over that of BLS12-381 with the same rounds and constants of its own.
 * Grassi et al., "Poseidon", USENIX Security 2021. About 0.3 ms a hash of two: keep it off the event loop. Where there
 * is more to hash, `engine/kernels/poseidon` does it in WebAssembly.
 */
import { grainGenConstants, poseidon } from "@noble/curves/abstract/poseidon.js";
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { bn254 } from "@noble/curves/bn254.js";

/** Number of inputs -> partial rounds, from circomlib's table for states of one element more. */
const PARTIAL_ROUNDS = { 2: 57, 3: 56, 5: 60 } as const;
type Width = keyof typeof PARTIAL_ROUNDS;

/** The curves over whose scalar fields there is a hash. */
export type PoseidonField = "BN254" | "BLS12_381";

const FIELDS = { BN254: bn254.fields.Fr, BLS12_381: bls12_381.fields.Fr } as const;

/** Order of BN254's scalar field. */
export const FIELD_ORDER = bn254.fields.Fr.ORDER;

type Permutation = (state: bigint[]) => bigint[];
/** Made on first use and kept: constants of the hash, so that module state is harmless. */
const permutations = new Map<string, Permutation>();

/**
 * Hashes two elements of a field, BN254's by default, into one. The order of the two matters.
 * @throws RangeError when an input is not in 0 .. r - 1
 * @example const parent = poseidonPair(leftChild, rightChild);
 */
export function poseidonPair(left: bigint, right: bigint, field: PoseidonField = "BN254"): bigint {
  return hash(2, [left, right], field);
}

/**
 * Hashes three elements of a field, BN254's by default, into one.
 * @throws RangeError when an input is not in 0 .. r - 1
 */
export function poseidonTriple(inputs: readonly [bigint, bigint, bigint], field: PoseidonField = "BN254"): bigint {
  return hash(3, inputs, field);
}

/**
 * Hashes five elements of BN254's field into one, as EdDSA-Poseidon does.
 * @throws RangeError when an input is not in 0 .. r - 1
 */
export function poseidonFive(inputs: readonly [bigint, bigint, bigint, bigint, bigint]): bigint {
  return hash(5, inputs, "BN254");
}

function hash(width: Width, inputs: readonly bigint[], field: PoseidonField): bigint {
  if (inputs.some((input) => input < 0n || input >= FIELDS[field].ORDER))
    throw new RangeError("Poseidon takes canonical field elements");
  const digest = permutationOf(width, field)([0n, ...inputs])[0];
  if (digest === undefined) throw new Error("invariant broken: Poseidon yields its whole state");
  return digest;
}

/** What defines the permutation of a width: rounds, the constants added in each, and the matrix by rows. */
export interface PoseidonParameters {
  readonly order: bigint;
  readonly fullRounds: number;
  readonly partialRounds: number;
  readonly roundConstants: readonly (readonly bigint[])[];
  readonly mds: readonly (readonly bigint[])[];
}

/** Returns the parameters of the hash of so many inputs; its state has one element more. Takes about 30 ms. */
export function poseidonParameters(inputs: Width, field: PoseidonField): PoseidonParameters {
  const { roundsFull, roundsPartial } = optionsOf(inputs, field);
  const { roundConstants, mds } = grainGenConstants(optionsOf(inputs, field));
  return { order: FIELDS[field].ORDER, fullRounds: roundsFull, partialRounds: roundsPartial, roundConstants, mds };
}

/** The constants take 30 ms to derive, so that they are made on first use and not when the module loads. */
function permutationOf(width: Width, field: PoseidonField): Permutation {
  const name = `${field} ${String(width)}`;
  const made = permutations.get(name);
  if (made !== undefined) return made;
  const options = optionsOf(width, field);
  const permutation = poseidon({ ...options, ...grainGenConstants(options) });
  permutations.set(name, permutation);
  return permutation;
}

function optionsOf(width: Width, field: PoseidonField) {
  return {
    Fp: FIELDS[field],
    t: width + 1,
    roundsFull: 8,
    roundsPartial: PARTIAL_ROUNDS[width],
    sboxPower: 5,
  };
}
