/** What contracts ask of transactions: to bring one to the chain, whatever it takes. Implemented by transactions.ts. */
import type { Subject } from "../../platform/auth/principal.js";
import type { StoreCommit } from "../../platform/store/store.js";

/** Who signs: an account of the caller, by id or address, or a path of one of the caller's wallets. */
export type SignerChoice =
  | { readonly accountId: string }
  | { readonly accountAddress: string }
  | { readonly walletId: string; readonly path: string };

export interface SubmissionRequest {
  readonly networkId: string;
  readonly signer: SignerChoice;
  /** 0x address; absent for the creation of a contract. */
  readonly to?: string;
  /** 0x-hex call data or init code. */
  readonly data?: string;
  /** Wei. */
  readonly value?: bigint;
  readonly gas?: bigint;
  /** Wei; `gasPrice` asks for a type 0 transaction. */
  readonly gasPrice?: bigint;
  readonly maxFeePerGas?: bigint;
  readonly maxPriorityFeePerGas?: bigint;
  /** Only for callers that know better; the nonce manager reserves one otherwise. */
  readonly nonce?: number;
  /** The caller's own name for it, unique for its owner; a UUID is made when absent. */
  readonly ref?: string;
  readonly description?: string;
  /** The contract that this one creates or calls, for the watcher's listeners. */
  readonly contractId?: string;
}

/** A transaction's record was made, durable; its id and ref name it from then on. */
export interface Submitted {
  readonly id: string;
  readonly ref: string;
}

/** A transaction came to its end or was included; told at least once, also after a restart. */
export interface Settlement {
  readonly owner: Subject;
  readonly transactionId: string;
  readonly networkId: string;
  readonly contractId: string | undefined;
  readonly outcome: "success" | "failed";
  /** 0x address of the created contract, from the receipt. */
  readonly contractAddress: string | undefined;
  readonly blockNumber: number | undefined;
  /** Why it failed, fit for the user. */
  readonly reason: string | undefined;
}

export interface Submissions {
  /**
   * Checks the request (signer, fees, an estimate of gas, so that a revert is told at once with its reason), then
   * stores it with `alongside` in one commit. Broadcast follows by itself and survives a restart.
   */
  submit(
    owner: Subject,
    request: SubmissionRequest,
    alongside?: (submitted: Submitted) => StoreCommit,
  ): Promise<Submitted>;
  /** What must happen in the same commit as a settlement: the listener returns the commit's part. */
  onSettled(listener: (settlement: Settlement) => StoreCommit | Promise<StoreCommit>): void;
}
