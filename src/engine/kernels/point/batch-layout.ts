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
/** Five limbs. */
const WOVEN_BYTES_MAX = 40;

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

type FieldShape = Pick<Field<unknown>, "lanes" | "elementBytes">;

/** Returns the shape of the field of four lanes beside one of two. */
export function wideShape({ elementBytes }: FieldShape): FieldShape {
  return { lanes: 4, elementBytes };
}

/**
 * Products of larger elements in place fill the registers by themselves: an addition over Fq2 of BN254 takes 168 ns
 * with one chain and 190 with two, one over Fq of BLS12-381 140 and 185.
 */
export function chainsOf({ lanes, elementBytes }: FieldShape): 1 | 2 {
  return lanes === 4 && elementBytes > WOVEN_BYTES_MAX ? 1 : CHAINS;
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
