/**
 * Entities of a connector: content decoded and bounded, the driver asked, and our notes put beside what the peer says.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import type { Store } from "../../platform/store/store.js";
import { retryOnConflict, type Page } from "../../platform/store/tables.js";
import {
  ENTITY_BYTES_MAX,
  ENTITY_CONTENT_BYTES_MAX,
  ENTITY_TEXT_BYTES_MAX,
  METADATA_BYTES_MAX,
  type Entity,
  type EntityInput,
} from "./connector-schemas.js";
import type { EntityContent, EntityDriver, Peer, PeerEntity } from "./drivers/driver.js";
import type { Peers } from "./peers.js";
import type { ConnectorRepository, EntityNote, StoredConnector } from "./connector-repository.js";

export interface EntitiesDependencies {
  readonly store: Store;
  readonly repository: ConnectorRepository;
  readonly peers: Peers;
  readonly clock: Clock;
}

/** Notes of one connector: each is up to 20 KiB in the store, and the peer bounds nothing for us. */
const NOTES_MAX = 100_000;
const OBJECTS_MAX = 100;
const NO_NOTE = {
  created_at: null,
  modified_at: null,
  name: null,
  filename: null,
  type: null,
  source: null,
  parent: null,
  metadata: null,
} as const;
const TEXT_TYPE = "text/plain";
const BINARY_TYPE = "application/octet-stream";

export class Entities {
  readonly #with: EntitiesDependencies;

  constructor(dependencies: EntitiesDependencies) {
    this.#with = dependencies;
  }

  /** One page of what the peer has; `objects` is a comma list of ids. */
  async list(
    connector: StoredConnector,
    query: Page & { readonly objects?: string | undefined },
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

  /**
   * Puts content into the peer. What was pinned and could not be noted is not taken back: content is worth more than a
   * name.
   */
  async create(connector: StoredConnector, input: EntityInput, signal: AbortSignal): Promise<Entity> {
    const content = contentOf(input);
    const { driver, peer } = await this.#reach(connector, signal);
    if (driver.keepsNotes) this.#requireRoom(connector);
    const made = await driver.create(peer, content);
    const described: PeerEntity = {
      ...made,
      ...(made.type === undefined && content.mediaType !== undefined ? { type: content.mediaType } : {}),
    };
    const note = driver.keepsNotes ? await this.#write(connector, described, content, { isNew: true }) : undefined;
    return entityOnWire(described, note);
  }

  async get(connector: StoredConnector, entityId: string, signal: AbortSignal): Promise<Entity> {
    const { driver, peer } = await this.#reach(connector, signal);
    const found = await driver.get(peer, entityId);
    const note = this.#note(connector, entityId);
    return { ...entityOnWire(found, note), ...contentOnWire(found, note) };
  }

  async update(connector: StoredConnector, entityId: string, input: EntityInput, signal: AbortSignal): Promise<void> {
    const content = contentOf(input);
    const { driver, peer } = await this.#reach(connector, signal);
    if (driver.keepsNotes && this.#note(connector, entityId) === undefined) this.#requireRoom(connector);
    await driver.update(peer, entityId, content);
    if (driver.keepsNotes) await this.#write(connector, { id: entityId }, content, { isNew: false });
  }

  async remove(connector: StoredConnector, entityId: string, signal: AbortSignal): Promise<void> {
    const { driver, peer } = await this.#reach(connector, signal);
    await driver.remove(peer, entityId);
    await retryOnConflict(async () => {
      await this.#with.store.commit(this.#with.repository.deleteNote(connector.owner, connector.id, entityId));
    });
  }

  async #reach(
    connector: StoredConnector,
    signal: AbortSignal,
  ): Promise<{ readonly driver: EntityDriver; readonly peer: Peer }> {
    const driver = this.#with.peers.entities(connector);
    return { driver, peer: await this.#with.peers.peer(connector, signal) };
  }

  #note({ owner, id }: StoredConnector, entityId: string): EntityNote | undefined {
    return this.#with.repository.findNote(owner, id, entityId)?.value;
  }

  #requireRoom({ owner, id }: StoredConnector): void {
    if (this.#with.repository.countNotes(owner, id) >= NOTES_MAX)
      throw new AppError("connector_limit_reached", {
        message: `a connector keeps at most ${String(NOTES_MAX)} entities`,
      });
  }

  async #write(
    connector: StoredConnector,
    entity: PeerEntity,
    content: EntityContent,
    { isNew }: { readonly isNew: boolean },
  ): Promise<EntityNote> {
    return await retryOnConflict(async () => {
      const before = this.#note(connector, entity.id);
      const note = noteOf(
        connector.owner,
        connector.id,
        entity,
        content,
        before,
        isoTimestamp(this.#with.clock.nowMs()),
        isNew,
      );
      // A connector that was deleted meanwhile must not gain notes.
      const pin = this.#with.repository.require(connector.owner, connector.id);
      const commit = this.#with.repository.putNote(note);
      await this.#with.store.commit({
        ...commit,
        checks: [...(commit.checks ?? []), { key: pin.key, version: pin.version }],
      });
      return note;
    });
  }
}

