/**
 * Entities of a connector: asks the driver, and completes what the peer says by the notes that this server stores for
 * peers without a place for names and metadata.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import type { Store, StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict, type Page } from "../../platform/store/tables.js";
import { isUnsettled } from "./connector-lifecycle.js";
import type { ConnectorRepository, EntityNote, StoredConnector } from "./connector-repository.js";
import type { Entity, EntityInput } from "./connector-schemas.js";
import type { EntityDriver, Peer, PeerEntity } from "./drivers/driver.js";
import { contentOf, contentOnWire } from "./entity-content.js";
import type { Peers } from "./peers/peers.js";

interface EntitiesDependencies {
  readonly store: Store;
  readonly repository: ConnectorRepository;
  readonly peers: Peers;
  readonly clock: Clock;
}

/** Names an owner's connector. */
export interface ConnectorPlace {
  readonly owner: Subject;
  readonly connectorId: string;
}

/** Names an entity of an owner's connector, the entity in the peer's own way. */
export interface EntityPlace extends ConnectorPlace {
  readonly entityId: string;
}

/** What the caller keeps with a new entity. */
export interface KeptEntity {
  /** Returns what goes into the commit of the entity's note. */
  readonly made: (entity: Entity) => StoreCommit;
  /** Called before a peer is asked for what would be another entity when it is asked again. */
  readonly begin: () => Promise<void>;
}

export type EntityQuery = Page & { readonly objects?: string | undefined };

type NotedInput = Pick<EntityInput, "name" | "filename" | "type" | "source" | "parent" | "metadata">;

/** Notes of one connector: each takes up to 20 KiB in the store, and the peer limits nothing. */
const NOTES_MAX = 100_000;
const OBJECTS_MAX = 100;
/** How often the time of the last use is written. */
const ACCESS_RESOLUTION_MS = 60_000;
const NO_TEXTS = { name: null, filename: null, type: null, source: null, parent: null, metadata: null } as const;
const NO_NOTE = { created_at: null, modified_at: null, ...NO_TEXTS } as const;

export class Entities {
  readonly #dependencies: EntitiesDependencies;

