/** Binds the routes of connectors to their services. */
import type { Principal } from "../../platform/auth/principal.js";
import { requireSaidOwner, type RequireTenant } from "../../platform/auth/said-owner.js";
import { requireUnchanged } from "../../platform/contract/client-names.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import type { SubscriptionTokens } from "../../platform/events/subscription-token.js";
import type { References } from "../../platform/references.js";
import { subscriptionToken } from "../events/subscription-handlers.js";
import type { ConnectorContainers } from "./provisioning/connector-containers.js";
import type { ConnectorDeletions } from "./provisioning/connector-deletions.js";
import type { connectorRoutes } from "./connector-routes.js";
import type { ConnectorService } from "./connector-service.js";
import type { Entities, EntityPlace } from "./entities.js";

interface ConnectorHandlersDependencies {
  readonly connectors: ConnectorService;
  readonly entities: Entities;
  readonly deletions: ConnectorDeletions;
  readonly containers: ConnectorContainers;
  readonly tokens: SubscriptionTokens;
  readonly references: References;
  readonly requireTenant: RequireTenant;
}

type Handlers = HandlersFor<typeof connectorRoutes>;

const DETAIL_PAGE = { page: 1, rpp: 25 } as const;
const LOG_LINES = 500;

/** Returns the handlers of all routes in connector-routes.ts. */
export function connectorHandlers(dependencies: ConnectorHandlersDependencies): Handlers {
  const { connectors, deletions, tokens, references, requireTenant } = dependencies;
  return {
    ...entityHandlers(dependencies.entities),
    ...containerHandlers(dependencies.containers),
    listConnectors: ({ principal, query }) => ({ status: 200, ...connectors.list(principal.subject, query) }),
    createConnector: async ({ principal, body }) => {
      requireSaidOwner(principal, body, requireTenant);
      references.require(principal.subject, body, ["network_id"]);
      const connector = await connectors.create(principal.subject, body);
      return { status: 201, body: connector, headers: { Location: `/api/v1/connectors/${connector.id}` } };
    },
    getConnector: async ({ principal, params, query, signal }) => ({
      status: 200,
      body: await connectors.get(principal.subject, params.id, { ...DETAIL_PAGE, ...query }, signal),
    }),
    updateConnector: async ({ principal, params, body, sentBack }) => {
      const current = connectors.record(principal.subject, params.id);
      requireUnchanged(sentBack, current, ["id", "created_at", "application_id", "network_id", "type", "is_virtual"]);
      await connectors.update(principal.subject, params.id, body);
      return { status: 204 };
    },
    deleteConnector: async ({ principal, params, signal }) =>
      (await deletions.delete(principal.subject, params.id, signal)) ? { status: 204 } : { status: 202 },
    createConnectorSubscription: ({ principal, params }) => ({
      status: 201,
      headers: { "Cache-Control": "no-store" },
      body: subscriptionToken(principal, [connectors.eventSubject(principal.subject, params.id)], tokens),
    }),
  };
}

function entityHandlers(
  entities: Entities,
): Pick<
  Handlers,
  | "listConnectorEntities"
  | "createConnectorEntity"
  | "getConnectorEntity"
  | "updateConnectorEntity"
  | "deleteConnectorEntity"
> {
  return {
    listConnectorEntities: async ({ principal, params, query, signal }) => ({
      status: 200,
      ...(await entities.list(principal.subject, params.id, query, signal)),
    }),
    createConnectorEntity: async ({ principal, params, body, signal }) => {
      const entity = await entities.create(principal.subject, params.id, body, signal);
      return {
        status: 201,
        body: entity,
        headers: { Location: `/api/v1/connectors/${params.id}/entities/${encodeURIComponent(entity.id)}` },
      };
    },
    getConnectorEntity: async ({ principal, params, signal }) => ({
      status: 200,
      body: await entities.get(placeOf(principal, params), signal),
    }),
    updateConnectorEntity: async ({ principal, params, body, signal }) => {
      await entities.update(placeOf(principal, params), body, signal);
      return { status: 204 };
    },
    deleteConnectorEntity: async ({ principal, params, signal }) => {
      await entities.remove(placeOf(principal, params), signal);
      return { status: 204 };
    },
  };
}

function containerHandlers(
  containers: ConnectorContainers,
): Pick<Handlers, "listConnectorNodes" | "listConnectorLoadBalancers" | "getConnectorLogs"> {
  return {
    listConnectorNodes: async ({ principal, params, signal }) => ({
      status: 200,
      body: await containers.nodes(principal.subject, params.id, signal),
    }),
    listConnectorLoadBalancers: async ({ principal, params, signal }) => ({
      status: 200,
      body: await containers.loadBalancers(principal.subject, params.id, signal),
    }),
    getConnectorLogs: async ({ principal, params, query, signal }) => ({
      status: 200,
      body: await containers.logs(principal.subject, params.id, query.rpp ?? LOG_LINES, signal),
    }),
  };
}

function placeOf({ subject: owner }: Principal, { id, entity }: { id: string; entity: string }): EntityPlace {
  return { owner, connectorId: id, entityId: entity };
}
