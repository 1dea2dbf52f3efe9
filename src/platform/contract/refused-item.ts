/**
 * An item of a batch that its schema refused. It stands in the item's place in the body, so that the handler answers
 * its errors there and works on the others.
 */
import type { ErrorDetail } from "../errors.js";

/** A class, so that no member of a body can pass for one. */
export class RefusedItem {
  /** What is wrong, with paths inside the item. Also readable where an instance has crossed threads as a copy. */
  readonly refused: readonly ErrorDetail[];

  constructor(refused: readonly ErrorDetail[]) {
    this.refused = refused;
  }
}

/** A body whose `batch` may hold refused items. */
export type WithRefusedItems<B> = B extends { batch?: readonly (infer Item)[] }
  ? Omit<B, "batch"> & { batch?: readonly (Item | RefusedItem)[] }
  : B;

/** An item, or a refused one, whose members can be asked for. */
export type MaybeRefused<Item> = Item & Partial<RefusedItem>;
