/** Composes networks: records, the clients of their nodes, status. */
import type { RequireTenant } from "../../platform/auth/said-owner.js";
import type { Clock } from "../../platform/clock.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import type { Egress } from "../../platform/net/egress.js";
import type { Events } from "../../platform/events/events.js";
import type { Log } from "../../platform/log.js";
import type { References } from "../../platform/references.js";
import type { Store } from "../../platform/store/store.js";
import type { VaultService } from "../../vault/service.js";
import { NetworkCredentials } from "./network-credentials.js";
import { HeadFeeds } from "./nodes/head-feeds.js";
import { networkHandlers } from "./network-handlers.js";
import { NetworkNodes } from "./nodes/network-nodes.js";
import { NetworkRepository } from "./network-repository.js";
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
  stop(): Promise<void>;
}

/** Creates the services of networks. */
export function createNetworks(options: NetworksOptions, dependencies: NetworksDependencies): NetworksPart {
  const { egress, clock } = dependencies;
  const repository = new NetworkRepository(dependencies);
  const credentials = new NetworkCredentials(dependencies);
  const pool = new RpcPool({ ...dependencies, repository, credentials });
  const status = new NetworkStatusWatch(options, { ...dependencies, pool });
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
  const nodes = new NetworkNodes({ networks: service, repository, pool, egress, clock });
  return {
    service,
    handlers: networkHandlers({ ...dependencies, networks: service, nodes, status }),
    nodeFigures: () => pool.figures(),
    start: () => {
      status.start();
    },
    stop: async () => {
      await status.stop();
    },
  };
}
