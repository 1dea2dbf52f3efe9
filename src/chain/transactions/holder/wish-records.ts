/**
 * What a node that does not send transactions asks of the one that does, as records that both see:
 *
 *   ["chain_wish", id]   -> WishRecord
 *
 *   asked -> taken -> settled -> deleted by the node that asked
 *     '-> withdrawn (deleted) by the node that asked, as long as nobody has taken it
 */
import type { Subject } from "../../../platform/auth/principal.js";
import type { ErrorCode, ErrorDetail } from "../../../platform/errors.js";
import type { StoreKey, StoreValue } from "../../../platform/store/store.js";
import type { BroadcastTransactionInput, BumpTransactionInput } from "../transaction-schemas.js";

export const WISH_TABLE = "chain_wish";

export type Wish =
  | { readonly kind: "bump"; readonly transaction_id: string; readonly input: BumpTransactionInput }
  | { readonly kind: "cancel"; readonly transaction_id: string }
  /** The transaction gets the wish's id. */
  | { readonly kind: "broadcast"; readonly input: BroadcastTransactionInput };

/** The members of the error with which a wish was refused. */
export interface WishFault {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: readonly ErrorDetail[];
  readonly retry_after_sec: number | null;
}

export interface WishRecord {
  readonly id: string;
  /** Incarnation of the node that waits for the outcome. */
  readonly asked_by: string;
  readonly owner: Subject;
  readonly wish: Wish;
  /** Incarnation of the node that carries it out; null while none does. */
  readonly taken_by: string | null;
  readonly outcome: "done" | WishFault | null;
}

/** Returns the key of a wish. */
export function wishKey(id: string): StoreKey {
  return [WISH_TABLE, id];
}

/** Wishes are plain JSON, but interfaces lack the index signature that StoreValue requires. */
export function wishValue(record: WishRecord): StoreValue {
  return record as unknown as StoreValue;
}
