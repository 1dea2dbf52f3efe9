/** Composes connectors and registers the runners of their durable jobs. */
import type { RequireTenant } from "../../platform/auth/said-owner.js";
import type { References } from "../../platform/references.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { Clock } from "../../platform/clock.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import { AllowList } from "../../platform/net/address-rules.js";
import type { Egress } from "../../platform/net/egress.js";
import { createEgressGuard } from "../../platform/net/egress-guard.js";
import type { Events } from "../../platform/events/events.js";
import type { SubscriptionTokens } from "../../platform/events/subscription-token.js";
import type { Jobs } from "../../platform/jobs/jobs.js";
import type { Log } from "../../platform/log.js";
import type { Store } from "../../platform/store/store.js";
import type { VaultService } from "../../vault/service.js";
import { connectorHandlers } from "./connector-handlers.js";
import type { connectorRoutes } from "./connector-routes.js";
import { ConnectorCredentials } from "./connector-credentials.js";
import { Entities } from "./entities.js";
import { Peers } from "./peers/peers.js";
import { DockerEngine } from "./providers/docker-engine.js";
import { DockerProvider } from "./providers/docker-provider.js";
import type { ContainerProvider } from "./providers/provider.js";
import { Provisioning } from "./provisioning/provisioning.js";
import { Reachability } from "./peers/reachability.js";
import { ConnectorRepository } from "./connector-repository.js";
import { ConnectorContainers } from "./provisioning/connector-containers.js";
import { ConnectorDeletions } from "./provisioning/connector-deletions.js";
import { ConnectorJobs, registerConnectorJobs } from "./provisioning/connector-jobs.js";
import { ConnectorService, type NetworkLookup } from "./connector-service.js";
import { StatusWriter } from "./provisioning/status-writer.js";

export interface ConnectorsOptions {
  /** `unix:///path` or `tcp://host:port` of a Docker engine; without it no containers are run. */
  readonly dockerHost?: string | undefined;
  /** Images that may be run, separated by commas; a `*` at the end matches anything. */
  readonly dockerImages: string;
  /** See ReachabilityOptions. */
  readonly probeIntervalMs?: number;
  /** See ProvisioningOptions. */
  readonly containerReadyMs?: number;
}

interface ConnectorsDependencies {
  readonly store: Store;
  readonly vault: VaultService;
  /** Not started yet, because the runners are registered first. */
  readonly jobs: Jobs;
  readonly events: Events;
  readonly tokens: SubscriptionTokens;
  readonly references: References;
  readonly requireTenant: RequireTenant;
  /** See ChainDependencies. */
  readonly hasVault: () => boolean;
  readonly turnOf: (subject: Subject) => string;
  readonly networks: NetworkLookup;
  readonly egress: Egress;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Connectors {
  readonly service: ConnectorService;
  readonly entities: Entities;
  readonly deletions: ConnectorDeletions;
  readonly containers: ConnectorContainers;
  readonly handlers: HandlersFor<typeof connectorRoutes>;
  /** Starts the rounds of probes. */
  start(): void;
  /** Leaves the rounds to another node; resolves when the present one has ended. `start` may follow. */
  end(): Promise<void>;
  stop(): Promise<void>;
}

/** Creates the services. Must be called before the jobs start. */
export function createConnectors(options: ConnectorsOptions, dependencies: ConnectorsDependencies): Connectors {
  const { store, events, egress, clock, log, tokens } = dependencies;
  const repository = new ConnectorRepository({ store });
  const credentials = new ConnectorCredentials(dependencies);
  const jobs = new ConnectorJobs(dependencies);
  const statuses = new StatusWriter({ repository, events, clock });
  const { providers, containerEgress } = dockerOf(options);
  const peers = new Peers({ credentials, egress, containerEgress });
  const entities = new Entities({ store, repository, peers, clock });
  const reachability: Reachability = new Reachability(
    { ...(options.probeIntervalMs === undefined ? {} : { intervalMs: options.probeIntervalMs }) },
    {
      store,
      repository,
      peers,
      statuses,
      clock,
      log,
      relocate: async (connector, signal) => await provisioning.locate(connector, signal),
      resume: async (connector) => {
        await deletions.resume(connector);
      },
    },
  );
  const provisioning = new Provisioning(
    { ...(options.containerReadyMs === undefined ? {} : { readyMs: options.containerReadyMs }) },
    { repository, credentials, reachability, statuses, providers, log },
  );
  const service = new ConnectorService({
    ...dependencies,
    repository,
    credentials,
    entities,
    reachability,
    statuses,
    providers,
    jobs,
  });
  const deletions = new ConnectorDeletions({ store, repository, credentials, statuses, providers, jobs });
  const containers = new ConnectorContainers({ repository, providers });
  registerConnectorJobs(dependencies.jobs, { ...dependencies, repository, provisioning });
  return {
    service,
    entities,
    deletions,
    containers,
    handlers: connectorHandlers({ ...dependencies, connectors: service, entities, deletions, containers, tokens }),
    start: () => {
      reachability.start();
    },
    end: async () => {
      await reachability.endRounds();
    },
    stop: async () => {
      await reachability.stop();
      containerEgress.close();
    },
  };
}

/** Returns the provider of containers, if one is configured, and the egress to what it publishes. */
function dockerOf({ dockerHost: host, dockerImages: images }: ConnectorsOptions) {
  const providers = new Map<string, ContainerProvider>();
  if (host !== undefined) providers.set("docker", new DockerProvider({ host, images }));
  // Docker publishes ports on an internal host: this guard allows the engine's machine and nothing else.
  const containerEgress = createEgressGuard({
    allow: new AllowList(host === undefined ? [] : [new DockerEngine(host).publishedHost]),
    ports: [],
  });
  return { providers, containerEgress };
}
