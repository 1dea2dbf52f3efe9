/**
 * Connectors: what their routes do, for one application at a time. Checks configurations, moves credentials into the
 * vault, queues the durable jobs, and decides who may have what. Knows no HTTP.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Egress } from "../../platform/net/egress.js";
import { AppError } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Store, StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict, type Page } from "../../platform/store/tables.js";
import { addressesOf, guardedUrl } from "./peer-addresses.js";
import type {
  Connector,
  ConnectorConfig,
  ConnectorDetail,
  ContainerLogs,
  ContainerNode,
  CreateConnector,
  Credentials,
  Entity,
  EntityInput,
  LoadBalancer,
  UpdateConnector,
} from "./connector-schemas.js";
import { CONNECTOR_TYPES, findConnectorType } from "./probes.js";
import { CONTAINER_MEMBERS, containerSpec, needsContainer } from "./containers.js";
import type { ConnectorCredentials } from "./connector-credentials.js";
import type { Entities } from "./entities.js";
import { isUnsettled } from "./connector-lifecycle.js";
import type { ContainerProvider } from "./providers/provider.js";
import type { Reachability } from "./reachability.js";
import {
  connectorOnWire,
  type ConnectorFilter,
  type ConnectorRepository,
  type StoredConnector,
} from "./connector-repository.js";
import { eventSubject, type StatusWriter } from "./status-writer.js";

export type ConnectorJobKind = "provision_connector" | "deprovision_connector";

/** The durable queue, as far as this service needs it. */
export interface ConnectorJobs {
  /** A new job about a connector, to be written by the caller's commit. */
  prepare(
    kind: ConnectorJobKind,
    owner: Subject,
    connectorId: string,
  ): { readonly jobId: string; readonly commit: StoreCommit };
  wake(): void;
  cancel(jobId: string): Promise<void>;
  /** Resolves when the job has ended or is gone, or when the time is up. */
  untilSettled(jobId: string, options: { readonly waitMs: number; readonly signal: AbortSignal }): Promise<void>;
  /** True while the job waits or runs. */
  isOpen(jobId: string): boolean;
}

/**
 * The networks of the chain area, as far as connectors need them: throws `not_found` for one that the subject does not
 * see.
 */
export interface NetworkLookup {
  find(subject: Subject, id: string): unknown;
}

export interface ConnectorServiceDependencies {
  readonly store: Store;
  readonly repository: ConnectorRepository;
  readonly credentials: ConnectorCredentials;
  readonly entities: Entities;
  readonly reachability: Reachability;
  readonly statuses: StatusWriter;
  readonly networks: NetworkLookup;
  readonly providers: ReadonlyMap<string, ContainerProvider>;
  /** The guard, for looking at addresses before they are kept. */
  readonly egress: Egress;
  readonly jobs: ConnectorJobs;
  readonly clock: Clock;
}

export interface DetailQuery extends Page {
  readonly objects?: string | undefined;
  readonly enrichment?: string | undefined;
}

/** Each is probed about once a minute. */
const CONNECTORS_PER_OWNER_MAX = 500;
/** Containers run on the operator's own host. */
const CONTAINERS_PER_OWNER_MAX = 16;
/** How long a deletion waits for the provider before it answers that it goes on by itself. */
const DELETE_WAIT_MS = 30_000;
/** How often the time of the last use is written. */
const ACCESS_RESOLUTION_MS = 60_000;
const PURGE_PAGE = { page: 1, rpp: 100 };

export class ConnectorService {
  readonly #with: ConnectorServiceDependencies;

  constructor(dependencies: ConnectorServiceDependencies) {
    this.#with = dependencies;
  }