  constructor(dependencies: EntitiesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns one page of what the peer has; `objects` is a comma-separated list of ids to return in its place. */
  async list(
    owner: Subject,
    connectorId: string,
    query: EntityQuery,
    signal: AbortSignal,
  ): Promise<{ readonly body: Entity[]; readonly total: number }> {
    return await this.ofPeer(await this.#used(owner, connectorId), query, signal);
  }

  /** Works as `list` for a connector that was read already, and does not count as a use of it. */
  async ofPeer(
    connector: StoredConnector,
    query: EntityQuery,
    signal: AbortSignal,
  ): Promise<{ readonly body: Entity[]; readonly total: number }> {
    const { driver, peer } = await this.#reach(connector, signal);
    const objects = query.objects
      ?.split(",")
      .map((id) => id.trim())
      .filter((id) => id !== "")
      .slice(0, OBJECTS_MAX);
    const { rows, total } = await driver.list(peer, { objects, page: { page: query.page, rpp: query.rpp } });
    return { body: rows.map((row) => entityOnWire(row, this.#note(connector, row.id))), total };
  }

  /** Puts content into the peer. It stays there if the note cannot be written: content is worth more than its name. */
  async create(
    { owner, connectorId }: ConnectorPlace,
    input: EntityInput,
    signal: AbortSignal,
    kept?: KeptEntity,
  ): Promise<Entity> {
    const connector = await this.#used(owner, connectorId);
    const content = contentOf(input);
    const { driver, peer } = await this.#reach(connector, signal);
    if (driver.keepsNotes) this.#requireRoom(connector);
    if (!driver.namesByContent) await kept?.begin();
    const made = await driver.create(peer, content);
    const type = made.type ?? content.mediaType;
    const described: PeerEntity = { ...made, ...(type === undefined ? {} : { type }) };
    if (!driver.keepsNotes) return entityOnWire(described, undefined);
    const { type: givenType, ...noted } = input;
    const notedType = givenType ?? type;
    const note = { ...noted, ...(notedType === undefined ? {} : { type: notedType }) };
    const entityOf = (written: EntityNote): Entity => entityOnWire(described, written);
    const alongside = (written: EntityNote): StoreCommit => kept?.made(entityOf(written)) ?? {};
    return entityOf(await this.#write(connector, made.id, note, alongside));
  }

  /** Returns an entity with its content. Throws `not_found`. */
  async get({ owner, connectorId, entityId }: EntityPlace, signal: AbortSignal): Promise<Entity> {
    const connector = await this.#used(owner, connectorId);
    const { driver, peer } = await this.#reach(connector, signal);
    const found = await driver.get(peer, entityId);
    const note = this.#note(connector, entityId);
    return { ...entityOnWire(found, note), ...contentOnWire(found.content, note?.type ?? found.type) };
  }

  /** Changes an entity in the peer, or its note where the peer cannot change it. Throws `not_found`. */
  async update({ owner, connectorId, entityId }: EntityPlace, input: EntityInput, signal: AbortSignal): Promise<void> {
    const connector = await this.#used(owner, connectorId);
    const content = contentOf(input);
    const { driver, peer } = await this.#reach(connector, signal);
    if (driver.keepsNotes && this.#note(connector, entityId) === undefined) this.#requireRoom(connector);
    await driver.update(peer, entityId, content);
    if (driver.keepsNotes) await this.#write(connector, entityId, input);
  }

  /** Removes an entity from the peer, and its note. Throws `not_found`. */
  async remove({ owner, connectorId, entityId }: EntityPlace, signal: AbortSignal): Promise<void> {
    const connector = await this.#used(owner, connectorId);
    const { driver, peer } = await this.#reach(connector, signal);
    await driver.remove(peer, entityId);
    await retryOnConflict(async () => {
      await this.#dependencies.store.commit(this.#dependencies.repository.deleteNote(owner, connectorId, entityId));
    });
  }

  /** Returns a connector whose peer is about to be used. Throws `connector_not_ready` while there is none. */
  async #used(owner: Subject, connectorId: string): Promise<StoredConnector> {
    const record = this.#dependencies.repository.require(owner, connectorId);
    const { status } = record.value;
    if (isUnsettled(status) || status === "failed")
      throw new AppError("connector_not_ready", { message: `the connector is ${status}` });
    await this.#touch(record);
    return record.value;
  }

  /** Writes the time of the last use. That is no change: it sets no `updated_at` and makes no event. */
  async #touch({ value: { owner, id, accessed_at } }: StoreRecord<StoredConnector>): Promise<void> {
    const nowMs = this.#dependencies.clock.nowMs();
    if (accessed_at !== null && nowMs - Date.parse(accessed_at) < ACCESS_RESOLUTION_MS) return;
    try {
      await retryOnConflict(async () => {
        const current = this.#dependencies.repository.require(owner, id);
        await this.#dependencies.store.commit(
          this.#dependencies.repository.update(current, { ...current.value, accessed_at: isoTimestamp(nowMs) }),
        );
      });
    } catch (error) {
      // With a full disk, entities can still be read; only the time is not written.
      if (!(error instanceof AppError) || error.code !== "storage_full") throw error;
    }
  }

  async #reach(
    connector: StoredConnector,
    signal: AbortSignal,
  ): Promise<{ readonly driver: EntityDriver; readonly peer: Peer }> {
    const driver = this.#dependencies.peers.entities(connector);
    return { driver, peer: await this.#dependencies.peers.peer(connector, signal) };
  }

  #note({ owner, id }: StoredConnector, entityId: string): EntityNote | undefined {
    return this.#dependencies.repository.findNote(owner, id, entityId)?.value;
  }

  #requireRoom({ owner, id }: StoredConnector): void {
    if (this.#dependencies.repository.countNotes(owner, id) >= NOTES_MAX)
      throw new AppError("connector_limit_reached", {
        message: `a connector has at most ${String(NOTES_MAX)} entities`,
      });
  }

  async #write(
    { owner, id }: StoredConnector,
    entityId: string,
    input: NotedInput,
    alongside: (note: EntityNote) => StoreCommit = () => ({}),
  ): Promise<EntityNote> {
    const { clock, repository, store } = this.#dependencies;
    return await retryOnConflict(async () => {
      const now = isoTimestamp(clock.nowMs());
      const before = repository.findNote(owner, id, entityId)?.value ?? {
        id: entityId,
        owner,
        connector_id: id,
        created_at: now,
        modified_at: now,
        ...NO_TEXTS,
      };
      const note = { ...changedNote(before, input), modified_at: now };
      // A connector that was deleted meanwhile must not get notes.
      const { key, version } = repository.require(owner, id);
      await store.commit(mergeCommits(repository.putNote(note), { checks: [{ key, version }] }, alongside(note)));
      return note;
    });
  }
}

/** Returns a note with the members of `input` in place of its own; null removes one, and absent ones stay. */
function changedNote(before: EntityNote, input: NotedInput): EntityNote {
  const { name, filename, type, source, parent, metadata } = input;
  return {
    ...before,
    name: name === undefined ? before.name : name,
    filename: filename === undefined ? before.filename : filename,
    type: type === undefined ? before.type : type,
    source: source === undefined ? before.source : source,
    parent: parent === undefined ? before.parent : parent,
    metadata: metadata === undefined ? before.metadata : metadata === null ? null : JSON.stringify(metadata),
  };
}

/** Returns an entity as clients see it. The note takes precedence over what the peer says. */
function entityOnWire(found: PeerEntity, note: EntityNote | undefined): Entity {
  const { created_at, modified_at, name, filename, type, source, parent, metadata } = note ?? NO_NOTE;
  return {
    id: found.id,
    created_at,
    modified_at,
    name: name ?? found.name ?? null,
    filename,
    type: type ?? found.type ?? null,
    hash: found.hash ?? null,
    href: found.href ?? null,
    size: found.size ?? null,
    source,
    parent,
    metadata: metadata === null ? (found.metadata ?? null) : (JSON.parse(metadata) as Record<string, unknown>),
    ...(found.children === undefined ? {} : { children: [...found.children] }),
  };
}
