/** Composes networks: records, the clients of their nodes, status. */
import type { RequireTenant } from "../../platform/auth/said-owner.js";
import type { Clock } from "../../platform/clock.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import type { Egress } from "../../platform/net/egress.js";
import type { Events } from "../../platform/events/events.js";
import type { Log } from "../../platform/log.js";
import type { References } from "../../platform/references.js";
import type { Nodes } from "../../platform/nodes/nodes.js";
import { soloNodes } from "../../platform/nodes/solo-nodes.js";
import type { Store } from "../../platform/store/store.js";
import type { VaultService } from "../../vault/service.js";
import { NetworkCredentials } from "./network-credentials.js";
import { CHAIN_DUTY } from "../chain-duty.js";
import { HeadFeeds } from "./nodes/head-feeds.js";
import { networkHandlers } from "./network-handlers.js";
import { NetworkNodes } from "./nodes/network-nodes.js";
import { NetworkUses } from "./nodes/network-uses.js";
import { NETWORK_TABLE, NetworkRepository } from "./network-repository.js";
import type { networkRoutes } from "./network-routes.js";
import { NetworkService } from "./network-service.js";
import { NetworkStatusWatch, type StatusWatchOptions } from "./nodes/network-status.js";
import { publicNetworks } from "./public-networks.js";
import { RpcPool } from "./nodes/rpc-pool.js";

interface NetworksOptions extends StatusWatchOptions {
  /** Nodes of the public networks by key (public-networks.ts). */
  readonly publicUrls: ReadonlyMap<string, readonly string[]>;
}

interface NetworksDependencies {
  readonly store: Store;
  /** The nodes that share the store; this one alone unless given. */
  readonly nodes?: Nodes;
  readonly vault: VaultService;
  /** For nodes of users. */
  readonly egress: Egress;
  /** For nodes of the operator. */
  readonly operatorEgress: Egress;
  readonly events: Events;
  readonly requireTenant: RequireTenant;
  /** Gets the look-up of networks. */
  readonly references: References;
  readonly clock: Clock;
  readonly log: Log;
}

export interface NetworksPart {
  readonly service: NetworkService;
  readonly handlers: HandlersFor<typeof networkRoutes>;
  /** Counts the nodes that were asked lately, by how they fare. */
  readonly nodeFigures: RpcPool["figures"];
  /** Starts to ask the networks in use for their status. */
  start(): void;
  /** Publishes from now on what is asked, also of networks that other nodes use. Returns a function that ends it. */
  publish(): () => void;
  stop(): Promise<void>;
}

/** Creates the services of networks. */
export function createNetworks(options: NetworksOptions, dependencies: NetworksDependencies): NetworksPart {
  const { egress, clock, nodes = soloNodes() } = dependencies;
  const uses = new NetworkUses({ ...dependencies, nodes });
  const repository = new NetworkRepository(dependencies);
  const credentials = new NetworkCredentials(dependencies);
  const pool = new RpcPool({ ...dependencies, repository, credentials });
  const status = new NetworkStatusWatch(options, {
    ...dependencies,
    pool,
    mayPublish: () => nodes.count === 1 || nodes.has(CHAIN_DUTY),
    onUse: (record) => {
      uses.note(record);
    },
  });
  const feeds = new HeadFeeds({ egress, clock });
  const service = new NetworkService({
    repository,
    credentials,
    pool,
    status,
    feeds,
    egress,
    references: dependencies.references,
    clock,
    publicRecords: publicNetworks(options.publicUrls),
  });
  dependencies.references.provide("network", (owner, id) => service.find(owner, id));
  nodes.onChange(NETWORK_TABLE, (keys) => {
    for (const key of keys) service.forget(String(key.at(-1)));
  });
  const networkNodes = new NetworkNodes({ networks: service, repository, pool, egress, clock });
  return {
    service,
    handlers: networkHandlers({ ...dependencies, networks: service, nodes: networkNodes, status }),
    nodeFigures: () => pool.figures(),
    start: () => {
      status.start();
    },
    publish: () =>
      uses.listen((owner, id) => {
        const record = service.used(owner, id);
        if (record !== undefined) status.watch(record);
      }),
    stop: async () => {
      await status.stop();
    },
  };
}