  /** One page, oldest first. The type is taken in any case. */
  list(owner: Subject, query: ConnectorFilter & Page): { readonly body: Connector[]; readonly total: number } {
    const type = query.type === undefined ? undefined : (findConnectorType(query.type) ?? query.type);
    const { rows, total } = this.#with.repository.list(
      owner,
      { type, network_id: query.network_id, status: query.status },
      { page: query.page, rpp: query.rpp },
    );
    return { body: rows.map(connectorOnWire), total };
  }

  /**
   * Creates a connector: one commit writes it, its credentials in the vault, its job and its event.
   * @throws AppError `connector_type_unknown`, `connector_config_invalid`, `egress_refused`, `not_found` (network),
   * `connector_limit_reached`, `secret_too_long`, `vault_sealed`, and what the store throws.
   */
  async create(owner: Subject, request: CreateConnector): Promise<Connector> {
    const type = findConnectorType(request.type);
    if (type === undefined) throw unknownType();
    if (request.application_id !== undefined && request.application_id !== null && request.application_id !== owner.id)
      throw invalid("application_id", "application_id: not the application of the token");
    this.#with.networks.find(owner, request.network_id);
    const { credentials, ...config } = request.config;
    const now = isoTimestamp(this.#with.clock.nowMs());
    const connector: StoredConnector = {
      id: newId(),
      created_at: now,
      updated_at: now,
      owner,
      network_id: request.network_id,
      name: request.name,
      type,
      status: "init",
      description: request.description ?? null,
      config,
      accessed_at: null,
      is_virtual: request.is_virtual ?? false,
      errors: [],
      secret: null,
      runtime: null,
      job_id: null,
    };
    this.#requireSound(connector, credentials ?? {});
    return await retryOnConflict(async () => {
      this.#requireRoom(connector);
      const wrapped = await this.#wrap(owner, connector.id, credentials);
      const job = this.#with.jobs.prepare("provision_connector", owner, connector.id);
      const stored: StoredConnector = { ...connector, secret: wrapped?.place ?? null, job_id: job.jobId };
      await this.#with.store.commit(
        mergeCommits(this.#with.statuses.creation(stored), job.commit, wrapped?.commit ?? {}),
      );
      this.#with.jobs.wake();
      return connectorOnWire(stored);
    });
  }

  /** The record, and what the peer says now unless `enrichment` is given. What cannot be asked is left away. */
  async get(owner: Subject, id: string, query: DetailQuery, signal: AbortSignal): Promise<ConnectorDetail> {
    const found = this.#with.repository.require(owner, id).value;
    if (query.enrichment !== undefined || isUnsettled(found.status) || !hasAddress(found))
      return connectorOnWire(found);
    const probe = await this.#with.reachability.check(owner, id);
    const connector = this.#with.repository.require(owner, id).value;
    const data = probe.reachable === true ? await this.#entitiesOrNull(connector, query, signal) : null;
    return { ...connectorOnWire(connector), details: { data, page: query.page, rpp: query.rpp, probe } };
  }

  /**
   * Changes name, description, configuration and credentials. Throws `connector_config_invalid` for what a container
   * was made from.
   */
  async update(owner: Subject, id: string, request: UpdateConnector): Promise<void> {
    await retryOnConflict(async () => {
      await this.#update(this.#with.repository.require(owner, id), request);
    });
    this.#with.jobs.wake();
  }

  /**
   * Deletes a connector. Without containers at once; else the durable job removes them first. Resolves to false when
   * the provider is not done yet. Throws `connector_not_deleted` when it refused; the connector stays, and may be
   * deleted again.
   */
  async delete(owner: Subject, id: string, signal: AbortSignal): Promise<boolean> {
    const jobId = await retryOnConflict(async () => await this.#beginDeletion(owner, id));
    if (jobId === undefined) return true;
    this.#with.jobs.wake();
    await this.#with.jobs.untilSettled(jobId, { waitMs: DELETE_WAIT_MS, signal });
    const left = this.#with.repository.find(owner, id)?.value;
    if (left === undefined) return true;
    if (this.#with.jobs.isOpen(jobId)) return false;
    const [reason] = left.errors;
    throw new AppError("connector_not_deleted", {
      message: `connector not deleted: ${reason?.message ?? "the provider did not remove its containers"}`,
    });
  }

  /**
   * Takes up what no job works on any more: a deletion whose provider refused, a provisioning that was cancelled and
   * not followed by a deletion.
   */
  async resume({ owner, id }: StoredConnector): Promise<void> {
    await retryOnConflict(async () => {
      const current = this.#with.repository.find(owner, id);
      if (current === undefined || (current.value.job_id !== null && this.#with.jobs.isOpen(current.value.job_id)))
        return;
      const { status } = current.value;
      if (status === "deprovisioning") await this.#queueDeletion(current);
      if (status !== "init" && status !== "provisioning") return;
      const job = this.#with.jobs.prepare("provision_connector", owner, id);
      await this.#with.store.commit(
        mergeCommits(this.#with.statuses.change(current, { job_id: job.jobId }), job.commit),
      );
    });
    this.#with.jobs.wake();
  }

  /** Deletes all connectors of a subject that is going. Safe to repeat. */
  async purge(owner: Subject): Promise<void> {
    const { signal } = new AbortController();
    for (;;) {
      const { rows } = this.#with.repository.list(owner, {}, PURGE_PAGE);
      if (rows.length === 0) return;
      for (const { id } of rows) {
        if (!(await this.delete(owner, id, signal)))
          throw new AppError("connector_not_deleted", {
            message: "a connector's containers are still being removed; try again",
          });
      }
    }
  }

  async listEntities(
    owner: Subject,
    id: string,
    query: Page & { readonly objects?: string | undefined },
    signal: AbortSignal,
  ): Promise<{ readonly body: Entity[]; readonly total: number }> {
    return await this.#with.entities.list(await this.#used(owner, id), query, signal);
  }

  async createEntity(owner: Subject, id: string, input: EntityInput, signal: AbortSignal): Promise<Entity> {
    return await this.#with.entities.create(await this.#used(owner, id), input, signal);
  }

  async getEntity(owner: Subject, id: string, entityId: string, signal: AbortSignal): Promise<Entity> {
    return await this.#with.entities.get(await this.#used(owner, id), entityId, signal);
  }

  async updateEntity(
    owner: Subject,
    id: string,
    entityId: string,
    input: EntityInput,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#with.entities.update(await this.#used(owner, id), entityId, input, signal);
  }

  async removeEntity(owner: Subject, id: string, entityId: string, signal: AbortSignal): Promise<void> {
    await this.#with.entities.remove(await this.#used(owner, id), entityId, signal);
  }

  /** What listeners to a connector listen to. */
  eventSubject(owner: Subject, id: string): string {
    return eventSubject(this.#with.repository.require(owner, id).value);
  }

  async nodes(owner: Subject, id: string, signal: AbortSignal): Promise<ContainerNode[]> {
    const { provider, connector } = this.#contained(owner, id);
    return provider === undefined
      ? []
      : await provider.nodes(
          id,
          { applicationId: owner.id, networkId: connector.network_id, role: connector.config.role ?? "peer" },
          signal,
        );
  }

  async loadBalancers(owner: Subject, id: string, signal: AbortSignal): Promise<LoadBalancer[]> {
    return (await this.#contained(owner, id).provider?.endpoints(id, signal)) ?? [];
  }

  async logs(owner: Subject, id: string, lines: number, signal: AbortSignal): Promise<ContainerLogs> {
    const { provider } = this.#contained(owner, id);
    return {
      logs: provider === undefined ? [] : await provider.logs(id, lines, signal),
      prev_token: null,
      next_token: null,
    };
  }

  async #update(current: StoreRecord<StoredConnector>, request: UpdateConnector): Promise<void> {
    const { owner, id, status, secret } = current.value;
    const { credentials, ...changes } = request.config ?? {};
    const next = {
      ...current.value,
      name: request.name ?? current.value.name,
      config: merged(current.value.config, changes),
    };
    if (request.config !== undefined) this.#requireChangeable(current.value, next, credentials ?? {});
    const wrapped = await this.#wrap(owner, id, credentials ?? undefined);
    // What made it fail may be set right now.
    const restart =
      status === "failed" && request.config !== undefined
        ? this.#with.jobs.prepare("provision_connector", owner, id)
        : undefined;
    await this.#with.store.commit(
      mergeCommits(
        this.#with.statuses.change(current, {
          name: next.name,
          config: next.config,
          secret: wrapped?.place ?? (credentials === null ? null : secret),
          ...(request.description === undefined ? {} : { description: request.description }),
          ...(restart === undefined ? {} : { status: "init", errors: [], job_id: restart.jobId }),
        }),
        restart?.commit ?? {},
        wrapped?.commit ?? {},
        credentials === undefined ? {} : this.#with.credentials.deletion(owner, secret),
      ),
    );
  }

  #requireChangeable(before: StoredConnector, next: StoredConnector, credentials: Credentials): void {
    const { status, runtime } = before;
    if (isUnsettled(status))
      throw new AppError("connector_not_ready", {
        message: `the connector is ${status}; its configuration may change when that has ended`,
      });
    if (runtime !== null) {
      requireSameContainer(before.config, next.config);
      if (!needsContainer(next))
        throw invalid(
          "config",
          `config: the connector runs in a container of ${runtime.provider_id}; delete it and create another for an address`,
        );
    }
    this.#requireSound(next, credentials);
  }

  async #beginDeletion(owner: Subject, id: string): Promise<string | undefined> {
    const current = this.#with.repository.require(owner, id);
    const { status, secret, job_id: jobId } = current.value;
    if (status === "deprovisioning") {
      if (jobId !== null && this.#with.jobs.isOpen(jobId)) return jobId;
      return await this.#queueDeletion(current);
    }
    const isContained = needsContainer(current.value) && this.#providerOf(current.value) !== undefined;
    if (!isContained && current.value.runtime !== null)
      throw new AppError("connector_not_deleted", {
        message: "connector not deleted: this server no longer has the provider that runs its containers",
      });
    // Before anything is stopped: a sealed vault refuses.
    const secretDeletion = isContained ? {} : this.#with.credentials.deletion(owner, secret);
    // A running job would make containers while another removes them.
    if (jobId !== null) await this.#with.jobs.cancel(jobId);
    const settled = this.#with.repository.require(owner, id);
    if (isContained) return await this.#queueDeletion(settled);
    await this.#with.store.commit(mergeCommits(this.#with.statuses.removal(settled), secretDeletion));
    return undefined;
  }

  async #queueDeletion(current: StoreRecord<StoredConnector>): Promise<string> {
    const { owner, id } = current.value;
    const job = this.#with.jobs.prepare("deprovision_connector", owner, id);
    await this.#with.store.commit(
      mergeCommits(
        this.#with.statuses.change(current, { status: "deprovisioning", errors: [], job_id: job.jobId }),
        job.commit,
      ),
    );
    return job.jobId;
  }

  /**
   * Addresses that the guard would never fetch, and containers that the provider cannot run, are refused before
   * anything is kept.
   */
  #requireSound(connector: StoredConnector, credentials: Credentials): void {
    const { type, config } = connector;
    const { api, gateway } = addressesOf(type, config);
    if (api !== undefined) this.#with.egress.checkUrl(guardedUrl(api));
    if (gateway !== undefined) this.#with.egress.checkUrl(gateway);
    if (needsContainer(connector)) {
      const spec = containerSpec(connector, credentials);
      this.#providerOf(connector)?.check(spec);
    } else if (api === undefined && gateway === undefined && !connector.is_virtual) {
      throw invalid(
        "config",
        "config: needs an address (api_url, rpc_url, or host with port), or a provider_id that is to run a container",
      );
    }
  }

  #requireRoom(connector: StoredConnector): void {
    if (this.#with.repository.count(connector.owner) >= CONNECTORS_PER_OWNER_MAX)
      throw new AppError("connector_limit_reached", {
        message: `an application has at most ${String(CONNECTORS_PER_OWNER_MAX)} connectors`,
      });
    if (
      needsContainer(connector) &&
      this.#with.repository.countContained(connector.owner) >= CONTAINERS_PER_OWNER_MAX
    ) {
      throw new AppError("connector_limit_reached", {
        message: `an application has at most ${String(CONTAINERS_PER_OWNER_MAX)} connectors in containers`,
      });
    }
  }

  async #wrap(
    owner: Subject,
    id: string,
    credentials: Credentials | undefined,
  ): Promise<Awaited<ReturnType<ConnectorCredentials["prepare"]>> | undefined> {
    return credentials === undefined || Object.keys(credentials).length === 0
      ? undefined
      : await this.#with.credentials.prepare(owner, id, credentials);
  }

  /** A connector whose peer is about to be used. Throws `connector_not_ready` while there is none. */
  async #used(owner: Subject, id: string): Promise<StoredConnector> {
    const record = this.#with.repository.require(owner, id);
    const { status } = record.value;
    if (isUnsettled(status) || status === "failed")
      throw new AppError("connector_not_ready", { message: `the connector is ${status}` });
    await this.#touch(record);
    return record.value;
  }

  /**
   * Not a change: neither `updated_at` nor listeners hear of it. Whoever changes the record at the same time comes
   * first.
   */
  async #touch(record: StoreRecord<StoredConnector>): Promise<void> {
    const { accessed_at } = record.value;
    const nowMs = this.#with.clock.nowMs();
    if (accessed_at !== null && nowMs - Date.parse(accessed_at) < ACCESS_RESOLUTION_MS) return;
    try {
      await retryOnConflict(async () => {
        const current = this.#with.repository.require(record.value.owner, record.value.id);
        await this.#with.store.commit(
          this.#with.repository.update(current, { ...current.value, accessed_at: isoTimestamp(nowMs) }),
        );
      });
    } catch (error) {
      // On a full disk reads go on, and when they were is not noted.
      if (!(error instanceof AppError) || error.code !== "storage_full") throw error;
    }
  }

  async #entitiesOrNull(connector: StoredConnector, query: DetailQuery, signal: AbortSignal): Promise<Entity[] | null> {
    try {
      return (await this.#with.entities.list(connector, query, signal)).body;
    } catch (error) {
      // A detail is answered whatever its peer does; the probe says how the peer is.
      if (error instanceof AppError) return null;
      throw error;
    }
  }

  #contained(
    owner: Subject,
    id: string,
  ): { readonly connector: StoredConnector; readonly provider: ContainerProvider | undefined } {
    const connector = this.#with.repository.require(owner, id).value;
    return { connector, provider: needsContainer(connector) ? this.#providerOf(connector) : undefined };
  }

  #providerOf({ config }: StoredConnector): ContainerProvider | undefined {
    return config.provider_id === undefined ? undefined : this.#with.providers.get(config.provider_id.toLowerCase());
  }
}

