/**
 * What a driver of entities does for a type of connector, and what it is given to do it with. Drivers hold no state
 * between calls.
 */
import type { Egress } from "../../../platform/net/egress.js";
import type { Page } from "../../../platform/store/tables.js";
import type { PeerAddresses } from "../peers/peer-address.js";
import type { ConnectorConfig, Credentials, EntityInput } from "../connector-schemas.js";

/** A peer: the service that a connector connects to, and how it is reached. */
export interface Peer {
  readonly config: ConnectorConfig;
  /** Plaintext from the vault, for this use only. */
  readonly credentials: Credentials;
  readonly addresses: PeerAddresses;
  /** For an address of a user, the guard; for a container of our own provider, one that reaches its host only. */
  readonly egress: Egress;
  readonly signal: AbortSignal;
}

/** What the peer says about an entity. */
export interface PeerEntity {
  readonly id: string;
  readonly hash?: string;
  readonly href?: string;
  readonly name?: string;
  readonly type?: string;
  readonly size?: number;
  /** The object, where the peer stores entities as JSON objects. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly content?: Uint8Array;
  readonly children?: readonly {
    readonly id: string;
    readonly name: string;
    readonly hash: string | null;
    readonly size: number | null;
    readonly type: string | null;
  }[];
}

interface PeerEntities {
  readonly rows: readonly PeerEntity[];
  /** Of all pages. */
  readonly total: number;
}

/** An entity as the caller gave it, its content decoded. */
export interface EntityContent {
  readonly input: EntityInput;
  readonly bytes: Uint8Array | undefined;
  /** Media type of the content, where it is known. */
  readonly mediaType: string | undefined;
  readonly children: readonly { readonly filename: string; readonly bytes: Uint8Array }[];
}

export interface EntityDriver {
  /** Returns one page of the peer's entities, or of those in `objects`. */
  list(
    peer: Peer,
    options: { readonly objects: readonly string[] | undefined; readonly page: Page },
  ): Promise<PeerEntities>;
  /** Puts an entity into the peer. */
  create(peer: Peer, content: EntityContent): Promise<PeerEntity>;
  /** Returns an entity with its content, up to the limit. Throws `not_found`. */
  get(peer: Peer, id: string): Promise<PeerEntity>;
  /** Changes an entity. Throws `not_found`, and `connector_unsupported` for what the peer cannot change. */
  update(peer: Peer, id: string, content: EntityContent): Promise<void>;
  /** Removes an entity. Throws `not_found`. */
  remove(peer: Peer, id: string): Promise<void>;
  /** True when this server stores names, metadata and the like, because the peer has no place for them. */
  readonly keepsNotes: boolean;
  /** True when the peer makes one entity of the same content, however often it is put there. */
  readonly namesByContent: boolean;
}
