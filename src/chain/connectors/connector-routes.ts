/** The routes of connectors, as plain values (SPEC 4.4; interoperability facts, 7.6). Tokens of applications only. */
import Type from "typebox";
import { defineRoute } from "../../platform/contract/route.js";
import { SubscriptionToken } from "../events/subscription-routes.js";
import {
  Connector, ConnectorDetail, ConnectorFilters, ConnectorParams, ContainerLogs, ContainerNode, CreateConnector, DetailQuery, Entity, EntityInput, EntityParams,
  EntityQuery, LoadBalancer, LogsQuery, SubscriptionBody, UpdateConnector,
} from "./connector-schemas.js";

/** 8 MiB of content as base64, and what stands around it. */
const ENTITY_BODY_BYTES_MAX = 12 * 1024 * 1024;
/** A peer is given its own time; this leaves room for asking it twice. */
const PEER_DEADLINE_MS = 45_000;

const APPLICATION = ["application"] as const;
const READ = { permissions: ["read"], subjects: APPLICATION } as const;
const CREATE = { permissions: ["create"], subjects: APPLICATION } as const;
const UPDATE = { permissions: ["update"], subjects: APPLICATION } as const;
const DELETE = { permissions: ["delete"], subjects: APPLICATION } as const;
const PEER_FAILURES = [
  "not_found", "vault_sealed", "connector_not_ready", "connector_unsupported", "connector_config_invalid", "connector_unreachable", "connector_timeout",
  "connector_refused", "connector_answer_invalid", "storage_full", "conflict",
] as const;
const connectorJson = { description: "The connector", schema: Connector } as const;

