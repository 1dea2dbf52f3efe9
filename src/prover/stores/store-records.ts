/**
 * What is kept of the stores of proofs, and under which keys. Every key starts with the owner and the store, so that
 * another tenant's store cannot be found; the keys of tree heads alone are kept by the id of the store (head-keys.ts).
 *
 *   proof_store          [id]                  the store: kind, curve, and the state of its tree
 *   proof_store_user     [id, prover]          a prover that uses it
 *   proof_store_root     [id, size]            the root after each commit
 *   proof_store_size     [id, root]            the size of a root, for questions about roots of the past
 *   proof_store_head     [id, size]            a signed tree head
 *   proof_store_signer   [id]                  the vault key that signed them before their keys were published
 *   proof_store_removal  [id]                  a deleted store, some of whose records are still there
 *   note                 [id, index]           a note, encrypted; its leaf is that of the tree
 *   note_node            [id, level, index]    a node above the leaves whose subtree is full
 *   note_statement       [id, statement, index]  the hash of a proof, by what it proves
 *   note_spent           [id, index]           the key that nullified the note
 *   nullifier            [id, key]             a spent key
 *   nullifier_nodes      [id, size, part]      the nodes of the sparse tree that a commit added (sparse-nodes.ts)
 *   nullifier_node       [id, hash]            a node of the sparse tree, as they were kept before
 */
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import type { StoreKey } from "../../platform/store/store.js";
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import type { NoteTreeState } from "../../engine/merkle/note-tree.js";

export type StoreKind = "notes" | "nullifiers";

/** A store and whose it is. */
export interface StoreReference {
  readonly owner: Subject;
  readonly id: string;
}

/** The stored record of a store. Its version changes with every append, which is what makes writers wait. */
export type ProofStore = {
  readonly id: string;
  readonly created_at: string;
  readonly name: string;
  readonly kind: StoreKind;
  /** Curve whose scalar field the tree hashes in. */
  readonly curve: CurveName;
  /** Tree of a store of notes. */
  readonly tree?: NoteTreeState;
  /** Tree of a store of nullifiers; absent while it is empty. */
  readonly spent?: { readonly size: number; readonly root: string };
};

/** The stored record of a note. */
export type StoredNote = {
  readonly created_at: string;
  readonly prover_id: string;
  /** Vault and key that decrypt it. */
  readonly vault_id: string;
  readonly key_id: string;
  readonly ciphertext: string;
  readonly leaf: string;
};

/** The stored record of a spent key. */
export type StoredNullifier = {
  readonly created_at: string;
  /** The prover whose proof has spent it. */
  readonly prover_id: string;
  /** 64 hex digits; what the tree has under the key. */
  readonly value: string;
  /** Place among the spent keys of the store, from 0. */
  readonly index: number;
  /** Base64 of the note that the key belongs to, as it is kept: encrypted. Absent for keys of other kinds. */
  readonly note?: string;
};

/** The root of a store after a commit. */
export type StoredRoot = { readonly root: string; readonly created_at: string };

/** The mark of a note that is spent. */
export type SpentMark = { readonly key: string };

/** Table of the keys that sign tree heads now, by the id of the store. */
export const HEAD_SIGNERS = "tree_head_signer";

/** 2^32 notes. */
export const NOTE_TREE_DEPTH = 32;
/** Each keeps some 20 nodes of 150 bytes in the store: about 13 GB when it is full. */
export const NULLIFIERS_MAX = 2 ** 22;
/** Root of the empty sparse tree. */
export const EMPTY_SPARSE_ROOT = "0".repeat(64);

/** Tables whose keys go on after the id of the store; all of them go with the store. */
export const PARTS_OF_STORE = [
  ...["note", "note_node", "note_statement", "note_spent", "nullifier", "nullifier_nodes"],
  "nullifier_node",
  ...["proof_store_root", "proof_store_size", "proof_store_head", "proof_store_signer"],
] as const;
type PartOfStore = (typeof PARTS_OF_STORE)[number] | "proof_store" | "proof_store_user" | "proof_store_removal";

/** Returns the key of a record of a store, or the prefix of several. */
export function keyIn(table: PartOfStore, { owner, id }: StoreReference, ...rest: StoreKey): StoreKey {
  return [table, ...ownerKey(owner), id, ...rest];
}

/** Returns the prefix of all stores of an owner. */
export function storesPrefix(owner: Subject): StoreKey {
  return ["proof_store", ...ownerKey(owner)];
}

/** Returns how many entries a store has, and its root. */
export function stateOf({ tree, spent }: ProofStore): { readonly size: number; readonly root: string } {
  if (tree !== undefined) return { size: tree.size, root: tree.root };
  return spent ?? { size: 0, root: EMPTY_SPARSE_ROOT };
}
