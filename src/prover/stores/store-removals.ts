/** Removes what large deleted stores have left, in pieces. */
import { PagedRemovals, type PagedRemovalsDependencies } from "../paged-removals.js";
import { PARTS_OF_STORE, keyIn } from "./store-records.js";

export class StoreRemovals extends PagedRemovals<(typeof PARTS_OF_STORE)[number]> {
  constructor(dependencies: PagedRemovalsDependencies) {
    super(
      {
        kind: "remove_store",
        marks: "proof_store_removal",
        markOf: (reference) => keyIn("proof_store_removal", reference),
        tables: PARTS_OF_STORE,
        prefixOf: (table, reference) => keyIn(table, reference),
      },
      dependencies,
    );
  }
}
