/**
 * Connectors and the notes about their entities in the store. Keys start with the owner. Builds commits, which the
 * callers merge and commit.
 */
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import { notFound } from "../../platform/errors.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../../platform/store/store.js";
import { defineTable, mergeCommits, type Listing, type Page, type Table } from "../../platform/store/tables.js";
import type { SecretPlace } from "../sealed-credentials.js";
import { withoutEnvValues } from "./connector-credentials.js";
import type { Connector, ConnectorConfig, ConnectorFinding } from "./connector-schemas.js";
import type { ConnectorType } from "./peers/probes.js";
import { isProbed, isUnsettled, type ConnectorStatus } from "./connector-lifecycle.js";
import type { ContainerRuntime } from "./providers/provider.js";

export interface StoredConnector {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly owner: Subject;
  readonly network_id: string;
  readonly name: string;
  readonly type: ConnectorType;
  readonly status: ConnectorStatus;
  readonly description: string | null;
  /** As given, without credentials and the values of `env`. */
  readonly config: ConnectorConfig;
  readonly accessed_at: string | null;
  readonly is_virtual: boolean;
  readonly errors: readonly ConnectorFinding[];
  readonly secret: SecretPlace | null;
  /** Set once a provider runs containers for it. */
  readonly runtime: ContainerRuntime | null;
  /** The job that provisions or deprovisions it. */
  readonly job_id: string | null;
}

/** What this server stores about an entity because its peer cannot. */
export interface EntityNote {
  readonly id: string;
  readonly created_at: string;
  readonly modified_at: string;
  readonly owner: Subject;
  readonly connector_id: string;
  readonly name: string | null;
  readonly filename: string | null;
  readonly type: string | null;
  readonly source: string | null;
  readonly parent: string | null;
  /** JSON text. */
  readonly metadata: string | null;
}

export interface ConnectorFilter {
  readonly name?: string | undefined;
  readonly type?: string | undefined;
  readonly network_id?: string | undefined;
  readonly status?: string | undefined;
}

const FILTERS = ["name", "type", "network_id", "status"] as const;
const NOTE_TABLES = ["connector_entity", "connector_entity#connector"] as const;

export class ConnectorRepository {
  readonly #connectors: Table<StoredConnector, "owner" | "probed" | "unsettled" | "contained", never>;
  readonly #notes: Table<EntityNote, "connector", never>;

