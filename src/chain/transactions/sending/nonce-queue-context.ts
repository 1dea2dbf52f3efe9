/** What all lanes share. */
import type { Log } from "../../../platform/log.js";
import type { RpcOptions } from "../../rpc/rpc.js";
import type { QueuedTransaction } from "./queued-transaction.js";
import type { FeePolicy } from "../fees/fees.js";
import type { TransactionWriter } from "../transaction-writer.js";
import type { TransactionNetworks } from "../transaction-ports.js";
import type { TransactionSigning } from "../transaction-signing.js";

export interface NonceQueueContext {
  readonly ledger: TransactionWriter;
  readonly fees: FeePolicy;
  readonly signing: TransactionSigning;
  readonly networks: TransactionNetworks;
  readonly log: Log;
  /** Ends requests when the server stops. */
  readonly rpcOptions: RpcOptions;
  /** How long a node that says something unlikely is not believed: that it forgot, that a nonce is missing. */
  readonly patienceMs: number;
  /** How long a pool is trusted to keep a transaction before it is asked. */
  readonly resendMs: number;
  /** Monotonic. */
  readonly nowMs: () => number;
  readonly isStopped: () => boolean;
  /** Follows a signed transaction until it is final. */
  readonly watch: (entry: QueuedTransaction) => void;
  readonly unwatch: (entry: QueuedTransaction) => void;
  /** Lets go of a transaction that came to its end. */
  readonly forget: (entry: QueuedTransaction) => void;
  /** Sends an empty transaction with a nonce that nobody has and others wait for. */
  readonly fillGap: (template: QueuedTransaction, nonce: number) => Promise<void>;
}
