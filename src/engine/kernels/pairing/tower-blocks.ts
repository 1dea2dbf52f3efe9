/**
 * Arithmetic on elements of Fq2 at rest, by lists of independent jobs: the pairing's formulas are written in them once,
 * and each list is done one job at a time (one-by-one-blocks.ts) or two at once (twin-blocks.ts). All values are
 * reduced blocks.
 *
 * The jobs of a list may be done in any order that keeps this: a target may be an operand of its own job and of those
 * before it, and of none behind it. What two jobs do at once has the same form, so jobs of one form should be
 * neighbours.
 */
import type { Fq2 } from "../../field/prime-field.js";
import type { Address } from "../field/field.js";
import type { FunctionBuilder } from "../wasm/wasm-builder.js";

/** a b, counted twice with `isDouble`. */
export interface BlockProduct {
  readonly a: Address;
  readonly b: Address;
  readonly isDouble?: boolean;
}

/** target := the sum of the products, and of the addend. */
export interface SumJob {
  readonly target: Address;
  readonly products: readonly BlockProduct[];
  readonly addend?: Address;
}

/** target := source^2. */
export interface SquareJob {
  readonly target: Address;
  readonly source: Address;
}

/** `times` the source, a small integer, and times u with `isTurned`. */
export interface BlockMultiple {
  readonly source: Address;
  readonly times: number;
  readonly isTurned?: boolean;
}

/** target := the sum of the multiples, of which there are at most some twelve in all. */
export interface CombinationJob {
  readonly target: Address;
  readonly terms: readonly BlockMultiple[];
}

/** target := a b, coefficient by coefficient. */
export interface ScalingJob {
  readonly target: Address;
  readonly a: Address;
  readonly b: Address;
}

export interface TowerBlocks {
  /** Jobs that are done at once. */
  readonly atOnce: 1 | 2;
  readonly blockBytes: number;
  /** n of the non-residue n + u over which Fq12 is built. */
  readonly nonResidue: number;
  sums(f: FunctionBuilder, jobs: readonly SumJob[]): void;
  squares(f: FunctionBuilder, jobs: readonly SquareJob[]): void;
  combinations(f: FunctionBuilder, jobs: readonly CombinationJob[]): void;
  scalings(f: FunctionBuilder, jobs: readonly ScalingJob[]): void;
  /** Stores a constant. */
  storeConstant(f: FunctionBuilder, target: Address, value: Fq2): void;
  /** Gives 1 when the block is 0, and else 0. */
  isZero(f: FunctionBuilder, block: Address): Address;
  /** Emits target := 1 / source, which may be the same; 0 gives 0. */
  invert(
    f: FunctionBuilder,
    addresses: { readonly target: Address; readonly source: Address; readonly scratch: Address },
  ): void;
  /** Bytes of the scratch of `invert`. */
  readonly inversionScratchBytes: number;
}

/** Returns the job target := (n + u) source. */
export function nonResidueJob(
  { nonResidue }: Pick<TowerBlocks, "nonResidue">,
  target: Address,
  source: Address,
): CombinationJob {
  return {
    target,
    terms: [
      { source, times: nonResidue },
      { source, times: 1, isTurned: true },
    ],
  };
}
