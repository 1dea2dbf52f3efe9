/** What the nonce queues of all accounts share. */
import type { Log } from "../../../platform/log.js";
import type { RpcOptions } from "../../rpc/rpc.js";
import type { FeePolicy } from "../fees/fees.js";
import type { TransactionNetworks } from "../transaction-ports.js";
import type { TransactionSigning } from "../transaction-signing.js";
import type { TransactionWriter } from "../transaction-writer.js";
import type { QueuedTransaction } from "./queued-transaction.js";

export interface NonceQueueContext {
  readonly writer: TransactionWriter;
  readonly fees: FeePolicy;
  readonly signing: TransactionSigning;
  readonly networks: TransactionNetworks;
  readonly log: Log;
  /** Ends requests when the server stops. */
  readonly rpcOptions: RpcOptions;
  /** How long an unlikely answer of a node is not believed: that it forgot, that a nonce is missing. */
  readonly patienceMs: number;
  /** How long a pool is trusted to keep a transaction before it is asked. */
  readonly resendMs: number;
  /** Monotonic. */
  readonly nowMs: () => number;
  readonly isStopped: () => boolean;
  /** Follows a signed transaction until it is final. */
  readonly watch: (queued: QueuedTransaction) => void;
  readonly unwatch: (queued: QueuedTransaction) => void;
  /** Drops a transaction that has ended. */
  readonly forget: (queued: QueuedTransaction) => void;
  /** Takes up the transaction that has a nonce in the store and that no queue has; false when there is none. */
  readonly takeUpHolder: (account: QueuedTransaction, nonce: number) => boolean;
  /** Takes up a dropped transaction whose signature is in the store although its commit failed. */
  readonly takeUpSigned: (queued: QueuedTransaction) => void;
  /** Sends an empty transaction with a nonce that no open transaction holds and later nonces wait for. */
  readonly fillGap: (template: QueuedTransaction, nonce: number) => Promise<void>;
}
