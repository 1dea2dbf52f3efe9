/** Binds the routes of connectors to their services. */
import type { Principal } from "../../platform/auth/principal.js";
import { requireSaidOwner, type RequireTenant } from "../../platform/auth/said-owner.js";
import { requireUnchanged } from "../../platform/contract/client-names.js";
import { keepingAnswer } from "../../platform/contract/once.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import type { SubscriptionTokens } from "../../platform/events/subscription-token.js";
import type { References } from "../../platform/references.js";
import { subscriptionToken } from "../events/subscription-handlers.js";
import type { ConnectorContainers } from "./provisioning/connector-containers.js";
import type { ConnectorDeletions } from "./provisioning/connector-deletions.js";
import type { connectorRoutes } from "./connector-routes.js";
import type { Connector, Entity } from "./connector-schemas.js";
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
    createConnector: async ({ principal, body, once }) => {
      requireSaidOwner(principal, body, requireTenant);
      references.require(principal.subject, body, ["network_id"]);
      const keep = keepingAnswer(once, connectorAnswer);
      return connectorAnswer(await connectors.create(principal.subject, body, keep));
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
    createConnectorEntity: async ({ principal, params, body, signal, once }) => {
      const answer = (entity: Entity) => entityAnswer(params.id, entity);
      const kept =
        once === undefined
          ? undefined
          : { made: (entity: Entity) => once.answered(answer(entity)), begin: async () => await once.begin() };
      const place = { owner: principal.subject, connectorId: params.id };
      return answer(await entities.create(place, body, signal, kept));
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

function connectorAnswer(made: Connector) {
  return { status: 201, body: made, headers: { Location: `/api/v1/connectors/${made.id}` } } as const;
}

function entityAnswer(connectorId: string, made: Entity) {
  const location = `/api/v1/connectors/${connectorId}/entities/${encodeURIComponent(made.id)}`;
  return { status: 201, body: made, headers: { Location: location } } as const;
}