  constructor(dependencies: { readonly store: Pick<Store, "get" | "range" | "count"> }) {
    this.#connectors = defineTable<StoredConnector, "owner" | "probed" | "unsettled" | "contained">(
      {
        name: "connector",
        key: ({ owner, id }) => [...ownerKey(owner), id],
        indexes: {
          owner: ({ owner }) => ownerKey(owner),
          probed: ({ status, is_virtual }) => (isProbed(status) && !is_virtual ? [] : undefined),
          unsettled: ({ status }) => (isUnsettled(status) ? [] : undefined),
          contained: ({ owner, config, is_virtual }) =>
            config.provider_id !== undefined && !is_virtual ? ownerKey(owner) : undefined,
        },
      },
      dependencies,
    );
    this.#notes = defineTable<EntityNote, "connector">(
      {
        name: "connector_entity",
        key: ({ owner, connector_id, id }) => [...ownerKey(owner), connector_id, id],
        indexes: { connector: ({ owner, connector_id }) => [...ownerKey(owner), connector_id] },
      },
      dependencies,
    );
  }

  /** Returns a connector of the owner by its id. */
  find(owner: Subject, id: string): StoreRecord<StoredConnector> | undefined {
    return this.#connectors.get([...ownerKey(owner), id]);
  }

  /** Returns a connector. Throws `not_found`, in the same words whether it is absent or another owner's. */
  require(owner: Subject, id: string): StoreRecord<StoredConnector> {
    const found = this.find(owner, id);
    if (found === undefined) throw notFound("connector");
    return found;
  }

  /** Returns one page, oldest first; filters compare for equality. */
  list(owner: Subject, filter: ConnectorFilter, page: Page): Listing<StoredConnector> {
    const given = FILTERS.filter((member) => filter[member] !== undefined);
    return this.#connectors.list("owner", ownerKey(owner), {
      page,
      ...(given.length === 0
        ? {}
        : { filter: (connector: StoredConnector) => given.every((member) => connector[member] === filter[member]) }),
    });
  }

  /** Counts the connectors of an owner. */
  count(owner: Subject): number {
    return this.#connectors.count("owner", ownerKey(owner));
  }

  /** Counts the connectors of an owner that a provider runs containers for. */
  countContained(owner: Subject): number {
    return this.#connectors.count("contained", ownerKey(owner));
  }

  /** Returns one page of the connectors of all owners whose status probes decide, or that wait for a job. */
  page(index: "probed" | "unsettled", page: Page): StoredConnector[] {
    return this.#connectors.list(index, [], { page }).rows;
  }

  /** Builds the commit that adds a connector. */
  insert(connector: StoredConnector): StoreCommit {
    return this.#connectors.insertCommit(connector);
  }

  /** Builds the commit that changes a connector. Conflicts when it is no longer as read. */
  update(current: StoreRecord<StoredConnector>, next: StoredConnector): StoreCommit {
    return this.#connectors.updateCommit(current, next);
  }

  /** Builds the commit that deletes a connector with the notes about its entities. */
  deletion(current: StoreRecord<StoredConnector>): StoreCommit {
    const { owner, id } = current.value;
    return mergeCommits(this.#connectors.deleteCommit(current), {
      deletePrefixes: NOTE_TABLES.map((table): StoreKey => [table, ...ownerKey(owner), id]),
    });
  }

  /** Returns the note about an entity. */
  findNote(owner: Subject, connectorId: string, entityId: string): StoreRecord<EntityNote> | undefined {
    return this.#notes.get([...ownerKey(owner), connectorId, entityId]);
  }

  /** Counts the notes of a connector. */
  countNotes(owner: Subject, connectorId: string): number {
    return this.#notes.count("connector", [...ownerKey(owner), connectorId]);
  }

  /** Builds the commit that adds or replaces a note. */
  putNote(note: EntityNote): StoreCommit {
    const current = this.findNote(note.owner, note.connector_id, note.id);
    return current === undefined ? this.#notes.insertCommit(note) : this.#notes.updateCommit(current, note);
  }

  /** Builds the commit that deletes a note, if there is one. */
  deleteNote(owner: Subject, connectorId: string, entityId: string): StoreCommit {
    const current = this.findNote(owner, connectorId, entityId);
    return current === undefined ? {} : this.#notes.deleteCommit(current);
  }
}

/**
 * Returns a connector as clients see it: without credentials or ids of secrets, and with the URLs and ports that its
 * containers publish.
 */
export function connectorOnWire(stored: StoredConnector): Connector {
  const {
    id,
    created_at,
    updated_at,
    owner,
    network_id,
    name,
    type,
    status,
    description,
    config,
    accessed_at,
    is_virtual,
    errors,
    runtime,
  } = stored;
  return {
    id,
    created_at,
    updated_at,
    application_id: owner.id,
    network_id,
    name,
    type,
    status,
    description,
    config: withoutEnvValues(runtime === null ? config : { ...config, ...publishedConfig(runtime) }),
    accessed_at,
    ...(is_virtual ? { is_virtual: true as const } : {}),
    errors: [...errors],
  };
}

function publishedConfig({ api, gateway }: ContainerRuntime): ConnectorConfig {
  return {
    ...(api === null ? {} : { api_url: api.url, api_port: api.port }),
    ...(gateway === null ? {} : { gateway_url: gateway.url, gateway_port: gateway.port }),
  };
}
