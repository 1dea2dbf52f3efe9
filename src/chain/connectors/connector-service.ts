/**
 * The connectors of one application: created, read and changed. Each creation and each change is one commit of the
 * record, its credentials in the vault, its job and its event. Deletion: connector-deletions.ts.
 */
import { isDeepStrictEqual } from "node:util";
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Egress } from "../../platform/net/egress.js";
import { AppError, invalidMember } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Store, StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict, type Page } from "../../platform/store/tables.js";
import { changedConfig, requireChangeable, requireValidConfig } from "./connector-configuration.js";
import {
  changedEnv,
  changesEnv,
  sealedForm,
  withEnvValues,
  withoutEnvValues,
  type ConnectorCredentials,
  type ConnectorSecrets,
} from "./connector-credentials.js";
import type { ConnectorJobs } from "./provisioning/connector-jobs.js";
import { isUnsettled } from "./connector-lifecycle.js";
import {
  connectorOnWire,
  type ConnectorFilter,
  type ConnectorRepository,
  type StoredConnector,
} from "./connector-repository.js";
import type { Connector, ConnectorDetail, CreateConnector, Entity, Env, UpdateConnector } from "./connector-schemas.js";
import { needsContainer } from "./provisioning/container-specification.js";
import type { Entities } from "./entities.js";
import { addressesOf } from "./peers/peer-addresses.js";
import { CONNECTOR_TYPES, findConnectorType } from "./peers/probes.js";
import type { ContainerProvider } from "./providers/provider.js";
import type { Reachability } from "./peers/reachability.js";
import { eventSubject, type StatusWriter } from "./provisioning/status-writer.js";

/** The networks, as far as connectors need them. */
export interface NetworkLookup {
  /** Throws `not_found` for a network that the subject cannot see. */
  find(subject: Subject, id: string): unknown;
}

interface ConnectorServiceDependencies {
  readonly store: Store;
  readonly repository: ConnectorRepository;
  readonly credentials: ConnectorCredentials;
  readonly entities: Entities;
  readonly reachability: Reachability;
  readonly statuses: StatusWriter;
  readonly networks: NetworkLookup;
  readonly providers: ReadonlyMap<string, ContainerProvider>;
  /** The guard, for looking at addresses before they are stored. */
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

export class ConnectorService {
  readonly #dependencies: ConnectorServiceDependencies;

  constructor(dependencies: ConnectorServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns one page, oldest first. The type in the query may be in upper or lower case. */
  list(owner: Subject, query: ConnectorFilter & Page): { readonly body: Connector[]; readonly total: number } {
    const type = query.type === undefined ? undefined : (findConnectorType(query.type) ?? query.type);
    const { rows, total } = this.#dependencies.repository.list(
      owner,
      { name: query.name, type, network_id: query.network_id, status: query.status },
      { page: query.page, rpp: query.rpp },
    );
    return { body: rows.map(connectorOnWire), total };
  }

  /**
   * Creates a connector and queues its provisioning, in one commit with what `keep` returns of it.
   * @throws AppError `connector_type_unknown`, `connector_config_invalid`, `egress_refused`, `not_found` (network),
   * `connector_limit_reached`, `secret_too_long`, `vault_sealed`, and what the store throws
   */
  async create(owner: Subject, request: CreateConnector, keep?: (made: Connector) => StoreCommit): Promise<Connector> {
    const { credentials = {}, ...config } = request.config;
    const secrets = { credentials, env: changedEnv({}, config.env ?? {}) };
    const connector = this.#draft(owner, request, withoutEnvValues(config));
    requireValidConfig(connector, secrets, this.#dependencies);
    return await retryOnConflict(async () => {
      this.#requireRoom(connector);
      const wrapped = await this.#wrapped(owner, connector.id, secrets);
      const job = this.#dependencies.jobs.prepare("provision_connector", owner, connector.id);
      const stored: StoredConnector = { ...connector, secret: wrapped?.place ?? null, job_id: job.jobId };
      const made = connectorOnWire(stored);
      await this.#dependencies.store.commit(
        mergeCommits(
          this.#dependencies.statuses.creation(stored),
          job.commit,
          wrapped?.commit ?? {},
          keep?.(made) ?? {},
        ),
      );
      this.#dependencies.jobs.wake();
      return made;
    });
  }

  /**
   * Returns the record and, unless `enrichment` is given, what the peer answers now. A peer that cannot be asked does
   * not fail the answer.
   */
  async get(owner: Subject, id: string, query: DetailQuery, signal: AbortSignal): Promise<ConnectorDetail> {
    const found = this.#dependencies.repository.require(owner, id).value;
    if (query.enrichment !== undefined || isUnsettled(found.status) || !hasAddress(found))
      return connectorOnWire(found);
    const probe = await this.#dependencies.reachability.check(owner, id);
    const connector = this.#dependencies.repository.require(owner, id).value;
    const data = probe.reachable === true ? await this.#entitiesOrNull(connector, query, signal) : null;
    return { ...connectorOnWire(connector), details: { data, page: query.page, rpp: query.rpp, probe } };
  }

  /**
   * Changes name, description, configuration and credentials. A failed connector is provisioned again when its
   * configuration changes.
   * @throws AppError `connector_config_invalid`, also for what a container was made from; `connector_not_ready`
   */
  async update(owner: Subject, id: string, request: UpdateConnector): Promise<void> {
    await retryOnConflict(async () => {
      await this.#update(this.#dependencies.repository.require(owner, id), request);
    });
    this.#dependencies.jobs.wake();
  }

  /** Returns a connector as lists show it. Throws `not_found`. */
  record(owner: Subject, id: string): Connector {
    return connectorOnWire(this.#dependencies.repository.require(owner, id).value);
  }

