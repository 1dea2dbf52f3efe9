/**
 * The records of verifiers on chain. Keys begin with the owner and the prover. Builds commits, which the callers merge.
 */
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import type { Store, StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { defineTable, mergeCommits, type Listing, type Page, type Table } from "../../platform/store/tables.js";
import type { KnownAnswer, Verifier, VerifierPlan, VerifierStatus } from "./verifier-schemas.js";

/** The key that pays: an account's, or one of a wallet. */
export type VerifierSigner = Pick<VerifierPlan, "account_id" | "wallet_id" | "hd_derivation_path">;

/** What the compiler says of the code that must be on the chain. */
export type ExpectedCode = {
  /** Keccak-256 with zeros in the places of immutables, 0x-hex. */
  readonly hash: string;
  /** In bytes. */
  readonly length: number;
  readonly immutables: readonly { readonly start: number; readonly length: number }[];
};

/** A type and not an interface, like everything that is stored as a value. */
export type StoredVerifier = Omit<Verifier, "account_id" | "wallet_id" | "known_answer"> & {
  readonly owner: Subject;
  /** The prover's. */
  readonly scheme: string;
  readonly signer: VerifierSigner;
  readonly known_answer: KnownAnswer | null;
  readonly expected: ExpectedCode | null;
  /** Public signals that `verifyProof` takes; 0 until it is compiled. */
  readonly signal_count: number;
  /** Set while the prover waits for it. */
  readonly is_planned?: true;
  /** What it was before it is checked again; it can be asked meanwhile. */
  readonly usable_as?: "ready" | "unproven";
};

/** Names a verifier; the input of its job. */
export type VerifierKey = Pick<StoredVerifier, "owner" | "prover_id" | "id">;

/** A verifier as it was asked for and found possible; stored with a prover that waits for it. */
export type StoredPlan = {
  readonly network_id: string;
  readonly signer: VerifierSigner;
  readonly confirmations: number;
  readonly registry_contract_id: string | null;
};

const TABLE = "prover_verifier";
/** Statuses in which a job works on it. */
const OPEN: ReadonlySet<VerifierStatus> = new Set(["queued", "deploying", "checking", "registering"]);

/** Returns whether a job works on a verifier of the status. */
export function isOpen(status: VerifierStatus): boolean {
  return OPEN.has(status);
}

/** Returns whether a verifier can be asked: its checks went well, also where they are being repeated. */
export function isUsable({ status, usable_as: usable }: Pick<StoredVerifier, "status" | "usable_as">): boolean {
  return usable !== undefined || status === "ready" || status === "unproven";
}

export class VerifierRecords {
  readonly #table: Table<StoredVerifier, "prover" | "open", never>;

  constructor(dependencies: { readonly store: Pick<Store, "get" | "range" | "count"> }) {
    this.#table = defineTable<StoredVerifier, "prover" | "open">(
      {
        name: TABLE,
        key: ({ owner, prover_id, id }) => [...ownerKey(owner), prover_id, id],
        indexes: {
          prover: ({ owner, prover_id }) => [...ownerKey(owner), prover_id],
          open: ({ owner, status }) => (isOpen(status) ? ownerKey(owner) : undefined),
        },
      },
      dependencies,
    );
  }

  /** Finds a verifier of an owner's prover. */
  find(owner: Subject, proverId: string, id: string): StoreRecord<StoredVerifier> | undefined {
    return this.#table.get([...ownerKey(owner), proverId, id]);
  }

  /** Returns the verifiers of a prover, oldest first; all of them without a page. */
  ofProver(owner: Subject, proverId: string, page?: Page): Listing<StoredVerifier> {
    return this.#table.list("prover", [...ownerKey(owner), proverId], page === undefined ? {} : { page });
  }

  /** Counts the verifiers of an owner on which jobs work. */
  countOpen(owner: Subject): number {
    return this.#table.count("open", ownerKey(owner));
  }

  /** Prepares a new verifier. */
  insertion(verifier: StoredVerifier): StoreCommit {
    return this.#table.insertCommit(verifier);
  }

  /** Prepares a change; it conflicts when the record has changed since it was read. */
  update(current: StoreRecord<StoredVerifier>, next: StoredVerifier): StoreCommit {
    return this.#table.updateCommit(current, next);
  }

  /** Prepares a deletion; it conflicts when the record has changed since it was read. */
  deletion(current: StoreRecord<StoredVerifier>): StoreCommit {
    return this.#table.deleteCommit(current);
  }

  /** Prepares the deletion of all verifiers of a prover. */
  deletionOfProver(owner: Subject, proverId: string): StoreCommit {
    const records = this.#table.records("prover", [...ownerKey(owner), proverId]);
    return mergeCommits(...records.map((record) => this.deletion(record)));
  }
}

/** Returns a verifier as clients see it. */
export function verifierOnWire(stored: StoredVerifier): Verifier {
  const {
    owner: _owner,
    scheme: _scheme,
    signer,
    expected: _expected,
    signal_count: _count,
    is_planned: _planned,
    usable_as: _usable,
    ...verifier
  } = stored;
  return { ...verifier, account_id: signer.account_id ?? null, wallet_id: signer.wallet_id ?? null };
}
