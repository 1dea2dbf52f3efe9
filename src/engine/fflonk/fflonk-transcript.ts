/**
 * The challenges of FFLONK by Fiat and Shamir's transformation, with Keccak-256 and the order of snarkjs. Each hashes
 * the one before, so that all depend on everything the prover said up to there, and the first on C0, the public signals
 * and C1. W' comes last, and no challenge follows it.
 *
 * Of the verifying key only C0 is in the transcript. Not bound by it are the domain's size, the number of public
 * signals (but through the length of what is hashed), the factors of the columns, tau in G2, and the name of scheme and
 * circuit: the form of snarkjs has no place for them. A verifier takes them from its key and never from the proof, so
 * that no prover can choose them.
 */
import { BN254 } from "../curves/bn254.js";
import type { G1Point } from "../curves/points.js";
import { power } from "../field/prime-field.js";
import { challengeOf } from "../plonk/transcript-hash.js";
import { EVALUATIONS } from "./fflonk-values.js";
import type { FflonkEvaluations } from "./fflonk-values.js";

export interface PermutationChallenges {
  readonly beta: bigint;
  readonly gamma: bigint;
}

/** Returns the permutation's challenges. */
export function permutationChallenges(
  c0: G1Point,
  publicSignals: readonly bigint[],
  c1: G1Point,
): PermutationChallenges {
  const beta = challengeOf(BN254, [c0, ...publicSignals, c1]);
  return { beta, gamma: challengeOf(BN254, [beta]) };
}

/** Returns the seed whose 24th power is the point xi at which the polynomials are opened. */
export function xiSeedOf(gamma: bigint, c2: G1Point): bigint {
  return challengeOf(BN254, [gamma, c2]);
}

/** Returns xi, whose roots of order 8, 4 and 3 are powers of the seed. */
export function xiOf(seed: bigint): bigint {
  return power(seed, 24n, BN254.r);
}

/** Returns the challenge that separates the three openings. */
export function alphaOf(xiSeed: bigint, evaluations: FflonkEvaluations): bigint {
  return challengeOf(BN254, [xiSeed, ...EVALUATIONS.map((name) => evaluations[name])]);
}

/** Returns the point at which the first opening is checked. */
export function yOf(alpha: bigint, w1: G1Point): bigint {
  return challengeOf(BN254, [alpha, w1]);
}
