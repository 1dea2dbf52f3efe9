/** Routes of networks, their state and their nodes (SPEC 4.4; interoperability 7.2, 7.3). What lies on a network is in network-view-routes.ts. */
import Type from "typebox";
import { defineRoute } from "../../platform/contract/route.js";
import {
  Block, CreateNetworkBody, CreateNodeBody, Network, NetworkListQuery, NetworkLoadBalancer, NetworkNode, NetworkNodeParams, NetworkParams, NetworkStatistics, NetworkStatus, NodeLogs,
  NodeLogsQuery, UpdateNetworkBody,
} from "./network-schemas.js";

/** A chainspec with its accounts and built-in contracts. */
const BODY_BYTES_MAX = 1024 * 1024;
/** Organizations use the networks of others; they make none. */
const MAKERS = ["user", "application"] as const;
const READ = { permissions: ["read"] } as const;
const CREATE = { permissions: ["create"], subjects: MAKERS } as const;
const UPDATE = { permissions: ["update"], subjects: MAKERS } as const;
const DELETE = { permissions: ["delete"], subjects: MAKERS } as const;
const NODE_ERRORS = ["network_unreachable", "network_timeout", "network_answer_invalid", "network_chain_mismatch"] as const;
const json = { description: "The network", schema: Network } as const;

export const networkRoutes = {
  listNetworks: defineRoute({
    id: "listNetworks", area: "chain", method: "GET", path: "/api/v1/networks", summary: "List networks", auth: READ, list: true,
    description: "The caller's own enabled networks, oldest first; `public=true` lists those that everybody has. Chainspecs are left out.",
    query: NetworkListQuery, responses: { 200: { description: "Networks", schema: Type.Array(Network) } },
  }),
  createNetwork: defineRoute({
    id: "createNetwork", area: "chain", method: "POST", path: "/api/v1/networks", summary: "Create a network", auth: CREATE, creates: true,
    description: "Nodes that answer must be of the network's chain. `chain_id` may be left out: it is then `config.network_id`, or what the first node says.",
    body: CreateNetworkBody, bodyBytesMax: BODY_BYTES_MAX, responses: { 201: json },
    errors: ["not_found", "egress_refused", "network_limit_reached", "vault_sealed", "storage_full", ...NODE_ERRORS],
    example: { body: { name: "Local chain", chain_id: "31337", config: { platform: "evm", chain: "local", native_currency: "ETH" } } },
  }),
  getNetwork: defineRoute({
    id: "getNetwork", area: "chain", method: "GET", path: "/api/v1/networks/:id", summary: "Read a network", auth: READ,
    params: NetworkParams, responses: { 200: json }, errors: ["not_found"],
  }),
  updateNetwork: defineRoute({
    id: "updateNetwork", area: "chain", method: "PUT", path: "/api/v1/networks/:id", summary: "Change a network", auth: UPDATE,
    params: NetworkParams, body: UpdateNetworkBody, bodyBytesMax: BODY_BYTES_MAX, responses: { 204: { description: "Changed" } },
    errors: ["not_found", "egress_refused", "vault_sealed", "storage_full", ...NODE_ERRORS], example: { body: { description: "for trials" } },
  }),
  deleteNetwork: defineRoute({
    id: "deleteNetwork", area: "chain", method: "DELETE", path: "/api/v1/networks/:id", summary: "Delete a network", auth: DELETE,
    description: "Refused while accounts, contracts, transactions or connectors are on it.",
    params: NetworkParams, responses: { 204: { description: "Deleted" } }, errors: ["not_found", "network_in_use", "vault_sealed", "conflict"],
  }),
  getNetworkStatus: defineRoute({
    id: "getNetworkStatus", area: "chain", method: "GET", path: "/api/v1/networks/:id/status", summary: "Ask how a network is", auth: READ,
    description: "The node is asked now; that it does not answer is an answer too.",
    params: NetworkParams, responses: { 200: { description: "Its status", schema: NetworkStatus } }, errors: ["not_found"],
  }),
  getNetworkStats: defineRoute({
    id: "getNetworkStats", area: "chain", method: "GET", path: "/api/v1/networks/:id/stats", summary: "Read a network's figures", auth: READ,
    params: NetworkParams, responses: { 200: { description: "Status, fees, the newest block and how each node fares", schema: NetworkStatistics } }, errors: ["not_found"],
  }),
  listNetworkBlocks: defineRoute({
    id: "listNetworkBlocks", area: "chain", method: "GET", path: "/api/v1/networks/:id/blocks", summary: "List blocks", auth: READ, list: true,
    description: "Newest first, from the node.",
    params: NetworkParams, responses: { 200: { description: "Blocks", schema: Type.Array(Block) } }, errors: ["not_found", "network_disabled", "network_has_no_node", ...NODE_ERRORS],
  }),
  listNetworkNodes: defineRoute({
    id: "listNetworkNodes", area: "chain", method: "GET", path: "/api/v1/networks/:id/nodes", summary: "List a network's nodes", auth: READ, list: true,
    description: "In the order in which they are asked: those of the network's config, then those that were added.",
    params: NetworkParams, responses: { 200: { description: "Nodes", schema: Type.Array(NetworkNode) } }, errors: ["not_found"],
  }),
  createNetworkNode: defineRoute({
    id: "createNetworkNode", area: "chain", method: "POST", path: "/api/v1/networks/:id/nodes", summary: "Add a node to turn to", auth: CREATE, creates: true,
    params: NetworkParams, body: CreateNodeBody, responses: { 201: { description: "The node", schema: NetworkNode } },
    errors: ["not_found", "egress_refused", "network_chain_mismatch", "network_limit_reached", "conflict", "storage_full"], example: { body: { config: { json_rpc_url: "https://rpc.example.com" } } },
  }),
  getNetworkNode: defineRoute({
    id: "getNetworkNode", area: "chain", method: "GET", path: "/api/v1/networks/:id/nodes/:node_id", summary: "Read a node", auth: READ,
    params: NetworkNodeParams, responses: { 200: { description: "The node", schema: NetworkNode } }, errors: ["not_found"],
  }),
  getNetworkNodeLogs: defineRoute({
    id: "getNetworkNodeLogs", area: "chain", method: "GET", path: "/api/v1/networks/:id/nodes/:node_id/logs", summary: "What was seen of a node", auth: READ,
    params: NetworkNodeParams, query: NodeLogsQuery, responses: { 200: { description: "Changes of its state since the server started, newest first", schema: NodeLogs } }, errors: ["not_found"],
  }),
  deleteNetworkNode: defineRoute({
    id: "deleteNetworkNode", area: "chain", method: "DELETE", path: "/api/v1/networks/:id/nodes/:node_id", summary: "Remove a node", auth: DELETE,
    params: NetworkNodeParams, responses: { 204: { description: "Removed" } }, errors: ["not_found", "network_node_fixed", "conflict"],
  }),
  listNetworkLoadBalancers: defineRoute({
    id: "listNetworkLoadBalancers", area: "chain", method: "GET", path: "/api/v1/networks/:id/load_balancers", summary: "List a network's load balancers", auth: READ, list: true,
    description: "The server itself spreads a network's requests over its nodes: one entry, or none without nodes.",
    params: NetworkParams, responses: { 200: { description: "Load balancers", schema: Type.Array(NetworkLoadBalancer) } }, errors: ["not_found"],
  }),
} as const;
