/**
 * What a driver does for a type of connector, and what it is given to do it with. Drivers keep nothing between calls.
 */
import type { Egress } from "../../../platform/net/egress.js";
import type { Page } from "../../../platform/store/tables.js";
import type { PeerAddresses } from "../peer-addresses.js";
import type { ConnectorConfig, Credentials, EntityInput } from "../connector-schemas.js";

/** A peer and the way to it. */
export interface Peer {
  readonly config: ConnectorConfig;
  /** Plaintext out of the vault, for this use only. */
  readonly credentials: Credentials;
  readonly addresses: PeerAddresses;
  /** Guarded for addresses that a user gave; open inwards only for containers of our own provider. */
  readonly egress: Egress;
  readonly signal: AbortSignal;
}

/** What the peer says of an entity. */
export interface PeerEntity {
  readonly id: string;
  readonly hash?: string;
  readonly href?: string;
  readonly name?: string;
  readonly type?: string;
  readonly size?: number;
  /** What the peer keeps as an object of its own. */
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

export interface PeerEntities {
  readonly rows: readonly PeerEntity[];
  /** Over all pages. */
  readonly total: number;
}

/** An entity as given, its content decoded. */
export interface EntityContent {
  readonly input: EntityInput;
  readonly bytes: Uint8Array | undefined;
  /** MIME type of the content, where one is known. */
  readonly mediaType: string | undefined;
  readonly children: readonly { readonly filename: string; readonly bytes: Uint8Array }[];
}

export interface EntityDriver {
  list(
    peer: Peer,
    options: { readonly objects: readonly string[] | undefined; readonly page: Page },
  ): Promise<PeerEntities>;
  create(peer: Peer, content: EntityContent): Promise<PeerEntity>;
  /** With content up to the limit. Throws `not_found`. */
  get(peer: Peer, id: string): Promise<PeerEntity>;
  update(peer: Peer, id: string, content: EntityContent): Promise<void>;
  remove(peer: Peer, id: string): Promise<void>;
  /** True when names, metadata and the like are ours to keep, as the peer has no place for them. */
  readonly keepsNotes: boolean;
}

export interface ConnectorDriver {
  /**
   * Asks the peer whether it is there and takes our credentials. Resolves to what it says it is, in one line; rejects
   * with `connector_unreachable`, `connector_timeout`, `connector_refused`, `connector_answer_invalid` or
   * `egress_refused`.
   */
  probe(peer: Peer): Promise<string | undefined>;
  readonly entities?: EntityDriver;
}
