/**
 * Puts the chain area together: networks, accounts and transactions, contracts with their events, connectors,
 * registrations.
 */
import type { Subject } from "../platform/auth/principal.js";
import type { Clock } from "../platform/clock.js";
import type { HandlersFor } from "../platform/contract/route.js";
import { AllowList } from "../platform/net/address-rules.js";
import { createEgressGuard } from "../platform/net/egress-guard.js";
import type { Events } from "../platform/events/events.js";
import type { SubscriptionTokens } from "../platform/events/subscription-token.js";
import type { Jobs } from "../platform/jobs/jobs.js";
import type { Log } from "../platform/log.js";
import type { Store } from "../platform/store/store.js";
import type { VaultService } from "../vault/service.js";
import { createConnectors } from "./connectors/create-connectors.js";
import { createContracts } from "./contracts/create-contracts.js";
import type { RequireApplication } from "./contracts/contract-ports.js";
import type { TokenContracts } from "./contracts/token-contracts.js";
import { createTransactions } from "./transactions/create-transactions.js";
import { createContractEvents, type ContractEvents } from "./events/create-contract-events.js";
import { networkViewHandlers } from "./networks/network-view-handlers.js";
import { chainIdOf, type NetworkRecord } from "./networks/network-port.js";
import { createNetworks } from "./networks/create-networks.js";
import type { NetworkService, NetworkUse } from "./networks/network-service.js";
import { MAINNET_ID } from "./networks/public-networks.js";
import { Prices } from "./networks/prices.js";
import { REGISTRATION_KINDS, registrationHandlers, Registrations } from "./networks/registrations.js";
import type { chainRoutes } from "./routes.js";
import { requestMany } from "./rpc/rpc-batch.js";
import type { Rpc } from "./rpc/rpc.js";
import type { TransactionNetworks } from "./transactions/transaction-ports.js";

export interface ChainOptions {
  /** Entries of address-rules.ts. */
  readonly egressAllow: readonly string[];
  readonly egressPorts: readonly number[];
  /** Nodes of the public networks by key (public-networks.ts). */
  readonly publicUrls: ReadonlyMap<string, readonly string[]>;
  readonly dockerHost: string | undefined;
  readonly dockerImages: string;
  /**
   * Blocks that must follow a block before its logs are told. With 0 they are told at once, and what a reorganisation
   * takes back is told again (log-follower.ts).
   */
  readonly logConfirmations: number;
}

