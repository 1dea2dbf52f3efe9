/**
 * What the queues know of transactions and accounts, on any node. A server alone answers from memory; several nodes
 * answer what is stored, so that all of them say the same:
 *
 *   ["chain_head", network]              -> number of the newest block of a network with open transactions
 *   ["chain_send_fault", transaction]    -> TransactionFault, why it cannot be signed or sent at present
 */
import type { Nodes } from "../../../platform/nodes/nodes.js";
import type { Store, StoreKey } from "../../../platform/store/store.js";
import type { NonceQueues } from "../sending/nonce-queues.js";
import type { QueueState } from "../sending/queued-transaction.js";
import type { TransactionFault, TransactionRecord } from "../transaction-record.js";
import type { NonceAccount, TransactionRepository } from "../transaction-repository.js";

export const HEAD_TABLE = "chain_head";
export const FAULT_TABLE = "chain_send_fault";

export interface SharedProgressDependencies {
  readonly store: Store;
  readonly nodes: Pick<Nodes, "count">;
  readonly repository: TransactionRepository;
  readonly queues: NonceQueues;
}

/** The open transactions of an account. */
export interface AccountRoom {
  /** How many wait for their nonce; on a node that does not send, all that are open. */
  readonly waiting: number;
  /** How many are open, those that wait included. */
  readonly open: number;
  readonly holds: (nonce: number) => boolean;
}

export class SharedProgress {
  readonly #dependencies: SharedProgressDependencies;

  constructor(dependencies: SharedProgressDependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns what the record does not say of an open transaction: when a node took it, why none takes it now. */
  of(record: TransactionRecord): Partial<Pick<QueueState, "broadcastAt" | "sendFault">> | undefined {
    const { store, queues } = this.#dependencies;
    if (this.#isAlone) return queues.progressOf(record);
    return { sendFault: store.get<TransactionFault>(faultKey(record.id))?.value };
  }

  /** Returns the number of the newest block of a network that was seen; undefined when none was. */
  headOf(networkId: string): number | undefined {
    const { store, queues } = this.#dependencies;
    return this.#isAlone ? queues.headOf(networkId) : store.get<number>(headKey(networkId))?.value;
  }

  /** Returns what an account has open. */
  roomOf(account: NonceAccount): AccountRoom {
    const { repository, queues } = this.#dependencies;
    if (!queues.isStarted) {
      const open = repository.openCount(account);
      return { waiting: open, open, holds: (nonce) => repository.holderOfNonce(account, nonce) !== undefined };
    }
    const queue = queues.queueFor(account);
    return {
      waiting: queue.waiting,
      open: queue.waiting + queue.entries().length,
      holds: (nonce) => queue.holds(nonce),
    };
  }

  get #isAlone(): boolean {
    const { nodes, queues } = this.#dependencies;
    return queues.isStarted && nodes.count === 1;
  }
}

/** Returns the key of a network's newest block. */
export function headKey(networkId: string): StoreKey {
  return [HEAD_TABLE, networkId];
}

/** Returns the key of what keeps a transaction from being sent. */
export function faultKey(transactionId: string): StoreKey {
  return [FAULT_TABLE, transactionId];
}
