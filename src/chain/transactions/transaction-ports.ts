/** What transactions ask of networks: the chain's number, its node and the policy for fees and confirmations. */
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
  /** Throws `not_found` when the network is not there for the subject, and what else keeps it from being used. */
  find(owner: Subject, networkId: string): TransactionNetwork;
}