export interface ChainDependencies {
  readonly store: Store;
  readonly vault: VaultService;
  /** Not started yet. */
  readonly jobs: Jobs;
  readonly events: Events;
  readonly subscriptionTokens: SubscriptionTokens;
  readonly requireApplication: RequireApplication;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Chain {
  readonly handlers: HandlersFor<typeof chainRoutes>;
  /** Takes up what was open: transactions, followers, probes. */
  start(): void;
  /** The vault was unsealed: what waited for a key goes on. */
  wake(): void;
  stop(): Promise<void>;
  /** Deletes everything of an owner; before its vaults go. */
  purge(owner: Subject): Promise<void>;
}

/**
 * A transaction is final after this many blocks unless its network says otherwise: two minutes and a half on Ethereum,
 * longer than its usual reorganisations.
 */
const CONFIRMATIONS = 12;

export function createChain(options: ChainOptions, dependencies: ChainDependencies): Chain {
  const { store, vault, jobs, events, clock, log } = dependencies;
  const egress = createEgressGuard({ allow: new AllowList(options.egressAllow), ports: options.egressPorts });
  const operatorHosts = [...options.publicUrls.values()].flat().map(hostEntry);
  const operatorEgress = createEgressGuard({ allow: new AllowList(operatorHosts), ports: options.egressPorts });
  const networks = createNetworks(
    { publicUrls: options.publicUrls },
    { store, vault, egress, operatorEgress, events, clock, log },
  );
  const late: { tokens?: TokenContracts; followers?: ContractEvents["followers"] } = {};
  const transactions = createTransactions(
    {},
    {
      store,
      vault,
      networks: transactionNetworks(networks.service),
      events,
      clock,
      log,
      tokens: { addressOf: (owner, id) => required(late.tokens).addressOf(owner, id) },
      // Logs of one's own transactions need not wait until the follower looks by itself.
      onHead: (networkId) => {
        late.followers?.wake(networkId);
      },
    },
  );
  const contracts = createContracts(
    {},
    { ...dependencies, networks: networks.service, submissions: transactions.service },
  );
  late.tokens = contracts.tokens;
  const contractEvents = createContractEvents(
    { confirmations: options.logConfirmations },
    {
      store,
      events,
      networks: networks.service,
      contracts: contracts.abis,
      log,
      repository: contracts.repository,
      tokens: dependencies.subscriptionTokens,
    },
  );
  late.followers = contractEvents.followers;
  const connectors = createConnectors(
    { dockerHost: options.dockerHost, dockerImages: options.dockerImages },
    {
      store,
      vault,
      jobs,
      events,
      tokens: dependencies.subscriptionTokens,
      networks: networks.service,
      egress,
      clock,
      log,
    },
  );
  const oracles = new Registrations(REGISTRATION_KINDS.oracle, { store, networks: networks.service, clock });
  const bridges = new Registrations(REGISTRATION_KINDS.bridge, { store, networks: networks.service, clock });
  const mainnet = networks.service.find({ kind: "user", id: "" }, MAINNET_ID);
  const prices = new Prices({ mainnet, rpc: (record) => networks.service.rpc(record), clock });
  const views = {
    networks: networks.service,
    accounts: transactions.accounts,
    contracts: contracts.service,
    tokens: contracts.tokens,
    transactions: transactions.service,
    connectors: connectors.service,
    oracles,
    bridges,
  };
  for (const use of usesOf(views)) networks.service.onDeletion(use);
  return {
    handlers: {
      ...networks.handlers,
      ...networkViewHandlers(views),
      ...contracts.handlers,
      ...contractEvents.handlers,
      ...transactions.handlers,
      ...connectors.handlers,
      ...registrationHandlers({ oracles, bridges, prices }),
    },
    start: () => {
      networks.start();
      transactions.start();
      contractEvents.start();
      connectors.start();
    },
    wake: () => {
      transactions.wake();
    },
    stop: async () => {
      await contractEvents.stop();
      await connectors.stop();
      await transactions.stop();
      await contracts.stop();
      await networks.stop();
      egress.close();
      operatorEgress.close();
    },
    purge: async (owner) => {
      await connectors.deletions.purge(owner);
      await contracts.service.purge(owner);
      await transactions.purge(owner);
      await oracles.purge(owner);
      await bridges.purge(owner);
      await networks.service.purge(owner);
    },
  };
}

/**
 * Networks in the form in which transactions use them. Without a node an account can still be made; what asks the node
 * then fails.
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

/** Looks its nodes up at each call: they may change meanwhile. */
function rpcOf(networks: NetworkService, record: NetworkRecord): Rpc {
  return {
    request: async (...call) => await networks.rpc(record).request(...call),
    requestMany: async (calls, options) => await requestMany(networks.rpc(record), calls, options),
  };
}

function usesOf(parts: Parameters<typeof networkViewHandlers>[0]): NetworkUse[] {
  const one = { page: 1, rpp: 1 };
  const use =
    (what: string, count: (owner: Subject, id: string) => number): NetworkUse =>
    (owner, id) =>
      count(owner, id) > 0 ? what : undefined;
  return [
    use("accounts", (owner, id) => parts.accounts.list(owner, { network_id: id }, one).total),
    use("contracts", (owner, id) => parts.contracts.ofNetwork(owner, id, one).total),
    use("transactions", (owner, id) => parts.transactions.list(owner, { network_id: id }, one).total),
    use("connectors", (owner, id) => parts.connectors.list(owner, { ...one, network_id: id }).total),
    use("oracles", (owner, id) => parts.oracles.list(owner, id, one).total),
    use("bridges", (owner, id) => parts.bridges.list(owner, id, one).total),
  ];
}

/** The place of an operator's URL, as the list of what may be reached takes it. */
function hostEntry(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port === "" ? (protocol === "https:" ? "443" : "80") : port}`;
}

function required<T>(value: T | undefined): T {
  if (value === undefined)
    throw new Error("invariant broken: the parts of the chain area are made before they are used");
  return value;
}
