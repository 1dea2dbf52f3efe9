/**
 * Puts the chain area together in the order in which its parts need each other: networks, transactions, contracts,
 * their events, connectors, registrations.
 */
import type { Subject } from "../platform/auth/principal.js";
import type { RequireTenant } from "../platform/auth/said-owner.js";
import type { Clock } from "../platform/clock.js";
import type { HandlersFor } from "../platform/contract/route.js";
import type { Events } from "../platform/events/events.js";
import type { SubscriptionTokens } from "../platform/events/subscription-token.js";
import type { Jobs } from "../platform/jobs/jobs.js";
import type { Log } from "../platform/log.js";
import type { Nodes } from "../platform/nodes/nodes.js";
import type { ProcessTasks } from "../platform/pool/process-task.js";
import { AllowList } from "../platform/net/address-rules.js";
import { createEgressGuard, type EgressGuard } from "../platform/net/egress-guard.js";
import type { References } from "../platform/references.js";
import type { Store } from "../platform/store/store.js";
import type { VaultService } from "../vault/service.js";
import { accountHandlers } from "./accounts/account-handlers.js";
import { TokenBalances } from "./accounts/token-balances.js";
import { CHAIN_DUTY } from "./chain-duty.js";
import { createConnectors, type Connectors } from "./connectors/create-connectors.js";
import type { ContractPort } from "./contracts/contract-port.js";
import { createContracts, type Contracts } from "./contracts/create-contracts.js";
import { createContractEvents, type ContractEvents } from "./events/create-contract-events.js";
import { HeadListeners } from "./head-listeners.js";
import { createNetworks } from "./networks/create-networks.js";
import { chainIdOf, type NetworkRecord } from "./networks/network-port.js";
import type { NetworkService, NetworkUse } from "./networks/network-service.js";
import { networkViewHandlers } from "./networks/network-view-handlers.js";
import { MAINNET_ID } from "./networks/public-networks.js";
import { Prices } from "./networks/prices.js";
import {
  REGISTRATION_KINDS,
  registrationHandlers,
  Registrations,
  type Bridges,
  type Oracles,
} from "./networks/registrations.js";
import type { chainRoutes } from "./routes.js";
import { requestMany } from "./rpc/rpc-batch.js";
import type { Rpc } from "./rpc/rpc.js";
import { createTransactions, type Transactions } from "./transactions/create-transactions.js";
import type { TransactionNetworks } from "./transactions/transaction-ports.js";

export interface ChainOptions {
  /** Hosts and networks that may be reached although they are private; entries of address-rules.ts. */
  readonly egressAllow: readonly string[];
  readonly egressPorts: readonly number[];
  /** Nodes of the public networks by key (public-networks.ts). */
  readonly publicUrls: ReadonlyMap<string, readonly string[]>;
  readonly dockerHost: string | undefined;
  readonly dockerImages: string;
  /**
   * Blocks that must follow a block before its logs are published. With 0 they are published at once, and the logs of
   * a block that a reorganisation replaced are published again as removed.
   */
  readonly logConfirmations: number;
}