export const connectorRoutes = {
  listConnectors: defineRoute({
    id: "listConnectors", area: "chain", method: "GET", path: "/api/v1/connectors", summary: "List connectors", auth: READ, list: true,
    description: "The application's connectors, oldest first.",
    query: ConnectorFilters, responses: { 200: { description: "Connectors", schema: Type.Array(Connector) } },
  }),
  createConnector: defineRoute({
    id: "createConnector", area: "chain", method: "POST", path: "/api/v1/connectors", summary: "Create a connector", auth: CREATE, creates: true,
    description: "Answers at once; provisioning and the first probe follow by themselves. `config.credentials` go into the vault and are never answered. With `is_virtual` nothing is provisioned.",
    body: CreateConnector, responses: { 201: connectorJson },
    errors: ["not_found", "connector_type_unknown", "connector_config_invalid", "connector_limit_reached", "secret_too_long", "vault_sealed", "storage_full"],
    example: { body: { name: "files", network_id: "deca2436-21ba-4ff5-b225-ad1b0b2f5c59", type: "ipfs", config: { api_url: "https://ipfs.example.com:5001" }, is_virtual: true } },
  }),
  getConnector: defineRoute({
    id: "getConnector", area: "chain", method: "GET", path: "/api/v1/connectors/:id", summary: "Read a connector", auth: READ, deadlineMs: PEER_DEADLINE_MS,
    description: "The peer is asked now: `details.probe` says how it is, `details.data` what it holds. What cannot be asked is left away and does not fail the answer.",
    params: ConnectorParams, query: DetailQuery, responses: { 200: { description: "The connector", schema: ConnectorDetail } }, errors: ["not_found"],
  }),
  updateConnector: defineRoute({
    id: "updateConnector", area: "chain", method: "PUT", path: "/api/v1/connectors/:id", summary: "Change a connector", auth: UPDATE,
    description: "Members of `config` replace those of the same name; null takes one away. Type, network and what a container was made from stay.",
    params: ConnectorParams, body: UpdateConnector, responses: { 204: { description: "Changed" } },
    errors: ["not_found", "connector_config_invalid", "connector_not_ready", "secret_too_long", "vault_sealed", "conflict", "storage_full"],
    example: { body: { name: "other files" } },
  }),
  deleteConnector: defineRoute({
    id: "deleteConnector", area: "chain", method: "DELETE", path: "/api/v1/connectors/:id", summary: "Delete a connector", auth: DELETE, deadlineMs: PEER_DEADLINE_MS,
    description: "Its containers are removed first. When the provider refuses, the connector stays `deprovisioning` with the reason and may be deleted again; it is also tried again by itself.",
    params: ConnectorParams, responses: { 204: { description: "Deleted" }, 202: { description: "The provider is not done yet; it goes on by itself" } },
    errors: ["not_found", "connector_not_deleted", "vault_sealed", "conflict"],
  }),
  listConnectorEntities: defineRoute({
    id: "listConnectorEntities", area: "chain", method: "GET", path: "/api/v1/connectors/:id/entities", summary: "List what a connector holds", auth: READ, list: true, deadlineMs: PEER_DEADLINE_MS,
    params: ConnectorParams, query: EntityQuery, responses: { 200: { description: "Entities", schema: Type.Array(Entity) } }, errors: PEER_FAILURES,
  }),
  createConnectorEntity: defineRoute({
    id: "createConnectorEntity", area: "chain", method: "POST", path: "/api/v1/connectors/:id/entities", summary: "Put something into a connector", auth: CREATE, creates: true,
    description: "Content comes as `data_url`, as text in `raw`, as `children` (a directory), or by `hash` when the peer is to keep what is there already.",
    deadlineMs: PEER_DEADLINE_MS, bodyBytesMax: ENTITY_BODY_BYTES_MAX,
    params: ConnectorParams, body: EntityInput, responses: { 201: { description: "The entity, without its content", schema: Entity } },
    errors: [...PEER_FAILURES, "body_too_large"],
    example: { body: { raw: "hello", filename: "hello.txt" } },
  }),
  getConnectorEntity: defineRoute({
    id: "getConnectorEntity", area: "chain", method: "GET", path: "/api/v1/connectors/:id/entities/:entity", summary: "Read an entity", auth: READ, deadlineMs: PEER_DEADLINE_MS,
    params: EntityParams, responses: { 200: { description: "The entity with its content", schema: Entity } }, errors: PEER_FAILURES,
  }),
  updateConnectorEntity: defineRoute({
    id: "updateConnectorEntity", area: "chain", method: "PUT", path: "/api/v1/connectors/:id/entities/:entity", summary: "Change an entity", auth: UPDATE,
    description: "For content-addressed peers what is said about the content, not the content.", deadlineMs: PEER_DEADLINE_MS, bodyBytesMax: ENTITY_BODY_BYTES_MAX,
    params: EntityParams, body: EntityInput, responses: { 204: { description: "Changed" } }, errors: PEER_FAILURES,
    example: { body: { name: "greeting" } },
  }),
  deleteConnectorEntity: defineRoute({
    id: "deleteConnectorEntity", area: "chain", method: "DELETE", path: "/api/v1/connectors/:id/entities/:entity", summary: "Take something out of a connector", auth: DELETE, deadlineMs: PEER_DEADLINE_MS,
    params: EntityParams, responses: { 204: { description: "Gone; from IPFS: no longer pinned" } }, errors: PEER_FAILURES,
  }),
  createConnectorSubscription: defineRoute({
    id: "createConnectorSubscription", area: "chain", method: "POST", path: "/api/v1/connectors/:id/subscriptions", summary: "Make a token that listens to a connector's events",
    description: "Good for GET /api/v1/events and nothing else, limited to this connector's changes of status. It may be handed to a browser.",
    auth: { permissions: ["read", "subscribe"], subjects: APPLICATION }, params: ConnectorParams, body: SubscriptionBody, bodyOptional: true,
    responses: { 201: { description: "The token", schema: SubscriptionToken } }, errors: ["not_found"],
    example: { body: {} },
  }),
  listConnectorNodes: defineRoute({
    id: "listConnectorNodes", area: "chain", method: "GET", path: "/api/v1/connectors/:id/nodes", summary: "List a connector's containers", auth: READ, deadlineMs: PEER_DEADLINE_MS,
    params: ConnectorParams, responses: { 200: { description: "Containers, as the provider sees them now", schema: Type.Array(ContainerNode) } }, errors: ["not_found", "connector_provider_failed"],
  }),
  listConnectorLoadBalancers: defineRoute({
    id: "listConnectorLoadBalancers", area: "chain", method: "GET", path: "/api/v1/connectors/:id/load_balancers", summary: "List a connector's published endpoints", auth: READ, deadlineMs: PEER_DEADLINE_MS,
    params: ConnectorParams, responses: { 200: { description: "Endpoints, as the provider sees them now", schema: Type.Array(LoadBalancer) } }, errors: ["not_found", "connector_provider_failed"],
  }),
  getConnectorLogs: defineRoute({
    id: "getConnectorLogs", area: "chain", method: "GET", path: "/api/v1/connectors/:id/logs", summary: "Read the logs of a connector's containers", auth: READ, deadlineMs: PEER_DEADLINE_MS,
    params: ConnectorParams, query: LogsQuery, responses: { 200: { description: "Lines, oldest first", schema: ContainerLogs } }, errors: ["not_found", "connector_provider_failed"],
  }),
} as const;
