/** Shapes of networks and their nodes on the wire. */
import Type, { type Static } from "typebox";
import {
  closed,
  Description,
  keptObject,
  Name,
  NameFilter,
  nullable,
  SAID_OWNER,
  Timestamp,
  Uuid,
} from "../../platform/contract/schemas.js";

const URLS_MAX = 8;
const CHAIN_ID_MAX = Number.MAX_SAFE_INTEGER;
const Text = Type.String({ minLength: 1, maxLength: 200, pattern: "^[^\\u0000-\\u001f\\u007f]+$" });
const Url = Type.String({ minLength: 1, maxLength: 1000 });
const Json = Type.Record(Type.String(), Type.Unknown());
const Wei = Type.String({ pattern: "^[1-9][0-9]{0,29}$", description: "wei, decimal" });
const Ports = nullable(Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), { maxItems: 100 }));
const Security = closed({
  egress: Type.Optional(Text),
  ingress: Type.Optional(Type.Record(Type.String(), closed({ tcp: Type.Optional(Ports), udp: Type.Optional(Ports) }))),
  health_check: Type.Optional(Json),
});

const PLATFORMS = ["bcoin", "evm", "handshake", "hyperledger_besu", "hyperledger_fabric", "quorum"] as const;

const CONFIG_MEMBERS = {
  json_rpc_url: Type.Optional(Type.String({ ...Url, description: "the network's node, as http(s) URL" })),
  json_rpc_urls: Type.Optional(
    Type.Array(Url, {
      maxItems: URLS_MAX,
      description: "more nodes of the same chain; each is asked when those before it fail",
    }),
  ),
  rpc_api_user: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: "^[^:\\u0000-\\u001f\\u007f]+$",
      description: "user for HTTP Basic at the nodes of `json_rpc_url` and `json_rpc_urls`",
    }),
  ),
  rpc_api_key: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1000,
      pattern: "^[^\\u0000-\\u001f\\u007f]+$",
      description: "password of that user: stored in the vault, sent to those nodes only, never answered",
    }),
  ),
  websocket_url: Type.Optional(
    Type.String({
      ...Url,
      description:
        "WebSocket of the same node (`wss:`): the server then learns of new blocks at once (`eth_subscribe`) rather than at its next poll",
    }),
  ),
  block_explorer_url: Type.Optional(Url),
  chainspec_url: Type.Optional(Url),
  chainspec_abi_url: Type.Optional(Url),
  chainspec: Type.Optional(Json),
  chainspec_abi: Type.Optional(Type.Unknown()),
  platform: Type.Optional(Type.Enum([...PLATFORMS])),
  chain: Type.Optional(Text),
  native_currency: Type.Optional(Text),
  network_id: Type.Optional(Type.Integer({ minimum: 1, maximum: CHAIN_ID_MAX })),
  client: Type.Optional(Text),
  engine_id: Type.Optional(Text),
  protocol_id: Type.Optional(Text),
  bootnodes: Type.Optional(Type.Array(Text, { maxItems: 100 })),
  env: Type.Optional(Type.Record(Type.String(), Type.String({ maxLength: 2000 }))),
  json_rpc_port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
  websocket_port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
  security: Type.Optional(Security),
  confirmations: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description: "blocks, its own included, after which a transaction is final; 12 by default",
    }),
  ),
  max_fee_per_gas: Type.Optional(Wei),
  max_priority_fee_per_gas: Type.Optional(Wei),
};

/** `is_ethereum_network` and the like follow from the platform; clients also send WebSocket URLs of providers. */
const NetworkConfig = keptObject(CONFIG_MEMBERS, {
  patternProperties: {
    "^is_[a-z_]{1,40}_network$": Type.Boolean(),
    "^[a-z0-9]{1,40}_websocket_url$": Type.String({ maxLength: 1000 }),
  },
  description:
    "The network's configuration. Its nodes are `json_rpc_url` and `json_rpc_urls`, asked in this order. Unknown members are kept",
});
export type NetworkConfigJson = Static<typeof NetworkConfig>;

const ChainId = Type.String({
  pattern: "^(0x[0-9a-fA-F]{1,13}|[1-9][0-9]{0,15})$",
  description: "EIP-155 number, decimal or 0x-hex",
});

