/**
 * The records of grants. Their keys begin with the one who may and not with the owner, so that the look-up of a request
 * is one read by its caller, which finds nothing of provers that are not shared with it.
 */
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../../platform/store/store.js";
import { defineTable, mergeCommits, type Listing, type Page, type Table } from "../../platform/store/tables.js";
import type { RIGHTS } from "./sharing-schemas.js";

export type Right = (typeof RIGHTS)[number];
/** Who may: a subject, or every token of this server. */
export type Grantee = Subject | "anyone";

export type StoredGrant = {
  readonly id: string;
  readonly created_at: string;
  readonly owner: Subject;
  readonly prover_id: string;
  readonly grantee: Grantee;
  readonly may: Right;
};

export class GrantRecords {
  readonly #grants: Table<StoredGrant, "prover" | "grantee", never>;

  constructor(dependencies: { readonly store: Pick<Store, "get" | "range" | "count"> }) {
    this.#grants = defineTable<StoredGrant, "prover" | "grantee">(
      {
        name: "prover_grant",
        key: ({ grantee, prover_id }) => [...granteeKey(grantee), prover_id],
        indexes: {
          prover: ({ owner, prover_id }) => [...ownerKey(owner), prover_id],
          grantee: ({ grantee }) => granteeKey(grantee),
        },
      },
      dependencies,
    );
  }

  /** Finds the grant of a prover to a grantee. */
  find(grantee: Grantee, proverId: string): StoreRecord<StoredGrant> | undefined {
    return this.#grants.get([...granteeKey(grantee), proverId]);
  }

  /** Returns all grants of a prover. */
  ofProver(owner: Subject, proverId: string): StoreRecord<StoredGrant>[] {
    return this.#grants.records("prover", [...ownerKey(owner), proverId]);
  }

  /** Lists one page of the grants of a prover, oldest first. */
  listOfProver(owner: Subject, proverId: string, page: Page): Listing<StoredGrant> {
    return this.#grants.list("prover", [...ownerKey(owner), proverId], { page });
  }

  /** Lists one page of the grants to a subject, oldest first. */
  listOfGrantee(grantee: Subject, page: Page): Listing<StoredGrant> {
    return this.#grants.list("grantee", granteeKey(grantee), { page });
  }

  /** Returns the provers with a grant to a subject itself. */
  proversOf(grantee: Subject): string[] {
    return this.#grants.records("grantee", granteeKey(grantee)).map(({ value }) => value.prover_id);
  }

  /** Prepares a new grant, or the change of one. */
  put(current: StoreRecord<StoredGrant> | undefined, next: StoredGrant): StoreCommit {
    return current === undefined ? this.#grants.insertCommit(next) : this.#grants.updateCommit(current, next);
  }

  /** Prepares the deletion of a grant. */
  deletion(grant: StoreRecord<StoredGrant>): StoreCommit {
    return this.#grants.deleteCommit(grant);
  }

  /** Prepares the deletion of all grants of a prover. */
  deletionOfProver(owner: Subject, proverId: string): StoreCommit {
    return mergeCommits(...this.ofProver(owner, proverId).map((grant) => this.deletion(grant)));
  }
}

function granteeKey(grantee: Grantee): StoreKey {
  return grantee === "anyone" ? [grantee, ""] : ownerKey(grantee);
}
