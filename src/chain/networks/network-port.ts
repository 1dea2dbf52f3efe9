/** The port to networks for the rest of the chain area: records, and clients of their nodes. */
import type { Subject } from "../../platform/auth/principal.js";
import type { NetworkConfigJson } from "./network-schemas.js";
import type { Rpc } from "../rpc/rpc.js";
import type { SecretPlace } from "../sealed-credentials.js";

/** A network as it is stored. Public networks have the same shape and no owner. */
export type NetworkRecord = {
  readonly id: string;
  readonly created_at: string;
  /** Null for a public network, which all subjects see and none can change. */
  readonly owner: Subject | null;
  /** An application or organization that the owner named when it made the network; it sees the network too. */
  readonly shared_with?: Subject;
  readonly name: string;
  readonly description: string | null;
  readonly is_production: boolean;
  readonly cloneable: boolean;
  readonly enabled: boolean;
  readonly layer2: boolean;
  readonly layer3: boolean;
  /** EIP-155 number as given, decimal or 0x-hex. */
  readonly chain_id: string;
  readonly sidechain_id: string | null;
  readonly network_id: string | null;
  /** Without `rpc_api_key`. */
  readonly config: NetworkConfigJson;
  /** Where the vault has `rpc_api_key`, if there is one. */
  readonly rpc_secret?: SecretPlace;
};

/** A connection by which a node announces new blocks. */
export interface HeadHints {
  readonly url: string;
  close(): void;
}

export interface Networks {
  /** Returns a network of the subject or a public one. Throws `not_found`. */
  find(subject: Subject, id: string): NetworkRecord;
  /** Returns the client of a network's nodes. Throws `network_disabled`, or `network_has_no_node`. */
  rpc(record: NetworkRecord): Rpc;
}

export interface HintingNetworks {
  /**
   * Calls `onHint` when a node of the network may have a new block, until the result is closed. Returns undefined
   * without a `websocket_url`, or when too many connections are open. Hints may stop for any reason, so that the caller
   * must poll all the same.
   */
  hints(record: NetworkRecord, onHint: () => void): HeadHints | undefined;
}

/** Returns the EIP-155 number of a network. */
export function chainIdOf({ chain_id }: Pick<NetworkRecord, "chain_id">): number {
  return Number(chain_id);
}
