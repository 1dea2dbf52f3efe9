/**
 * Proofs about stores, at any of their sizes: that a note is in the tree, that a tree grew out of an earlier one, that
 * a nullifier was spent or was not. The main thread reads the nodes; hashing runs in the pool.
 */
import { AppError, assert, invalidMember, notFound } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { Store } from "../../platform/store/store.js";
import { proveConsistency, proveInclusion } from "../../engine/merkle/dense-proofs.js";
import type { ConsistencyProof, DenseTree, InclusionProof } from "../../engine/merkle/dense-proofs.js";
import type { NoteTreeNode, NoteTreeState } from "../../engine/merkle/note-tree.js";
import { proveKey, type SparseProof } from "../../engine/merkle/sparse-tree.js";
import { EMPTY_NODE, isElement, type TreeHasher } from "../../engine/merkle/tree-hasher.js";
import type { ProveNotesMessage, ProveNotesValue } from "../../engine/protocol.js";
import { SparseNodes } from "./sparse-nodes.js";
import type { ProofStores } from "./proof-stores.js";
import { EMPTY_SPARSE_ROOT, keyIn, stateOf, type ProofStore, type StoreReference } from "./store-records.js";

interface StoreProofsDependencies {
  readonly store: Store;
  readonly stores: ProofStores;
  /** Hashes outside of the event loop. */
  readonly proveNotes: (message: ProveNotesMessage, owner: Subject) => Promise<ProveNotesValue>;
}

/** Which of its past trees a nullifier store is asked about; the present one without either. */
export interface PastTree {
  readonly root?: string | undefined;
  readonly size?: number | undefined;
}

/** Stands in for hashes while the nodes that a proof reads are collected. */
const NO_HASHES: TreeHasher = {
  pairs: (lefts) => lefts.map(() => EMPTY_NODE),
  leaves: (keys) => keys.map(() => EMPTY_NODE),
};

export class StoreProofs {
  readonly #with: StoreProofsDependencies;

  constructor(dependencies: StoreProofsDependencies) {
    this.#with = dependencies;
  }

  /**
   * Proves that a note is in the tree, as it is or was at a size.
   * @throws AppError `not_found` for a store or a note that is not there, `invalid_request` for a size that the tree
   *   never had, or had before the note
   */
  async note(reference: StoreReference, index: number, size?: number): Promise<InclusionProof> {
    const { tree, curve } = this.#notes(reference);
    if (index >= tree.size) throw notFound("note");
    const at = requireSize("size", size ?? tree.size, tree);
    if (index >= at) throw invalidMember("size", `size: the note came later, with the size ${String(index + 1)}`);
    const query = { kind: "inclusion", index, size: at } as const;
    const dense = { depth: tree.depth, curve };
    const made = await this.#prove(reference, dense, query, (read) => proveInclusion(read, query, NO_HASHES));
    assert(made.kind === "inclusion", "the proof is what was asked for");
    return made.proof;
  }

  /**
   * Proves that the tree of one size is the beginning of that of another.
   * @param to the present size unless given
   * @throws AppError `not_found`, `invalid_request` for sizes that the tree never had or in the wrong order
   */
  async consistency(reference: StoreReference, from: number, to?: number): Promise<ConsistencyProof> {
    const { tree, curve } = this.#notes(reference);
    const toSize = requireSize("to", to ?? tree.size, tree);
    if (from > toSize) throw invalidMember("from", "from: the earlier size is larger than the later one");
    const query = { kind: "consistency", fromSize: from, toSize } as const;
    const dense = { depth: tree.depth, curve };
    const made = await this.#prove(reference, dense, query, (read) => proveConsistency(read, query, NO_HASHES));
    assert(made.kind === "consistency", "the proof is what was asked for");
    return made.proof;
  }

  /**
   * Proves that a key was spent, or that it was not, as of now or of a root of the past.
   * @param key 64 hex digits
   * @throws AppError `not_found` for a store or a past root that is not there, `invalid_request` for a key that is no
   *   field element
   */
  nullifier(
    reference: StoreReference,
    key: string,
    past: PastTree = {},
  ): { readonly proof: SparseProof; readonly size: number } {
    const record = this.#require(reference, "nullifiers");
    requireKey(key, record);
    const { root, size } = this.#treeAt(reference, record, past);
    return {
      proof: proveKey(new SparseNodes(this.#with.store, reference).read, { root, key, curve: record.curve }),
      size,
    };
  }

  /** Finds the tree that is asked about. */
  #treeAt(
    reference: StoreReference,
    record: ProofStore,
    { root, size }: PastTree,
  ): { readonly root: string; readonly size: number } {
    const now = stateOf(record);
    if (root === undefined && size === undefined) return now;
    if (root !== undefined && size !== undefined) throw invalidMember("root", "give root or size, not both");
    const { stores } = this.#with;
    if (size === 0 || root === EMPTY_SPARSE_ROOT) return { root: EMPTY_SPARSE_ROOT, size: 0 };
    if (size !== undefined) {
      const found = stores.rootAt(reference, size);
      if (found !== undefined) return { root: found.root, size };
    } else if (root !== undefined) {
      const found = stores.sizeAt(reference, root);
      if (found !== undefined) return { root, size: found };
    }
    throw new AppError("not_found", {
      message: "the store has no such root after one of its commits; /roots lists those that it had",
    });
  }

  /** Collects the nodes that a proof reads, and makes it in the pool. */
  async #prove(
    reference: StoreReference,
    { depth, curve }: Pick<DenseTree, "depth" | "curve">,
    query: ProveNotesMessage["query"],
    run: (tree: DenseTree) => unknown,
  ): Promise<ProveNotesValue> {
    const nodes: NoteTreeNode[] = [];
    const read = (level: number, index: number): string | undefined => {
      const hash = this.#node(reference, level, index);
      if (hash !== undefined) nodes.push({ level, index, hash });
      return hash;
    };
    run({ depth, curve, read });
    return await this.#with.proveNotes({ curve, depth, nodes, query }, reference.owner);
  }

  #node(reference: StoreReference, level: number, index: number): string | undefined {
    if (level === 0) return this.#with.stores.readNote(reference.owner, reference.id, index)?.leaf;
    return this.#with.store.get<string>(keyIn("note_node", reference, level, index))?.value;
  }

  #notes(reference: StoreReference): { readonly tree: NoteTreeState; readonly curve: ProofStore["curve"] } {
    const { tree, curve } = this.#require(reference, "notes");
    assert(tree !== undefined, "a store of notes has a tree");
    return { tree, curve };
  }

  #require(reference: StoreReference, kind: ProofStore["kind"]): ProofStore {
    const record = this.#with.stores.find(reference)?.value;
    if (record === undefined) throw notFound("store");
    if (record.kind !== kind) throw new AppError("not_found", { message: `this is a store of ${record.kind}` });
    return record;
  }
}

/**
 * Requires a key that the tree of a store can have.
 * @throws AppError `invalid_request`
 */
export function requireKey(key: string, { curve }: Pick<ProofStore, "curve">): void {
  if (!isElement(key, curve))
    throw invalidMember("key", `key: 64 hex digits, below the order of ${curve}'s scalar field`);
}

function requireSize(member: string, size: number, tree: NoteTreeState): number {
  if (size > tree.size) throw invalidMember(member, `${member}: the store has ${String(tree.size)} notes`);
  return size;
}
