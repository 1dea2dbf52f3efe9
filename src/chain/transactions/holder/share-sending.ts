/** Puts together what lets one of several nodes send for all: what others ask of it, and what it tells them. */
import type { Log } from "../../../platform/log.js";
import type { Nodes } from "../../../platform/nodes/nodes.js";
import type { Store } from "../../../platform/store/store.js";
import type { NonceQueues } from "../sending/nonce-queues.js";
import type { Replacements } from "../sending/replacements.js";
import type { SelfSigned } from "../self-signed.js";
import { TRANSACTION_TABLE, type TransactionRepository } from "../transaction-repository.js";
import type { TransactionService } from "../transaction-service.js";
import { AskedWishes } from "./asked-wishes.js";
import { CarriedOutWishes } from "./carried-out-wishes.js";
import { ProgressNotes } from "./progress-notes.js";
import { SendingRequests } from "./sending-requests.js";

export interface SharedSendingDependencies {
  readonly store: Store;
  readonly nodes: Nodes;
  readonly repository: TransactionRepository;
  readonly queues: NonceQueues;
  readonly service: TransactionService;
  readonly replacements: Replacements;
  readonly selfSigned: SelfSigned;
  readonly log: Log;
}

export interface SharedSending {
  /** For callers, on any node. */
  readonly requests: SendingRequests;
  /** Makes this node the one that sends, unless it was stopped: the duty can come to a node that is about to leave. */
  begin(): void;
  /** Leaves the sending to another node; resolves when nothing is under way. `begin` may follow. */
  end(): Promise<void>;
  /** As `end`, for good. */
  stop(): Promise<void>;
}

/** Begins to listen to the other nodes. Nothing is sent before `begin`. */
export function shareSending(dependencies: SharedSendingDependencies): SharedSending {
  const { store, nodes, repository, queues, log } = dependencies;
  nodes.onChange(TRANSACTION_TABLE, (keys) => {
    queues.takeUp(keys);
  });
  const wishes = new AskedWishes({}, { store, nodes, log });
  const requests = new SendingRequests({ ...dependencies, wishes });
  const carriedOut = new CarriedOutWishes({
    ...{ store, nodes, log },
    carryOut: async (...wish) => {
      await requests.carryOut(...wish);
    },
    hasTransaction: (owner, id) => repository.find(owner, id) !== undefined,
    onSettled: (id) => {
      wishes.notice(id);
    },
  });
  const notes = new ProgressNotes({ store, nodes, queues, log });
  let isStopped = false;
  const end = async (): Promise<void> => {
    await Promise.all([queues.stop(), carriedOut.stop(), requests.settled(), notes.stop()]);
  };
  return {
    requests,
    begin: () => {
      if (isStopped) return;
      queues.start();
      carriedOut.begin();
      notes.begin();
    },
    end,
    stop: async () => {
      isStopped = true;
      await end();
    },
  };
}