/** Decodes what was sent. Throws `connector_config_invalid` and `body_too_large`. */
export function contentOf(input: EntityInput): EntityContent {
  const sources = (["data_url", "raw", "hash", "children"] as const).filter(
    (member) => input[member] !== undefined && input[member] !== null,
  );
  if (sources.length > 1)
    throw refused(sources[1] ?? "", `give one of data_url, raw, hash and children, not ${sources.join(" and ")}`);
  if (
    input.metadata !== undefined &&
    input.metadata !== null &&
    Buffer.byteLength(JSON.stringify(input.metadata)) > METADATA_BYTES_MAX
  ) {
    throw refused("metadata", `metadata: more than ${String(METADATA_BYTES_MAX)} bytes of JSON`);
  }
  const own = decoded(input, "data_url");
  const children = (input.children ?? []).map((child, index) => {
    const content = decoded(child, `children.${String(index)}.data_url`);
    if (content === undefined)
      throw refused(`children.${String(index)}`, `children.${String(index)}: needs data_url or raw`);
    return { filename: child.filename, bytes: content.bytes };
  });
  if (new Set(children.map(({ filename }) => filename)).size !== children.length)
    throw refused("children", "children: two have the same filename");
  const total = children.reduce((sum, { bytes }) => sum + bytes.length, own?.bytes.length ?? 0);
  if (total > ENTITY_BYTES_MAX)
    throw new AppError("body_too_large", { message: `the content is larger than ${String(ENTITY_BYTES_MAX)} bytes` });
  return { input, bytes: own?.bytes, mediaType: input.type ?? own?.mediaType, children };
}

function decoded(
  source: Pick<EntityInput, "data_url" | "raw">,
  path: string,
): { readonly bytes: Uint8Array; readonly mediaType: string } | undefined {
  if (source.raw !== undefined && source.raw !== null)
    return { bytes: Buffer.from(source.raw, "utf8"), mediaType: TEXT_TYPE };
  return source.data_url === undefined || source.data_url === null ? undefined : dataUrl(source.data_url, path);
}

/** RFC 2397; base64 and percent-encoded. */
function dataUrl(text: string, path: string): { readonly bytes: Uint8Array; readonly mediaType: string } {
  const comma = text.indexOf(",");
  if (!/^data:/i.test(text.slice(0, 5)) || comma < 0 || comma > 300)
    throw refused(path, `${path}: expected data:<type>;base64,<content>`);
  const head = text.slice("data:".length, comma);
  const isBase64 = /;\s*base64$/i.test(head);
  const mediaType =
    head
      .replace(/;\s*base64$/i, "")
      .split(";")[0]
      ?.trim() ?? "";
  const content = text.slice(comma + 1);
  if (mediaType !== "" && !/^[A-Za-z0-9!#$&^_.+-]+\/[A-Za-z0-9!#$&^_.+-]+$/.test(mediaType))
    throw refused(path, `${path}: not a media type before the comma`);
  const bytes = isBase64 ? fromBase64(content, path) : fromPercent(content, path);
  return { bytes, mediaType: mediaType === "" ? TEXT_TYPE : mediaType };
}

function fromBase64(text: string, path: string): Uint8Array {
  const bare = text.replace(/={1,2}$/, "");
  // Node skips what is no base64; content that is not what was sent must not be kept. One character alone is less than
  // a byte.
  if (bare.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(bare)) throw refused(path, `${path}: not base64`);
  return Buffer.from(bare, "base64");
}

function fromPercent(text: string, path: string): Uint8Array {
  try {
    return Buffer.from(decodeURIComponent(text), "utf8");
  } catch (error) {
    throw refused(path, `${path}: a broken percent encoding`, error);
  }
}

function noteOf(
  owner: Subject,
  connectorId: string,
  entity: PeerEntity,
  { input, mediaType }: EntityContent,
  before: EntityNote | undefined,
  now: string,
  isNew: boolean,
): EntityNote {
  const pick = <T>(given: T | null | undefined, kept: T | null | undefined): T | null =>
    given === undefined ? (kept ?? null) : given;
  return {
    id: entity.id,
    owner,
    connector_id: connectorId,
    created_at: before?.created_at ?? now,
    modified_at: now,
    name: pick(input.name, before?.name),
    filename: pick(input.filename, before?.filename),
    type: pick(input.type ?? (isNew ? (entity.type ?? mediaType) : undefined), before?.type),
    source: pick(input.source, before?.source),
    parent: pick(input.parent, before?.parent),
    metadata: pick(
      input.metadata === undefined ? undefined : input.metadata === null ? null : JSON.stringify(input.metadata),
      before?.metadata,
    ),
  };
}

/** What we noted comes first; what the peer says fills the gaps. */
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

function contentOnWire({ content, type }: PeerEntity, note: EntityNote | undefined): Pick<Entity, "data_url" | "raw"> {
  if (content === undefined || content.length > ENTITY_CONTENT_BYTES_MAX) return { data_url: null, raw: null };
  const text = content.length <= ENTITY_TEXT_BYTES_MAX ? textOf(content) : undefined;
  const mediaType = note?.type ?? type ?? (text === undefined ? BINARY_TYPE : TEXT_TYPE);
  return {
    data_url: `data:${mediaType.replaceAll(" ", "")};base64,${Buffer.from(content).toString("base64")}`,
    raw: text ?? null,
  };
}

/** The text that bytes spell, if they spell one that JSON writes at no more than twice its length. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return /[\u0000-\u0008\u000b\u000e-\u001f\u007f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

function refused(path: string, message: string, cause?: unknown): AppError {
  return new AppError("connector_config_invalid", {
    message,
    details: [{ message, code: "connector_config_invalid", path }],
    ...(cause === undefined ? {} : { cause }),
  });
}
