/** What transactions need of networks: the chain's number, its node and the policy for fees and confirmations. */
import type { Subject } from "../../platform/auth/principal.js";
import type { Rpc } from "../rpc/rpc.js";

export interface TransactionNetwork {
  readonly id: string;
  /** EIP-155. */
  readonly chainId: number;
  readonly rpc: Rpc;
  /** Blocks, its own included, after which a transaction is final and no longer watched. */
  readonly confirmations: number;
  /** Wei; nothing is ever signed above them. */
  readonly maxFeePerGas?: bigint;
  readonly maxPriorityFeePerGas?: bigint;
}

export interface TransactionNetworks {
  /** Returns a network of the subject or a public one. Throws `not_found`. */
  find(owner: Subject, networkId: string): TransactionNetwork;
}