const NetworkStats = closed(
  {
    block: nullable(Type.Integer()),
    last_block_at: nullable(Timestamp),
    peer_count: nullable(Type.Integer()),
    state: Type.String(),
    syncing: Type.Boolean(),
    latency_ms: nullable(Type.Number()),
    observed_at: Timestamp,
  },
  { description: "The last known status of the network" },
);

export const Network = closed(
  {
    id: Uuid,
    created_at: Timestamp,
    application_id: nullable(Uuid),
    organization_id: nullable(Uuid),
    user_id: nullable(Uuid),
    name: Type.String(),
    description: nullable(Type.String()),
    is_production: Type.Boolean(),
    cloneable: Type.Boolean(),
    enabled: Type.Boolean(),
    layer2: Type.Boolean(),
    layer3: Type.Boolean(),
    chain_id: Type.String(),
    sidechain_id: nullable(Uuid),
    network_id: nullable(Uuid),
    config: Json,
    stats: nullable(NetworkStats),
  },
  { description: "Network" },
);

const MEMBERS = {
  description: Type.Optional(nullable(Description)),
  is_production: Type.Optional(Type.Boolean()),
  cloneable: Type.Optional(Type.Boolean()),
  enabled: Type.Optional(Type.Boolean()),
  layer2: Type.Optional(nullable(Type.Boolean())),
  layer3: Type.Optional(nullable(Type.Boolean())),
  chain_id: Type.Optional(nullable(ChainId)),
  sidechain_id: Type.Optional(nullable(Uuid)),
  network_id: Type.Optional(nullable(Uuid)),
};
export const CreateNetworkBody = closed({ name: Name, config: NetworkConfig, ...MEMBERS, ...SAID_OWNER });
const ConfigChanges = keptObject(
  Object.fromEntries(Object.entries(CONFIG_MEMBERS).map(([name, schema]) => [name, Type.Optional(nullable(schema))])),
  {
    patternProperties: {
      "^is_[a-z_]{1,40}_network$": nullable(Type.Boolean()),
      "^[a-z0-9]{1,40}_websocket_url$": nullable(Type.String({ maxLength: 1000 })),
    },
    dropsRefused: true,
    description: "members to change; null removes one",
  },
);
/** Absent members stay as they are. */
export const UpdateNetworkBody = closed({
  ...MEMBERS,
  name: Type.Optional(Name),
  config: Type.Optional(ConfigChanges),
});
const Flag = Type.Boolean();
export const NetworkListQuery = closed({
  public: Type.Optional(Type.Boolean({ description: "the public networks instead of the caller's own" })),
  cloneable: Type.Optional(Flag),
  layer1: Type.Optional(Flag),
  layer2: Type.Optional(Flag),
  layer3: Type.Optional(Flag),
  name: Type.Optional(NameFilter),
});
export const NetworkParams = closed({ id: Uuid });
export const NetworkNodeParams = closed({ id: Uuid, node_id: Uuid });

export const NetworkStatus = closed(
  {
    block: nullable(Type.Integer({ description: "number of the newest block" })),
    chain_id: Type.String(),
    height: nullable(Type.Integer()),
    last_block_at: nullable(Timestamp),
    peer_count: nullable(Type.Integer()),
    protocol_version: nullable(Type.String({ description: "name and version of the node" })),
    state: Type.Enum(["unconfigured", "running", "syncing", "unreachable", "mismatch", "disabled"], {
      description: "unconfigured: the network has no node; mismatch: the node is of another chain",
    }),
    syncing: Type.Boolean({ description: "true only when a node says so; false where none answers" }),
    latency_ms: nullable(Type.Number({ description: "of the last answer" })),
    last_error: nullable(closed({ code: Type.String(), message: Type.String(), at: Timestamp })),
    observed_at: Timestamp,
    meta: Type.Record(Type.String(), Type.String(), { description: "always empty" }),
  },
  { description: "Status of a network" },
);
export type NetworkStatusJson = Static<typeof NetworkStatus>;

