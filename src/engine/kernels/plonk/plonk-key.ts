/**
 * A PLONK key as it stands in shared memory: the gates, the selectors and the permutation as polynomials and on the
 * cosets where the quotient is computed, the powers of the setup, and a workspace for each thread that proves or helps.
 * It is built once per machine (build-plonk-key.ts) and opened by any number of threads (plonk-prover.ts), which write
 * to workspaces only.
 *
 * This file says where everything lies. A vector is an array of blocks of 2^domainPower elements. Polynomials stand as
 * their coefficients, in the order of `coefficientPlaces` (ntt/domain.ts).
 */
import type { PlonkVerifyingKey } from "../../plonk/key.js";
import type { SharedKey } from "../threads/shared-key.js";

/** The polynomials that the circuit fixes: the selectors of plonk/plonk-gates.ts, and the permutation's columns. */
export const FIXED_POLYNOMIALS = ["m", "l", "r", "o", "k", "s1", "s2", "s3"] as const;

export type FixedPolynomial = (typeof FIXED_POLYNOMIALS)[number];

/** Vectors of one coset, and the constants that belong to it. */
export interface PlonkCoset {
  readonly shift: bigint;
  /** Powers of the shift, and of its inverse divided by the domain's size, for coefficients. */
  readonly scale: number;
  readonly inverseScale: number;
  readonly fixed: Readonly<Record<FixedPolynomial, number>>;
  readonly firstLagrange: number;
}

/** What a thread needs to open the key; it may be posted to one. Numbers are addresses, but for the counts. */
export interface ResidentPlonkKey extends SharedKey {
  readonly verifyingKey: PlonkVerifyingKey;
  /** Wires of the constraint system, and of the gates, which have additions more. */
  readonly systemWireCount: number;
  readonly wireCount: number;
  /** Additions in the form of `_add_wires` (plonk/vectors.ts), and the elements that they name. */
  readonly additions: number;
  readonly factors: number;
  /**
   * For each column the wire of each gate and, behind them, the numbers of its BLINDING_POINTS scalars: 32 bits each.
   */
  readonly maps: { readonly a: number; readonly b: number; readonly c: number };
  /** Places of coefficients, and of those that a blinded polynomial has beyond the domain. */
  readonly places: number;
  readonly fixed: Readonly<Record<FixedPolynomial, number>>;
  /** Values of the permutation's columns on the domain, in natural order. */
  readonly sigma: { readonly s1: number; readonly s2: number; readonly s3: number };
  readonly cosets: readonly PlonkCoset[];
  /** Factors of `_join_cosets`. */
  readonly joinFactors: number;
  /** 1 / 2^domainPower. */
  readonly inverseSize: number;
  readonly domainTables: number;
  /** Points: 2^domainPower + 6 powers of the setup's secret. */
  readonly powers: number;
  /** Points: the Lagrange polynomials of the domain at the secret, and the powers 0, 1, 2, n, n + 1, n + 2. */
  readonly lagrange: number;
}

/** Cosets of the domain that hold the quotient: its degree is below four times the domain's size. */
export const COSET_COUNT = 4;
/** Powers beyond the domain that a commitment can need. */
export const EXTRA_POWERS = 6;
/** Points behind the Lagrange ones, for the blinding of a polynomial given by its values. */
export const BLINDING_POINTS = 6;
