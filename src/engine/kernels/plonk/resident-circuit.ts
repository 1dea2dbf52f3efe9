/**
 * A circuit as it stands in shared memory for PLONK and for FFLONK: the gates, the selectors and the permutation as
 * polynomials and on the cosets where quotients are computed, the powers of the setup, and a workspace for each thread
 * that proves or helps. Each scheme's key adds what it alone takes (plonk-key.ts, fflonk/fflonk-key.ts).
 *
 * This file says where everything lies. A vector is an array of blocks of 2^domainPower elements. Polynomials stand as
 * their coefficients, in the order of `coefficientPlaces` (ntt/domain.ts).
 */
import type { Kernels } from "../kernels.js";
import type { Domain } from "../ntt/domain.js";
import type { SharedKey } from "../threads/shared-key.js";
import type { Arena } from "../wasm/arena.js";
import type { ScalarMemory } from "./scalar-memory.js";

/** The polynomials that the circuit fixes: the selectors of plonk/plonk-gates.ts, and the permutation's columns. */
export const PERMUTATION_COLUMNS = ["s1", "s2", "s3"] as const;
export const FIXED_POLYNOMIALS = ["m", "l", "r", "o", "k", ...PERMUTATION_COLUMNS] as const;

export type FixedPolynomial = (typeof FIXED_POLYNOMIALS)[number];

/** The address of a vector, or the vector itself where it lies outside of the key's memory (sections.ts). */
export type VectorPlace = number | SharedArrayBuffer;

/** Vectors of one coset, and the constants that belong to it. */
export interface CircuitCoset<Name extends FixedPolynomial = never, Place extends VectorPlace = number> {
  readonly shift: bigint;
  /** Powers of the shift, and of its inverse divided by the domain's size, for coefficients. */
  readonly scale: Place;
  readonly inverseScale: Place;
  /** Values of some fixed polynomials. */
  readonly fixed: Readonly<Record<Name, Place>>;
}

/** What a thread needs to open the circuit; it may be posted to one. Numbers are addresses, but for the counts. */
export interface ResidentCircuit extends SharedKey {
  readonly publicCount: number;
  /** Wires of the constraint system, and of the gates, which have additions more. */
  readonly systemWireCount: number;
  readonly wireCount: number;
  /** Additions in the form of `_add_wires` (vectors.ts), and the elements that they name. */
  readonly additions: number;
  readonly factors: number;
  /** For each column the wire of each gate, 32 bits each; a scheme may have more numbers behind. */
  readonly maps: { readonly a: number; readonly b: number; readonly c: number };
  /** Places of coefficients, and of those that a blinded polynomial has beyond the domain. */
  readonly places: number;
  readonly fixed: Readonly<Record<FixedPolynomial, number>>;
  /** Values of the permutation's columns on the domain, in natural order. */
  readonly sigma: Readonly<Record<(typeof PERMUTATION_COLUMNS)[number], number>>;
  readonly cosets: readonly CircuitCoset<never, VectorPlace>[];
  /** Factors of `_join_cosets`. */
  readonly joinFactors: number;
  /** 1 / 2^domainPower. */
  readonly inverseSize: number;
  readonly domainTables: number;
  /** Points: the powers of the setup's secret. */
  readonly powers: number;
}

/** What the parts of a proof work with. */
export interface CircuitContext {
  readonly kernels: Kernels;
  readonly key: ResidentCircuit;
  /** The calling thread's own part of a workspace. */
  readonly scratch: Arena;
  readonly memory: { readonly scalars: ScalarMemory };
  readonly domain: Domain;
}

/** Cosets of the domain that hold a quotient: its degree is below four times the domain's size. */
export const COSET_COUNT = 4;
/** Powers beyond the domain that a blinded polynomial can have. */
export const EXTRA_POWERS = 6;

/** Returns the blocks of a vector. */
export function blocksOf({ kernels, key }: Pick<CircuitContext, "kernels" | "key">): number {
  return 2 ** key.domainPower / kernels.fr.lanes;
}
