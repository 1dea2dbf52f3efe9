/** Puts accounts, wallets and transactions together. */
import type { Clock } from "../../platform/clock.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { RequireTenant } from "../../platform/auth/said-owner.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import type { Events } from "../../platform/events/events.js";
import type { Log } from "../../platform/log.js";
import type { Nodes } from "../../platform/nodes/nodes.js";
import { soloNodes } from "../../platform/nodes/solo-nodes.js";
import type { Store } from "../../platform/store/store.js";
import type { VaultService } from "../../vault/service.js";
import { Accounts } from "../accounts/accounts.js";
import { ChainKeyVault } from "../accounts/key-vault.js";
import { transactionHandlers } from "./transaction-handlers.js";
import type { HeadListeners } from "../head-listeners.js";
import type { transactionRoutes } from "./transaction-routes.js";
import { FeePolicy } from "./fees/fees.js";
import { GasEstimates } from "./fees/gas.js";
import { NonceQueues } from "./sending/nonce-queues.js";
import { TransactionWriter } from "./transaction-writer.js";
import type { TransactionNetworks } from "./transaction-ports.js";
import { Replacements } from "./sending/replacements.js";
import { TransactionRepository } from "./transaction-repository.js";
import { SelfSigned } from "./self-signed.js";
import { TransactionService } from "./transaction-service.js";
import type { SendingRequests } from "./holder/sending-requests.js";
import { shareSending } from "./holder/share-sending.js";
import { SharedProgress } from "./holder/shared-progress.js";
import { TransactionSigning } from "./transaction-signing.js";
import { Wallets } from "../accounts/wallets.js";

export interface TransactionsOptions {
  /** Pause between two rounds of questions about a network that has open transactions. 500 ms unless given. */
  readonly pollMs?: number;
  /**
   * How long an unlikely answer of a node is not believed: that it forgot, that a nonce is missing. 3 s unless given.
   */
  readonly patienceMs?: number;
  /**
   * How long a pool is trusted to keep a transaction before it is asked, the first time; twice as long each further
   * time. 1 s unless given.
   */
  readonly resendMs?: number;
}

export interface TransactionsDependencies {
  readonly store: Store;
  /** The nodes that share the store; this one alone unless given. */
  readonly nodes?: Nodes;
  readonly vault: VaultService;
  readonly networks: TransactionNetworks;
  readonly requireTenant: RequireTenant;
  readonly events?: Events;
  /** Called when the chain of a network with open transactions was seen to have moved. */
  readonly heads?: Pick<HeadListeners, "notify">;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Transactions {
  /** Also the submissions for the other parts of the area. */
  readonly service: TransactionService;
  /** On any node; the two below are for the one that sends. */
  readonly requests: SendingRequests;
  readonly replacements: Replacements;
  readonly selfSigned: SelfSigned;
  readonly accounts: Accounts;
  readonly wallets: Wallets;
  readonly handlers: HandlersFor<typeof transactionRoutes>;
  /** Transactions whose end is not known yet: they wait to be sent, or for their block. */
  readonly openCount: () => number;
  /**
   * Goes on with what was open when the server ended, or the node that sent before; to be called once all listeners are
   * added, and on one of several nodes only.
   */
  start(): void;
  /** Leaves the sending to another node; resolves when nothing is under way. `start` may follow. */
  end(): Promise<void>;
  /** Goes on with what waited for the vault; to be called when the vault is unsealed. */
  wake(): void;
  stop(): Promise<void>;
  /** Deletes everything of an owner but the keys, which are deleted with the vault. */
  purge(owner: Subject): Promise<void>;
}

/** Half a second is below most block times, and a node is asked one question a round when nothing happens. */
const POLL_MS = 500;
/** Nodes behind one URL agree with each other within a block or two. */
const PATIENCE_MS = 3_000;
/** Most blocks come later, and asking costs one question. An account whose transaction is lost waits this long. */
const RESEND_MS = 1_000;

/** Makes accounts, wallets and transactions. Nothing is sent before `start`. */
export function createTransactions(options: TransactionsOptions, dependencies: TransactionsDependencies): Transactions {
  const { store, clock, log, networks, events, heads } = dependencies;
  const keys = new ChainKeyVault({ vault: dependencies.vault, store });
  const accounts = new Accounts({ store, keys, networks, clock });
  const wallets = new Wallets({ store, keys, clock });
  const repository = new TransactionRepository({ store });
  const writer = new TransactionWriter({ repository, clock, ...(events === undefined ? {} : { events }) });
  const signing = new TransactionSigning({ keys, accounts, wallets });
  const fees = new FeePolicy({ clock });
  const queues = new NonceQueues(
    {
      pollMs: options.pollMs ?? POLL_MS,
      patienceMs: options.patienceMs ?? PATIENCE_MS,
      resendMs: options.resendMs ?? RESEND_MS,
    },
    { repository, writer, fees, signing, networks, onHead: (networkId) => heads?.notify(networkId), clock, log },
  );
  const nodes = dependencies.nodes ?? soloNodes();
  const service = new TransactionService({
    repository,
    writer,
    queues,
    progress: new SharedProgress({ store, nodes, repository, queues }),
    gas: new GasEstimates({ clock }),
    signing,
    accounts,
    networks,
  });
  const replacements = new Replacements({ service, writer, queues, fees, signing, networks });
  const selfSigned = new SelfSigned({ service, repository, writer, queues, networks });
  const sending = shareSending({ store, nodes, repository, queues, service, replacements, selfSigned, log });
  const { requests } = sending;
  return {
    service,
    requests,
    replacements,
    selfSigned,
    accounts,
    wallets,
    handlers: transactionHandlers({ ...dependencies, transactions: service, requests }),
    openCount: () => queues.openCount,
    start: () => {
      sending.begin();
    },
    end: () => sending.end(),
    wake: () => {
      queues.wake();
    },
    stop: () => sending.stop(),
    purge: async (owner) => {
      await service.purge(owner);
      await accounts.purge(owner);
      await wallets.purge(owner);
      await store.commit(keys.deletion(owner));
    },
  };
}
