/**
 * Removes the proof records of deleted provers: few of them in the commit that deletes the prover, many in pieces
 * behind it, so that a prover of millions of proofs holds nobody up. Without the prover no route finds them.
 */
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import type { Store, StoreCommit, StoreKey } from "../../platform/store/store.js";
import { PagedRemovals, type PagedRemovalsDependencies, type RemovalReference } from "../paged-removals.js";

/** With their indexes some 500 records in the commit that deletes the prover. */
const DELETED_AT_ONCE_MAX = 256;
const MARKS = "proof_removal";
/** The records and their index; see `ProverRepository`. */
const TABLES = ["proof", "proof#prover"] as const;

export class ProofRemovals extends PagedRemovals<(typeof TABLES)[number]> {
  readonly #store: Pick<Store, "range">;

  constructor(dependencies: PagedRemovalsDependencies) {
    super(
      {
        kind: "remove_proofs",
        marks: MARKS,
        markOf: ({ owner, id }) => [MARKS, ...ownerKey(owner), id],
        tables: TABLES,
        prefixOf,
      },
      dependencies,
    );
    this.#store = dependencies.store;
  }

  /**
   * Prepares the deletion of what the owner of a prover has proved with it, for the commit that deletes the prover.
   * Call `wake` after it.
   */
  prepareDeletion(owner: Subject, id: string): StoreCommit {
    const found = this.#store.range(prefixOf("proof", { owner, id }), { limit: DELETED_AT_ONCE_MAX + 1 });
    return found.length > DELETED_AT_ONCE_MAX
      ? this.prepare({ owner, id })
      : { deletePrefixes: TABLES.map((table) => prefixOf(table, { owner, id })) };
  }
}

function prefixOf(table: string, { owner, id }: RemovalReference): StoreKey {
  return [table, ...ownerKey(owner), id];
}
