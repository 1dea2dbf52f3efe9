/** How contracts send transactions: the port that `TransactionService` implements. */
import type { Subject } from "../../platform/auth/principal.js";
import type { StoreCommit } from "../../platform/store/store.js";
import type { ContractAbi } from "../contracts/abi/abi.js";
import type { SimulatedReturn } from "./transaction-record.js";

/** The signer: an account of the caller, by id or address, or a path of one of the caller's wallets. */
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
  /** Only for callers that manage nonces themselves; the account's queue gives one otherwise. */
  readonly nonce?: number;
  /** The caller's own name for it, unique for its owner; a UUID is made when absent. */
  readonly ref?: string;
  readonly description?: string;
  /** The contract that the transaction creates or calls, for listeners of settlements. */
  readonly contractId?: string;
  /**
   * Reads the return data (0x-hex) of the call, which is then simulated at submission; undefined for data that it
   * cannot read. The record shows what it gives.
   */
  readonly readReturn?: (data: string) => SimulatedReturn | undefined;
}

/** A stored transaction: its id and its ref name it from then on. */
export interface Submitted {
  readonly id: string;
  readonly ref: string;
}

/** The outcome of a transaction: it was included in a block, or ended without. Reported at least once. */
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

/** The ABIs of an owner's contracts, by which logs and reverts are read. */
export interface KnownAbis {
  /** Returns the ABI of a contract; empty when it has none. */
  of(contract: { readonly owner: Subject; readonly id: string }): ContractAbi;
  /** Returns the owner's newest contract at an address of a network; undefined when there is none. */
  at(
    owner: Subject,
    networkId: string,
    address: string,
  ): { readonly contractId: string; readonly abi: ContractAbi } | undefined;
}

export interface Submissions {
  /**
   * Checks the request (signer, fees, an estimate of gas, so that a revert is refused at once with its reason), then
   * stores it with `alongside` in one commit. The broadcast follows by itself, also after a restart.
   */
  submit(
    owner: Subject,
    request: SubmissionRequest,
    alongside?: (submitted: Submitted) => StoreCommit,
  ): Promise<Submitted>;
  /** Adds a listener, which returns what must be written in the same commit as a settlement. */
  onSettled(listener: (settlement: Settlement) => StoreCommit | Promise<StoreCommit>): void;
  /** Gives the ABIs by which records are read; without them logs and reverts are not decoded. */
  provideAbis(abis: KnownAbis): void;
}
