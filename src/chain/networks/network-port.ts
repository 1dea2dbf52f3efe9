/** What the rest of the chain area sees of networks: their records, and a node to ask. Implemented in networks/. */
import type { Subject } from "../../platform/auth/principal.js";
import type { NetworkConfigJson } from "./network-schemas.js";
import type { Rpc } from "../rpc/rpc.js";
import type { SecretPlace } from "../sealed-credentials.js";

/** A network as it is stored; built-in ones look the same and have no owner. */
export type NetworkRecord = {
  readonly id: string;
  readonly created_at: string;
  /** Null: one of the public networks, which everybody sees and nobody changes. */
  readonly owner: Subject | null;
  readonly name: string;
  readonly description: string | null;
  readonly is_production: boolean;
  readonly cloneable: boolean;
  readonly enabled: boolean;
  readonly layer2: boolean;
  readonly layer3: boolean;
  /** Decimal or 0x-hex text, as given. */
  readonly chain_id: string;
  readonly sidechain_id: string | null;
  readonly network_id: string | null;
  /** Without `rpc_api_key`. */
  readonly config: NetworkConfigJson;
  /** Where `rpc_api_key` lies, when there is one. */
  readonly rpc_secret?: SecretPlace;
};

/** A connection by which a node says that its chain has a new block. */
export interface HeadHints {
  readonly url: string;
  close(): void;
}

export interface Networks {
  /** The subject's own network or a public one. Throws `not_found`. */
  find(subject: Subject, id: string): NetworkRecord;
  /** The network's nodes. Throws `network_disabled`, or `network_has_no_node` when the record names no JSON-RPC URL. */
  rpc(record: NetworkRecord): Rpc;
}

export interface HintingNetworks {
  /**
   * Calls back when a node of the network may have a new block, where its `websocket_url` tells of them, until it is
   * closed. Undefined where there is none, or too many are open. It may stay silent for any reason: whoever needs the
   * chain goes on to look at it.
   */
  hints(record: NetworkRecord, onHint: () => void): HeadHints | undefined;
}

/** The EIP-155 number of a record. */
export function chainIdOf({ chain_id }: Pick<NetworkRecord, "chain_id">): number {
  return Number(chain_id);
}