export const NetworkStatistics = closed(
  {
    ...NetworkStatus.properties,
    gas_price: nullable(Type.String({ description: "wei, decimal" })),
    base_fee_per_gas: nullable(Type.String({ description: "wei, decimal; of the newest block" })),
    gas_used: nullable(Type.String()),
    gas_limit: nullable(Type.String()),
    transaction_count: nullable(Type.Integer({ description: "in the newest block" })),
    block_time_ms: nullable(Type.Number({ description: "mean of the last blocks" })),
    nodes: Type.Array(
      closed({
        host: Type.String({ description: "without path or key" }),
        state: Type.Enum(["untried", "up", "down", "mismatch"]),
        latency_ms: nullable(Type.Number()),
        requests: Type.Integer(),
        failures: Type.Integer(),
        last_error: nullable(Type.String({ description: "code of the last failure" })),
      }),
    ),
  },
  { description: "Statistics of a network" },
);
export type NetworkStatisticsJson = Static<typeof NetworkStatistics>;

export const Block = closed(
  {
    number: Type.Integer(),
    hash: Type.String(),
    parent_hash: Type.String(),
    timestamp: Timestamp,
    miner: nullable(Type.String()),
    gas_used: Type.String(),
    gas_limit: Type.String(),
    base_fee_per_gas: nullable(Type.String()),
    transaction_count: Type.Integer(),
  },
  { description: "Block" },
);
export type BlockJson = Static<typeof Block>;

export const NetworkAddress = closed(
  { id: Uuid, address: Type.String(), type: Type.Literal("account"), network_id: Uuid },
  { description: "An address that the caller has on the network" },
);

export const NODE_ROLES = ["peer", "explorer", "full", "validator", "ipfs"] as const;
const NodeRole = Type.Enum([...NODE_ROLES]);
const NodeConfig = Type.Object({ json_rpc_url: Type.Optional(Url) }, { additionalProperties: true, maxProperties: 30 });
export const NetworkNode = closed(
  {
    id: Uuid,
    created_at: Timestamp,
    network_id: Uuid,
    application_id: nullable(Uuid),
    organization_id: nullable(Uuid),
    user_id: nullable(Uuid),
    role: NodeRole,
    host: Type.String({ description: "of its URL" }),
    description: nullable(Type.String()),
    status: Type.Enum(["genesis", "running", "unreachable", "failed"], {
      description: "genesis: not asked yet; failed: of another chain",
    }),
    latency_ms: nullable(Type.Number()),
    config: NodeConfig,
  },
  { description: "A node of a network" },
);
export const CreateNodeBody = closed({
  role: Type.Optional(NodeRole),
  host: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 300,
      description: "host[:port] of the node, reached by https; `config.json_rpc_url` gives the whole URL in its place",
    }),
  ),
  description: Type.Optional(nullable(Description)),
  config: Type.Optional(NodeConfig),
});
export const NodeLogs = closed(
  {
    logs: Type.Array(closed({ timestamp: Timestamp, ingest_timestamp: Timestamp, message: Type.String() })),
    prev_token: Type.Null({ description: "never set" }),
    next_token: Type.Null({ description: "never set" }),
  },
  { description: "Changes of the node's state" },
);
export const NodeLogsQuery = closed({
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  rpp: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: "500 by default" })),
  start_from_head: Type.Optional(Type.Boolean({ description: "oldest first; newest first by default" })),
});
export const NetworkLoadBalancer = closed(
  {
    id: Uuid,
    network_id: Uuid,
    name: Type.String(),
    type: Type.Literal("rpc"),
    status: Type.Union([Type.Literal("active"), Type.Literal("inactive")]),
    node_ids: Type.Array(Uuid),
  },
  { description: "The server itself, with the nodes in the order in which it asks them" },
);
export type NetworkNodeJson = Static<typeof NetworkNode>;
export type CreateNodeInput = Static<typeof CreateNodeBody>;
export type NodeLogsJson = Static<typeof NodeLogs>;
export type NodeLogsInput = Static<typeof NodeLogsQuery>;
export type NetworkLoadBalancerJson = Static<typeof NetworkLoadBalancer>;
export type NetworkJson = Static<typeof Network>;
export type CreateNetworkInput = Static<typeof CreateNetworkBody>;
export type UpdateNetworkInput = Static<typeof UpdateNetworkBody>;
export type NetworkFilters = Static<typeof NetworkListQuery>;
