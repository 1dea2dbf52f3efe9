/** What `Proofs` tells of a decision, and whom: the port of receipts and of further verifiers. */
import type { ReadyProver } from "../providers/provider.js";
import type { StoredProver } from "../repository.js";
import type { Checker } from "../receipts/receipt-schemas.js";
import type { Admission } from "../sharing/prover-access.js";

/** A proof that was made or verified, and by what. */
export interface Decision {
  readonly action: "prove" | "verify";
  readonly result: boolean;
  readonly admission: Pick<Admission, "prover" | "isOwner">;
  readonly ready: ReadyProver;
  /** The binary form, lower-case hex. */
  readonly proof: string;
  /** Decimal, outputs first. */
  readonly publicSignals: readonly string[];
  readonly verifyingKeySha256: string;
  readonly provingKeySha256?: string;
  /** Keys that were spent with the proof, once they are on disk. */
  readonly spent?: readonly SpentWithProof[];
  /** Present where a contract was asked. */
  readonly contract?: AgreeingContract;
}

/** A verifier contract that was asked about the proof, and said the same. */
export interface AgreeingContract {
  readonly network_id: string;
  /** EIP-155. */
  readonly chain_id: number;
  /** 0x address, checksummed. */
  readonly address: string;
  /** Keccak-256, 0x-hex. */
  readonly code_hash: string;
}

/** A key in a nullifier store, which had this root when it had `size` keys. */
export interface SpentWithProof {
  /** 64 lower-case hex digits. */
  readonly key: string;
  readonly index: number;
  readonly size: number;
  readonly root: string;
}

/** Where the note of a proof is: the root is that of the store when it had `size` notes, this one among them. */
export interface NotePlace {
  readonly store_id: string;
  readonly index: number;
  readonly root: string;
  readonly size: number;
}

/** What a request wants beside the decision, in the order of the calls. */
export interface Attestation {
  /**
   * Called before anything is computed, so that what cannot be attested is not begun.
   * @throws AppError what the request or the state of the keys is refused for
   */
  begin(prover: StoredProver, options: { readonly isBatch: boolean }): Promise<void>;
  /**
   * Called before anything is stored.
   * @throws AppError `assurance_disagreement` when another verifier says something else
   */
  confirm(decision: Decision): Promise<void>;
  /** Returns what the answer tells of `confirm`; called before anything is stored. */
  confirmed(): { readonly checked_by?: Checker[] };
  /**
   * Called after everything is on disk, of a batch for each slice in order; undefined stands for an item that was not
   * decided. Never throws an AppError when something is kept: what is done stays done, and its answer says instead why
   * it has no receipt.
   */
  sign(
    decisions: readonly (Decision | undefined)[],
    kept: {
      /** Whether the request has stored or spent anything. */
      readonly isAnything: boolean;
      readonly note?: NotePlace | undefined;
    },
  ): Promise<void>;
}
