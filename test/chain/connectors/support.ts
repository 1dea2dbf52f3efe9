/**
 * Connectors over a real store, a real vault, real durable jobs and the real event log; their peers run on this
 * machine.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { formatSubject, type Subject } from "../../../src/platform/auth/principal.js";
import { systemClock } from "../../../src/platform/clock.js";
import type { Egress } from "../../../src/platform/net/egress.js";
import { AppError, notFound } from "../../../src/platform/errors.js";
import { References } from "../../../src/platform/references.js";
import { EventLog, type StoredEvent } from "../../../src/platform/events/event-log.js";
import { SubscriptionTokens } from "../../../src/platform/events/subscription-token.js";
import { Jobs } from "../../../src/platform/jobs/jobs.js";
import type { AppendFeed, Store } from "../../../src/platform/store/store.js";
import {
  createConnectors,
  type Connectors,
  type ConnectorsOptions,
} from "../../../src/chain/connectors/create-connectors.js";
import type { Connector, ConnectorDetail, CreateConnector } from "../../../src/chain/connectors/connector-schemas.js";
import type { ConnectorContainers } from "../../../src/chain/connectors/provisioning/connector-containers.js";
import type { ConnectorDeletions } from "../../../src/chain/connectors/provisioning/connector-deletions.js";
import type { ConnectorService } from "../../../src/chain/connectors/connector-service.js";
import type { Entities } from "../../../src/chain/connectors/entities.js";
import type { DockerDouble, DoubleContainer } from "../../support/docker-double.js";
import { loopbackEgress } from "../../support/loopback-egress.js";
import { recordedLog, type RecordedLog } from "../../support/silent-log.js";
import { openTestVault, type TestVault } from "../../vault/support.js";

export const PAGE = { page: 1, rpp: 25 };
export const NETWORK_ID = "deca2436-21ba-4ff5-b225-ad1b0b2f5c59";
/** A signal that never fires. */
export const never = new AbortController().signal;

export interface TestConnectors {
  readonly owner: Subject;
  readonly tokens: SubscriptionTokens;
  readonly vault: TestVault;
  readonly store: Store;
  readonly jobs: Jobs;
  readonly log: RecordedLog;
  readonly connectors: Connectors;
  readonly service: ConnectorService;
  readonly entities: Entities;
  readonly deletions: ConnectorDeletions;
  readonly containers: ConnectorContainers;
  /** The published statuses of a connector, in order. */
  statuses(id: string): string[];
  events(): StoredEvent[];
  close(options?: { readonly keep: boolean }): Promise<void>;
}

export interface TestConnectorsOptions extends Partial<ConnectorsOptions> {
  readonly owner?: Subject;
  readonly folder?: string;
  readonly egress?: Egress;
  readonly unsealed?: boolean;
  /** Without it jobs that need the vault wait for it here, as on a single server. */
  readonly hasVault?: () => boolean;
  /** The test itself starts the jobs. */
  readonly idle?: boolean;
}

