/** Binds the routes of connectors to their service. No logic here: names and shapes only. */
import type { HandlersFor } from "../../platform/contract/route.js";
import type { SubscriptionTokens } from "../../platform/events/subscription-token.js";
import { subscriptionToken } from "../events/subscription-handlers.js";
import type { connectorRoutes } from "./connector-routes.js";
import type { ConnectorService } from "./connector-service.js";

export interface ConnectorHandlersDependencies {
  readonly connectors: ConnectorService;
  readonly tokens: SubscriptionTokens;
}

export function connectorHandlers({
  connectors,
  tokens,
}: ConnectorHandlersDependencies): HandlersFor<typeof connectorRoutes> {
  return {
    listConnectors: ({ principal, query }) => ({ status: 200, ...connectors.list(principal.subject, query) }),
    createConnector: async ({ principal, body }) => {
      const connector = await connectors.create(principal.subject, body);
      return { status: 201, body: connector, headers: { Location: `/api/v1/connectors/${connector.id}` } };
    },
    getConnector: async ({ principal, params, query, signal }) => ({
      status: 200,
      body: await connectors.get(
        principal.subject,
        params.id,
        { ...query, page: query.page ?? 1, rpp: query.rpp ?? 25 },
        signal,
      ),
    }),
    updateConnector: async ({ principal, params, body }) => {
      await connectors.update(principal.subject, params.id, body);
      return { status: 204 };
    },
    deleteConnector: async ({ principal, params, signal }) =>
      (await connectors.delete(principal.subject, params.id, signal)) ? { status: 204 } : { status: 202 },
    listConnectorEntities: async ({ principal, params, query, signal }) => ({
      status: 200,
      ...(await connectors.listEntities(principal.subject, params.id, query, signal)),
    }),
    createConnectorEntity: async ({ principal, params, body, signal }) => {
      const entity = await connectors.createEntity(principal.subject, params.id, body, signal);
      return {
        status: 201,
        body: entity,
        headers: { Location: `/api/v1/connectors/${params.id}/entities/${encodeURIComponent(entity.id)}` },
      };
    },
    getConnectorEntity: async ({ principal, params, signal }) => ({
      status: 200,
      body: await connectors.getEntity(principal.subject, params.id, params.entity, signal),
    }),
    updateConnectorEntity: async ({ principal, params, body, signal }) => {
      await connectors.updateEntity(principal.subject, params.id, params.entity, body, signal);
      return { status: 204 };
    },
    deleteConnectorEntity: async ({ principal, params, signal }) => {
      await connectors.removeEntity(principal.subject, params.id, params.entity, signal);
      return { status: 204 };
    },
    createConnectorSubscription: ({ principal, params }) => ({
      status: 201,
      headers: { "Cache-Control": "no-store" },
      body: subscriptionToken(principal, [connectors.eventSubject(principal.subject, params.id)], tokens),
    }),
    listConnectorNodes: async ({ principal, params, signal }) => ({
      status: 200,
      body: await connectors.nodes(principal.subject, params.id, signal),
    }),
    listConnectorLoadBalancers: async ({ principal, params, signal }) => ({
      status: 200,
      body: await connectors.loadBalancers(principal.subject, params.id, signal),
    }),
    getConnectorLogs: async ({ principal, params, query, signal }) => ({
      status: 200,
      body: await connectors.logs(principal.subject, params.id, query.rpp ?? 500, signal),
    }),
  };
}
