/**
 * Removes the proof records of a subject for one prover, which it has deleted, or left if it is another's: few of them
 * in the commit of the deletion, many in pieces behind it, so that millions of proofs hold nobody up. Without the
 * prover, or the subject's place for it, no route finds them.
 */
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import type { Store, StoreCheck, StoreCommit, StoreKey } from "../../platform/store/store.js";
import { PagedRemovals, type PagedRemovalsDependencies, type RemovalReference } from "../paged-removals.js";

/** With their indexes some 500 records in the commit of the deletion. */
const DELETED_AT_ONCE_MAX = 256;
const MARKS = "proof_removal";
/** The records and their index; see `ProverRepository`. */
const TABLES = ["proof", "proof#prover"] as const;

export class ProofRemovals extends PagedRemovals<(typeof TABLES)[number]> {
  readonly #store: Pick<Store, "get" | "range">;

  constructor(dependencies: PagedRemovalsDependencies & { readonly store: Pick<Store, "get"> }) {
    super(
      {
        kind: "remove_proofs",
        marks: MARKS,
        markOf,
        tables: TABLES,
        prefixOf,
      },
      dependencies,
    );
    this.#store = dependencies.store;
  }

  /** Returns whether proofs that were given up are still to be removed. */
  isPending(reference: RemovalReference): boolean {
    return this.#store.get(markOf(reference)) !== undefined;
  }

  /** Returns the check of a commit that needs all proofs that were given up to be gone. */
  notPending(reference: RemovalReference): StoreCheck {
    return { key: markOf(reference), version: "absent" };
  }

  /**
   * Prepares the deletion of what a subject has proved with a prover, for the commit that deletes the prover or the
   * subject's place. Call `wake` after it.
   * @param owner of the proofs
   * @param id of the prover
   */
  prepareDeletion(owner: Subject, id: string): StoreCommit {
    const found = this.#store.range(prefixOf("proof", { owner, id }), { limit: DELETED_AT_ONCE_MAX + 1 });
    return found.length > DELETED_AT_ONCE_MAX
      ? this.prepare({ owner, id })
      : { deletePrefixes: TABLES.map((table) => prefixOf(table, { owner, id })) };
  }
}

function markOf({ owner, id }: RemovalReference): StoreKey {
  return [MARKS, ...ownerKey(owner), id];
}

function prefixOf(table: string, { owner, id }: RemovalReference): StoreKey {
  return [table, ...ownerKey(owner), id];
}
