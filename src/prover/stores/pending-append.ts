/** What one proof wants to append to stores, and what became of it. */
import type { StoreCheck, StoreCommit } from "../../platform/store/store.js";
import type { StoredNote, StoreReference } from "./store-records.js";

/** A note to be appended. */
export interface PendingNote {
  readonly store: StoreReference;
  /** 64 hex digits; becomes the leaf. */
  readonly digest: string;
  /**
   * Identifies what the proof proves; 64 hex digits. The store finds the notes of a statement by this hash: the hash of
   * a proof is no identity, because anyone can re-randomise a Groth16 proof.
   */
  readonly statementHash: string;
  /** 64 hex digits; the value of the statement's entry. */
  readonly proofHash: string;
  readonly record: Omit<StoredNote, "created_at" | "leaf">;
}

/** A key to be spent. */
export interface PendingSpend {
  readonly store: StoreReference;
  readonly proverId: string;
  /** 64 hex digits, below the order of the curve's scalar field. */
  readonly key: string;
  /** The same; what the tree has under the key. */
  readonly value: string;
  /** The note that is spent by it; it is spent once, whatever store its key goes into. */
  readonly note?: { readonly store: StoreReference; readonly index: number; readonly ciphertext: string };
}

/** A spent key, and the tree after the commit that spent it. */
export interface SpentKey {
  readonly key: string;
  readonly index: number;
  readonly size: number;
  readonly root: string;
}

/** What one proof appends; all of it, or nothing. */
export interface PendingAppend {
  readonly note?: PendingNote;
  readonly spends: readonly PendingSpend[];
  /** Returns further checks of the commit; called for each try. Throws when nothing must be appended any more. */
  readonly checks: () => readonly StoreCheck[];
  /** Returns what is written in the same commit. */
  readonly records: (appended: Appended) => StoreCommit;
}

export interface Appended {
  /** From 0; undefined without a note. */
  readonly noteIndex: number | undefined;
  /** In the order of the spends. */
  readonly spent: readonly SpentKey[];
}

/** Returns the store of each note and each key of an append; a store may be among them more than once. */
export function storesOf({ note, spends }: PendingAppend): StoreReference[] {
  return [...(note === undefined ? [] : [note.store]), ...spends.map(({ store }) => store)];
}