export async function openConnectors(options: TestConnectorsOptions = {}): Promise<TestConnectors> {
  const vault = await openTestVault({
    ...(options.folder === undefined ? {} : { folder: options.folder }),
    ...(options.unsealed === undefined ? {} : { unsealed: options.unsealed }),
  });
  const store = vault.store as Store & AppendFeed;
  const log = recordedLog();
  const jobs = new Jobs({ retryDelayMs: 10, settleDelayMs: 10 }, { store, clock: systemClock, log });
  const events = new EventLog({ eventsMax: 10_000, daysMax: 1 }, { store, clock: systemClock, log });
  const tokens = new SubscriptionTokens(
    { key: randomBytes(32) },
    { clock: systemClock, standingOf: () => ({ epoch: 0, endsAtSec: 2 ** 40 }) },
  );
  const networks = {
    find: (_subject: Subject, id: string) => {
      if (id !== NETWORK_ID) throw new AppError("not_found", { message: "network not found" });
      return {};
    },
  };
  const references = new References();
  references.provide("network", networks.find);
  const connectors = createConnectors(
    { dockerImages: "ipfs/kubo:*,nats:*,redis:*,postgres:*,mongo:*", ...options },
    {
      store,
      vault: vault.vault,
      jobs,
      events,
      tokens,
      networks,
      references,
      requireTenant: (_principal, { kind }) => {
        throw notFound(kind);
      },
      hasVault: options.hasVault ?? (() => true),
      turnOf: formatSubject,
      egress: options.egress ?? loopbackEgress,
      clock: systemClock,
      log,
    },
  );
  if (options.idle !== true) await jobs.start();
  const read = (): StoredEvent[] => store.range<StoredEvent>(["events"]).map(({ value }) => value);
  return {
    tokens,
    owner: options.owner ?? { kind: "application", id: randomUUID() },
    vault,
    store,
    jobs,
    log,
    connectors,
    service: connectors.service,
    entities: connectors.entities,
    deletions: connectors.deletions,
    containers: connectors.containers,
    events: read,
    statuses: (id) =>
      read()
        .filter(({ subjects }) => subjects[0] === `network.${NETWORK_ID}.connector.${id}`)
        .map(({ payload }) => (payload as { readonly status: string }).status),
    close: async (closing) => {
      await connectors.stop();
      await jobs.stop();
      await vault.close(closing);
    },
  };
}

export type Draft = Partial<CreateConnector> & Pick<CreateConnector, "type" | "config">;

export async function create({ service, owner }: TestConnectors, draft: Draft): Promise<Connector> {
  return await service.create(owner, { name: "c", network_id: NETWORK_ID, ...draft });
}

/** Creates a connector and waits until no job works on it. */
export async function settled(test: TestConnectors, draft: Draft): Promise<Connector> {
  const { id } = await create(test, draft);
  await untilSettled(test, id);
  return await plain(test, id);
}

export async function untilSettled({ jobs, owner }: TestConnectors, id: string): Promise<void> {
  await eventually(`the jobs of ${id} end`, () =>
    jobs
      .ofSubject(["connector", owner.kind, owner.id, id])
      .every(({ state }) => state === "done" || state === "failed"),
  );
}

/** The record as it is, without asking the peer. */
/**
 * Creates a connector and ends its process while the engine starts the container. Returns the connector's id, and what
 * opens the next process on the same store.
 */
export async function cutOffAtStart(
  docker: DockerDouble,
  draft: Draft,
): Promise<{ readonly id: string; readonly next: () => Promise<TestConnectors> }> {
  const options = { dockerHost: docker.host, containerReadyMs: 400 };
  const first = await openConnectors(options);
  docker.faults = [{ method: "POST", path: /\/start$/, answer: "hang" }];
  const { id } = await create(first, draft);
  await eventually("the container is being started", () =>
    docker.requests.some((request) => request.endsWith("/start")),
  );
  await first.close({ keep: true });
  docker.faults = [];
  const kept = { folder: first.vault.folder, owner: first.owner };
  return { id, next: async () => await openConnectors({ ...options, ...kept }) };
}

/** Returns a connector's container in the engine. */
export function containerOf(docker: DockerDouble, id: string): DoubleContainer {
  const found = docker.containers.get(`proofwright-${id}`);
  if (found === undefined) throw new Error("no such container");
  return found;
}

export async function plain({ service, owner }: TestConnectors, id: string): Promise<ConnectorDetail> {
  return await service.get(owner, id, { ...PAGE, enrichment: "none" }, never);
}

/** The record with its details. */
export async function detail({ service, owner }: TestConnectors, id: string): Promise<ConnectorDetail> {
  return await service.get(owner, id, PAGE, never);
}

/** Waits until the condition holds; fails after half a minute by default. */
export async function eventually(what: string, condition: () => boolean, waitMs = 30_000): Promise<void> {
  const endMs = Date.now() + waitMs;
  while (!condition()) {
    if (Date.now() > endMs) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

/** The failure of a call. */
export async function failureOf(run: () => unknown): Promise<AppError> {
  try {
    await run();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("the call did not fail");
}
