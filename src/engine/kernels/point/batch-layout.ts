/**
 * How batches of additions (point-batch.ts) are cut into steps, and what lies where: an entry of the list is left word
 * u32 || right word u32 || address of the result u32.
 */
import type { Field } from "../field/field.js";
import type { Inversion } from "../field/inversion.js";
import type { ScratchBytes } from "../wasm/scratch-bytes.js";

export const LIST_ENTRY_BYTES = 12;
const KIND_BYTES = 16;
/**
 * Chains of prefix products that run side by side, because within one each product waits for the one before. A step
 * adds a vector of pairs for each. Where products are calls 1, 2 and 4 chains measure alike. On four lanes over Fq,
 * where they are woven, an addition takes 68 ns with one chain and 54 with two.
 */
const CHAINS = 2;

/**
 * Record of a vector of additions between the two passes: differences of x || prefix product || kinds, a byte per lane.
 */
export interface BatchLayout {
  readonly block: number;
  readonly record: number;
  readonly kinds: number;
  readonly records: number;
}

/** Returns the entries of a step of a field's batches. */
export function entriesPerStep(field: FieldShape): number {
  return field.lanes * chainsOf(field);
}

type FieldShape = Pick<Field<unknown>, "lanes" | "degree">;

/** Returns the shape of the field of four lanes beside one of two. */
export function wideShape({ degree }: FieldShape): FieldShape {
  return { lanes: 4, degree };
}

/** Products over Fq2 in place fill the registers by themselves: 168 ns an addition with one chain, 190 with two. */
export function chainsOf({ lanes, degree }: FieldShape): 1 | 2 {
  return lanes === 4 && degree === 2 ? 1 : CHAINS;
}

/**
 * Returns the scratch of batches on four lanes over the field that this one has two of, with this one's inversion
 * folded (field/inversion.ts).
 */
export function foldedScratch<E>(field: Field<E>, inversion: Inversion): ScratchBytes {
  const block = 2 * field.blockBytes;
  return {
    base: 2 * chainsOf(wideShape(field)) * block + field.blockBytes + inversion.scratchBytes,
    perStep: 2 * block + KIND_BYTES,
    itemsPerStep: 2 * field.lanes,
  };
}

/** Returns the layout of the scratch of a field's batches. */
export function batchLayout<E>(field: Field<E>, inversion: Inversion): BatchLayout {
  const block = field.blockBytes;
  return {
    block,
    record: 2 * block + KIND_BYTES,
    kinds: 2 * block,
    records: 2 * chainsOf(field) * block + inversion.scratchBytes,
  };
}