function hasAddress({ type, config, runtime }: StoredConnector): boolean {
  if (runtime !== null) return true;
  const { api, gateway } = addressesOf(type, config);
  return api !== undefined || gateway !== undefined;
}

/** Members that are null are taken away. */
function merged(
  config: ConnectorConfig,
  changes: { readonly [M in keyof ConnectorConfig]?: ConnectorConfig[M] | null },
): ConnectorConfig {
  return Object.fromEntries(
    Object.entries({ ...config, ...changes }).filter(([, value]) => value !== null && value !== undefined),
  );
}

function requireSameContainer(before: ConnectorConfig, after: ConnectorConfig): void {
  const changed = CONTAINER_MEMBERS.find((member) => JSON.stringify(before[member]) !== JSON.stringify(after[member]));
  if (changed !== undefined)
    throw invalid(
      `config.${changed}`,
      `config.${changed}: the container was made from it; delete the connector and create another`,
    );
}

function unknownType(): AppError {
  const message = `Unable to define connector of invalid type; known are ${CONNECTOR_TYPES.join(", ")}`;
  return new AppError("connector_type_unknown", {
    message,
    details: [{ message, code: "connector_type_unknown", path: "type" }],
  });
}

function invalid(path: string, message: string): AppError {
  return new AppError("connector_config_invalid", {
    message,
    details: [{ message, code: "connector_config_invalid", path }],
  });
}