export interface ChainDependencies {
  readonly store: Store;
  /** The nodes that share the store. */
  readonly nodes: Nodes;
  readonly vault: VaultService;
  /** Not started yet. */
  readonly jobs: Jobs;
  readonly tasks: ProcessTasks;
  readonly events: Events;
  readonly subscriptionTokens: SubscriptionTokens;
  readonly requireTenant: RequireTenant;
  /** Whether a job that needs a secret of the vault is begun here now; another node could begin it where it is not. */
  readonly hasVault: () => boolean;
  /** Returns the name under which the work of a subject waits for its turn. */
  readonly turnOf: (subject: Subject) => string;
  /** Gets the look-ups of this area. */
  readonly references: References;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ChainFigures {
  /** Nodes of the networks that were asked lately, by how they fare. */
  readonly nodes: Readonly<Record<string, number>>;
  /** Transactions whose end is not known yet. */
  readonly openTransactions: number;
}

export interface Chain {
  readonly handlers: HandlersFor<typeof chainRoutes>;
  /** How other areas deploy contracts and ask them. */
  readonly contracts: ContractPort;
  /** What is under way, for metrics. */
  readonly figures: () => ChainFigures;
  /** Goes on with open transactions, follows logs, probes connectors, now or when it is this node's turn. */
  start(): void;
  /** Goes on with what waited for a key; to be called when the vault is unsealed. */
  wake(): void;
  stop(): Promise<void>;
  /** Deletes everything of an owner; to be called before its vaults are deleted. */
  purge(owner: Subject): Promise<void>;
}

/**
 * A transaction is final after this many blocks unless its network says otherwise: two minutes and a half on Ethereum,
 * longer than its usual reorganisations.
 */
const CONFIRMATIONS = 12;

/** The parts of the area, each made of those before it. */
interface ChainParts {
  /** The guards of outgoing connections: to what users named, and to what the operator named. */
  readonly guards: readonly [users: EgressGuard, operator: EgressGuard];
  readonly networks: ReturnType<typeof createNetworks>;
  readonly transactions: Transactions;
  readonly contracts: Contracts;
  readonly contractEvents: ContractEvents;
  readonly connectors: Connectors;
  readonly oracles: Oracles;
  readonly bridges: Bridges;
}

/** Makes the chain area. Nothing runs before `start`. */
export function createChain(options: ChainOptions, dependencies: ChainDependencies): Chain {
  const parts = createParts(options, dependencies);
  const { networks, transactions, contracts, contractEvents, connectors } = parts;
  const duty = chainDuty(parts);
  let isStopped = false;
  for (const use of usesOf(parts)) networks.service.onDeletion(use);
  return {
    handlers: handlersOf(parts, dependencies),
    contracts: contractPort(parts),
    figures: () => ({ nodes: networks.nodeFigures(), openTransactions: transactions.openCount() }),
    start: () => {
      networks.start();
      dependencies.nodes.take(
        CHAIN_DUTY,
        () => {
          // The duty can come to a node that is about to leave, which gives it free then.
          if (!isStopped) duty.begin();
        },
        async () => {
          await duty.end();
        },
      );
    },
    wake: () => {
      transactions.wake();
    },
    stop: async () => {
      isStopped = true;
      await contractEvents.stop();
      await connectors.stop();
      await transactions.stop();
      await contracts.stop();
      await networks.stop();
      for (const guard of parts.guards) guard.close();
    },
    purge: async (owner) => {
      await connectors.deletions.purge(owner);
      await contracts.service.purge(owner);
      await transactions.purge(owner);
      await parts.oracles.purge(owner);
      await parts.bridges.purge(owner);
      await networks.service.purge(owner);
    },
  };
}

/** What one node does for all, which another node may take over. */
function chainDuty({ networks, transactions, contractEvents, connectors }: ChainParts): {
  readonly begin: () => void;
  readonly end: () => Promise<void>;
} {
  let endPublishing = (): void => undefined;
  return {
    begin: () => {
      endPublishing = networks.publish();
      transactions.start();
      contractEvents.start();
      connectors.start();
    },
    end: async () => {
      endPublishing();
      await Promise.all([contractEvents.stop(), connectors.end(), transactions.end()]);
    },
  };
}

function createParts(options: ChainOptions, dependencies: ChainDependencies): ChainParts {
  const { store, nodes, vault, requireTenant, events, clock, log, subscriptionTokens } = dependencies;
  const guards = createGuards(options);
  const [egress, operatorEgress] = guards;
  const networks = createNetworks({ publicUrls: options.publicUrls }, { ...dependencies, egress, operatorEgress });
  // What the watch of transactions sees of a chain is news for the follower of its logs.
  const heads = new HeadListeners();
  const transactions = createTransactions(
    {},
    {
      ...{ store, nodes, vault, requireTenant, heads, events, clock, log },
      networks: transactionNetworks(networks.service),
    },
  );
  const contracts = createContracts(
    {},
    { ...dependencies, networks: networks.service, submissions: transactions.service },
  );
  const contractEvents = createContractEvents(
    { confirmations: options.logConfirmations },
    {
      store,
      events,
      heads,
      networks: networks.service,
      contracts: contracts.abis,
      log,
      repository: contracts.repository,
      tokens: subscriptionTokens,
    },
  );
  const connectors = createConnectors(
    { dockerHost: options.dockerHost, dockerImages: options.dockerImages },
    { ...dependencies, tokens: subscriptionTokens, networks: networks.service, egress },
  );
  const oracles = new Registrations(REGISTRATION_KINDS.oracle, { store, clock });
  const bridges = new Registrations(REGISTRATION_KINDS.bridge, { store, clock });
  return { guards, networks, transactions, contracts, contractEvents, connectors, oracles, bridges };
}

function createGuards({ egressAllow, egressPorts, publicUrls }: ChainOptions): ChainParts["guards"] {
  const operatorHosts = [...publicUrls.values()].flat().map(hostEntry);
  return [
    createEgressGuard({ allow: new AllowList(egressAllow), ports: egressPorts }),
    createEgressGuard({ allow: new AllowList(operatorHosts), ports: egressPorts }),
  ];
}

function handlersOf(
  parts: ChainParts,
  { clock, references, requireTenant }: ChainDependencies,
): HandlersFor<typeof chainRoutes> {
  const { networks, transactions, contracts, contractEvents, connectors, oracles, bridges } = parts;
  const { accounts, wallets } = transactions;
  const tokenBalances = new TokenBalances({
    accounts,
    networks: transactionNetworks(networks.service),
    tokens: contracts.tokens,
  });
  const mainnet = networks.service.find({ kind: "user", id: "" }, MAINNET_ID);
  const prices = new Prices({ mainnet, rpc: (record) => networks.service.rpc(record), clock });
  return {
    ...networks.handlers,
    ...networkViewHandlers({
      networks: networks.service,
      accounts,
      contracts: contracts.service,
      tokens: contracts.tokens,
      transactions: transactions.service,
      connectors: connectors.service,
      oracles,
      bridges,
    }),
    ...contracts.handlers,
    ...contractEvents.handlers,
    ...accountHandlers({ accounts, tokenBalances, wallets, references, requireTenant }),
    ...transactions.handlers,
    ...connectors.handlers,
    ...registrationHandlers({ oracles, bridges, prices, references, requireTenant }),
  };
}

/** Contracts for other areas, with the networks and the signers of their owners. */
function contractPort({ networks, transactions, contracts }: ChainParts): ContractPort {
  const { accounts, wallets } = transactions;
  return contracts.port({
    confirmationsOf: (owner, id) => transactionNetworks(networks.service).find(owner, id).confirmations,
    requireOwnSigner: (owner, { account_id: account, wallet_id: wallet }) => {
      if (account !== undefined) accounts.find(owner, account);
      if (wallet !== undefined) wallets.find(owner, wallet);
    },
  });
}

/** What keeps a network from being deleted: everything that refers to it. */
function usesOf({ transactions, contracts, connectors, oracles, bridges }: ChainParts): NetworkUse[] {
  const one = { page: 1, rpp: 1 };
  const use =
    (what: string, count: (owner: Subject, id: string) => number): NetworkUse =>
    (owner, id) =>
      count(owner, id) > 0 ? what : undefined;
  return [
    use("accounts", (owner, id) => transactions.accounts.list(owner, { network_id: id }, one).total),
    use("contracts", (owner, id) => contracts.service.ofNetwork(owner, id, one).total),
    use("transactions", (owner, id) => transactions.service.list(owner, { network_id: id }, one).total),
    use("connectors", (owner, id) => connectors.service.list(owner, { ...one, network_id: id }).total),
    use("oracles", (owner, id) => oracles.list(owner, { ...one, network_id: id }).total),
    use("bridges", (owner, id) => bridges.list(owner, { ...one, network_id: id }).total),
  ];
}

/**
 * Networks in the form in which transactions use them. A network without a node is found all the same, so that accounts
 * can be made on it; only a request to its node fails.
 */
function transactionNetworks(networks: NetworkService): TransactionNetworks {
  return {
    find: (owner, id) => {
      const record = networks.find(owner, id);
      const { confirmations = CONFIRMATIONS, max_fee_per_gas: fee, max_priority_fee_per_gas: tip } = record.config;
      return {
        id,
        chainId: chainIdOf(record),
        rpc: rpcOf(networks, record),
        confirmations,
        ...(fee === undefined ? {} : { maxFeePerGas: BigInt(fee) }),
        ...(tip === undefined ? {} : { maxPriorityFeePerGas: BigInt(tip) }),
      };
    },
  };
}

/** The nodes of a network, looked up at each call because they may change meanwhile. */
function rpcOf(networks: NetworkService, record: NetworkRecord): Rpc {
  return {
    request: async (...call) => await networks.rpc(record).request(...call),
    requestMany: async (calls, options) => await requestMany(networks.rpc(record), calls, options),
  };
}

/** The host and port of an operator's URL, as an entry of address-rules.ts. */
function hostEntry(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port === "" ? (protocol === "https:" ? "443" : "80") : port}`;
}
