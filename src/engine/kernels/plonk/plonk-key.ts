/**
 * A PLONK key as it stands in shared memory: a circuit (resident-circuit.ts), and the setup's points in both bases. It
 * is built once per machine (build-plonk-key.ts) and opened by any number of threads (plonk-prover.ts), which write to
 * workspaces only.
 */
import type { PlonkVerifyingKey } from "../../plonk/key.js";
import type { CircuitCoset, FixedPolynomial, ResidentCircuit, VectorPlace } from "./resident-circuit.js";

/** Vectors of one coset, and the constants that belong to it. */
export interface PlonkCoset extends CircuitCoset<FixedPolynomial, VectorPlace> {
  readonly firstLagrange: VectorPlace;
}

/**
 * What a thread needs to open the key; it may be posted to one. Numbers are addresses, but for the counts. `powers` are
 * 2^domainPower + 6, and behind the wires of each column in `maps` stand the numbers of its BLINDING_POINTS scalars.
 */
export interface ResidentPlonkKey extends ResidentCircuit {
  readonly verifyingKey: PlonkVerifyingKey;
  readonly cosets: readonly PlonkCoset[];
  /** Points: the Lagrange polynomials of the domain at the secret, and the powers 0, 1, 2, n, n + 1, n + 2. */
  readonly lagrange: number;
}

/** Points behind the Lagrange ones, for the blinding of a polynomial given by its values. */
export const BLINDING_POINTS = 6;
