/**
 * An FFLONK key as it stands in shared memory: a circuit (plonk/resident-circuit.ts), and the polynomial that commits
 * to it. It is built once per machine (build-fflonk-key.ts) and opened by any number of threads (fflonk-prover.ts),
 * which write to workspaces only.
 */
import type { FflonkVerifyingKey } from "../../fflonk/fflonk-values.js";
import type { CircuitCoset, FixedPolynomial, ResidentCircuit } from "../plonk/resident-circuit.js";

/**
 * What a thread needs to open the key; it may be posted to one. Numbers are addresses, but for the counts. `powers` are
 * as many as the longest commitment takes, 9 n. In `maps` the last two rows of each column name scalars behind the
 * wires, which blind it.
 */
export interface ResidentFflonkKey extends ResidentCircuit {
  readonly verifyingKey: FflonkVerifyingKey;
  /** Where the permutation's quotient is computed. */
  readonly cosets: readonly CircuitCoset<"s1" | "s2" | "s3">[];
  /**
   * Where that of the gates is computed, whose degree is below twice the domain's size: the first and the third of
   * `cosets`, on which X^n is a constant and minus that constant.
   */
  readonly gateCosets: readonly CircuitCoset<FixedPolynomial>[];
  /** Elements: the 8 n coefficients of C0, lowest first. */
  readonly c0: number;
}

/** Coefficients that a commitment can have, in multiples of the domain's size. */
export const COMMITMENT_SIZES = { c0: 8, c1: 8, c2: 9 } as const;
