/**
 * Puts connectors together and hands their durable jobs to the runner. The composition of the chain area calls this.
 */
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
import { Peers } from "./peers.js";
import { DockerEngine } from "./providers/docker-engine.js";
import { DockerProvider } from "./providers/docker-provider.js";
import type { ContainerProvider } from "./providers/provider.js";
import { ownerOfJob, Provisioning } from "./provisioning.js";
import { Reachability } from "./reachability.js";
import { ConnectorRepository } from "./connector-repository.js";
import {
  ConnectorService,
  type ConnectorJobKind,
  type ConnectorJobs,
  type NetworkLookup,
} from "./connector-service.js";
import { StatusWriter } from "./status-writer.js";

export interface ConnectorsOptions {
  /** `unix:///path` or `tcp://host:port` of a Docker engine; without it no containers are run. */
  readonly dockerHost?: string | undefined;
  /** Images that may be run, comma separated; a `*` at the end stands for anything. */
  readonly dockerImages: string;
  /** See ReachabilityOptions. */
  readonly probeIntervalMs?: number;
  /** See ProvisioningOptions. */
  readonly containerReadyMs?: number;
}

export interface ConnectorsDependencies {
  readonly store: Store;
  readonly vault: VaultService;
  /** Not started yet: the runners of this area's jobs are registered here. */
  readonly jobs: Jobs;
  readonly events: Events;
  readonly tokens: SubscriptionTokens;
  readonly networks: NetworkLookup;
  readonly egress: Egress;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Connectors {
  readonly service: ConnectorService;
  readonly handlers: HandlersFor<typeof connectorRoutes>;
  /** Begins the rounds of probes. */
  start(): void;
  stop(): Promise<void>;
}

/** Provisioning waits for peers and providers, not for processors. */
const JOBS_AT_ONCE = 8;
const OPEN_STATES: readonly string[] = ["queued", "running"];

export function createConnectors(options: ConnectorsOptions, dependencies: ConnectorsDependencies): Connectors {
  const { store, jobs, events, networks, egress, clock, log } = dependencies;
  const repository = new ConnectorRepository({ store });
  const credentials = new ConnectorCredentials(dependencies);
  const statuses = new StatusWriter({ repository, events, clock });
  const providers = new Map<string, ContainerProvider>();
  if (options.dockerHost !== undefined)
    providers.set("docker", new DockerProvider({ host: options.dockerHost, images: options.dockerImages }));
  // What Docker publishes lies inside: this guard knows the engine's machine and nothing else.
  const containerEgress = createEgressGuard({
    allow: new AllowList(options.dockerHost === undefined ? [] : [new DockerEngine(options.dockerHost).publishedHost]),
    ports: [],
  });
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
        await service.resume(connector);
      },
    },
  );
  const provisioning = new Provisioning(
    { ...(options.containerReadyMs === undefined ? {} : { readyMs: options.containerReadyMs }) },
    { repository, credentials, reachability, statuses, providers, log },
  );
  const service = new ConnectorService({
    store,
    repository,
    credentials,
    entities,
    reachability,
    statuses,
    networks,
    providers,
    egress,
    clock,
    jobs: connectorJobs(jobs),
  });
  registerJobs(jobs, provisioning);
  return {
    service,
    handlers: connectorHandlers({ connectors: service, tokens: dependencies.tokens }),
    start: () => {
      reachability.start();
    },
    stop: async () => {
      await reachability.stop();
      containerEgress.close();
    },
  };
}

function registerJobs(jobs: Jobs, provisioning: Provisioning): void {
  jobs.register("provision_connector" satisfies ConnectorJobKind, {
    concurrency: JOBS_AT_ONCE,
    run: async (job, context) => {
      const { owner, id } = ownerOfJob(job);
      await provisioning.provision(owner, id, {
        signal: context.signal,
        commit: async (phase, commit) => {
          await context.setPhase(phase, commit);
        },
      });
    },
    onFailed: (job, fault) => provisioning.provisioningFailure(ownerOfJob(job).owner, ownerOfJob(job).id, fault),
  });
  jobs.register("deprovision_connector" satisfies ConnectorJobKind, {
    concurrency: JOBS_AT_ONCE,
    run: async (job, context) => {
      const { owner, id } = ownerOfJob(job);
      await provisioning.deprovision(owner, id, {
        signal: context.signal,
        commit: async (phase, commit) => {
          await context.setPhase(phase, commit);
        },
      });
    },
    onFailed: (job, fault) => provisioning.deprovisioningFailure(ownerOfJob(job).owner, ownerOfJob(job).id, fault),
  });
}

function connectorJobs(jobs: Jobs): ConnectorJobs {
  const isOpen = (jobId: string): boolean => OPEN_STATES.includes(jobs.get(jobId)?.state ?? "gone");
  return {
    prepare: (kind, owner, id) => {
      const { job, commit } = jobs.enqueueCommit({
        kind,
        subject_key: ["connector", owner.kind, owner.id, id],
        phase: "begin",
        input: { owner: { kind: owner.kind, id: owner.id }, id },
      });
      return { jobId: job.id, commit };
    },
    wake: () => {
      jobs.wake();
    },
    cancel: async (jobId) => {
      if (isOpen(jobId)) await jobs.cancel(jobId);
    },
    isOpen,
    untilSettled: async (jobId, { waitMs, signal }) => {
      await new Promise<void>((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          signal.removeEventListener("abort", end);
          unsubscribe();
          resolve();
        };
        const unsubscribe = jobs.subscribe(({ job }) => {
          if (job.id === jobId && !OPEN_STATES.includes(job.state)) end();
        });
        const timer = setTimeout(end, waitMs);
        signal.addEventListener("abort", end, { once: true });
        if (!isOpen(jobId) || signal.aborted) end();
      });
    },
  };
}