  /** Returns the subject of a connector's events. */
  eventSubject(owner: Subject, id: string): string {
    return eventSubject(this.#dependencies.repository.require(owner, id).value);
  }

  async #update(current: StoreRecord<StoredConnector>, request: UpdateConnector): Promise<void> {
    const { owner, id, status, secret } = current.value;
    const { next, secrets } = await this.#changed(current.value, request);
    const wrapped = await this.#wrapped(owner, id, secrets);
    const restart =
      status === "failed" && request.config !== undefined
        ? this.#dependencies.jobs.prepare("provision_connector", owner, id)
        : undefined;
    await this.#dependencies.store.commit(
      mergeCommits(
        this.#dependencies.statuses.change(current, {
          name: next.name,
          config: next.config,
          secret: secrets === undefined ? secret : (wrapped?.place ?? null),
          ...(request.description === undefined ? {} : { description: request.description }),
          ...(restart === undefined ? {} : { status: "init", errors: [], job_id: restart.jobId }),
        }),
        restart?.commit ?? {},
        wrapped?.commit ?? {},
        secrets === undefined ? {} : this.#dependencies.credentials.deletion(owner, secret),
      ),
    );
  }

  /**
   * Returns a connector with its changes, and its secrets where they change. Throws as `update` does; `vault_sealed`
   * where credentials or an environment are given.
   */
  async #changed(
    current: StoredConnector,
    request: UpdateConnector,
  ): Promise<{ readonly next: StoredConnector; readonly secrets: ConnectorSecrets | undefined }> {
    const { credentials, env, ...changes } = request.config ?? {};
    const before = await this.#openedFor(current, { credentials, env });
    const secrets =
      before === undefined
        ? undefined
        : {
            credentials: credentials === undefined ? before.credentials : (credentials ?? {}),
            env: env === undefined ? before.env : changedEnv(before.env, env ?? {}),
          };
    const changed = changedConfig(
      current.config,
      secrets === undefined || env === undefined ? changes : { ...changes, env },
    );
    const next = { ...current, name: request.name ?? current.name, config: changed };
    const opened = (connector: StoredConnector, values: Env | undefined): StoredConnector =>
      values === undefined ? connector : { ...connector, config: withEnvValues(connector.config, values) };
    const [was, is] = [opened(current, before?.env), opened(next, secrets?.env)];
    // Clients send back the whole record: only another configuration has to wait for the connector's job.
    if (credentials !== undefined || !isDeepStrictEqual(is.config, was.config)) {
      requireChangeable(was, is);
      requireValidConfig(is, secrets ?? { credentials: {}, env: {} }, this.#dependencies);
    }
    return { next: secrets === undefined ? next : { ...next, config: withoutEnvValues(changed) }, secrets };
  }

  /** Returns the present secrets where a change is about them; undefined where it is about others. */
  async #openedFor(
    current: StoredConnector,
    { credentials, env }: { readonly credentials: unknown; readonly env: Env | null | undefined },
  ): Promise<ConnectorSecrets | undefined> {
    if (credentials === undefined && !changesEnv(current.config, env)) return undefined;
    // New credentials may be set although the former are no longer in the vault.
    const keepsSome = credentials === undefined || (current.config.env !== undefined && env !== null);
    return keepsSome ? await this.#dependencies.credentials.open(current) : { credentials: {}, env: {} };
  }

  /** Returns the record of a new connector. Throws `connector_type_unknown`, and `not_found` for its network. */
  #draft(owner: Subject, request: CreateConnector, config: StoredConnector["config"]): StoredConnector {
    const type = findConnectorType(request.type);
    if (type === undefined)
      throw invalidMember(
        "type",
        `Unable to define connector of invalid type; known are ${CONNECTOR_TYPES.join(", ")}`,
        "connector_type_unknown",
      );
    this.#dependencies.networks.find(owner, request.network_id);
    const now = isoTimestamp(this.#dependencies.clock.nowMs());
    return {
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
  }

  #requireRoom(connector: StoredConnector): void {
    const { repository } = this.#dependencies;
    if (repository.count(connector.owner) >= CONNECTORS_PER_OWNER_MAX)
      throw new AppError("connector_limit_reached", {
        message: `an application has at most ${String(CONNECTORS_PER_OWNER_MAX)} connectors`,
      });
    if (needsContainer(connector) && repository.countContained(connector.owner) >= CONTAINERS_PER_OWNER_MAX)
      throw new AppError("connector_limit_reached", {
        message: `an application has at most ${String(CONTAINERS_PER_OWNER_MAX)} connectors in containers`,
      });
  }

  async #wrapped(
    owner: Subject,
    id: string,
    secrets: ConnectorSecrets | undefined,
  ): Promise<Awaited<ReturnType<ConnectorCredentials["prepare"]>> | undefined> {
    return secrets === undefined || Object.keys({ ...secrets.credentials, ...secrets.env }).length === 0
      ? undefined
      : await this.#dependencies.credentials.prepare(owner, id, sealedForm(secrets));
  }

  async #entitiesOrNull(connector: StoredConnector, query: DetailQuery, signal: AbortSignal): Promise<Entity[] | null> {
    try {
      return (await this.#dependencies.entities.ofPeer(connector, query, signal)).body;
    } catch (error) {
      // The detail is answered all the same; its probe shows the state of the peer.
      if (error instanceof AppError) return null;
      throw error;
    }
  }
}

function hasAddress({ type, config, runtime }: StoredConnector): boolean {
  if (runtime !== null) return true;
  const { api, gateway } = addressesOf(type, config);
  return api !== undefined || gateway !== undefined;
}
