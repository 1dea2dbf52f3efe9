/** Binds the routes of networks to their services. */
import { saidOwner, type RequireTenant } from "../../platform/auth/said-owner.js";
import { requireUnchanged } from "../../platform/contract/client-names.js";
import { keepingAnswer } from "../../platform/contract/once.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import { listBlocks } from "./nodes/blocks.js";
import type { NetworkNodes } from "./nodes/network-nodes.js";
import type { networkRoutes } from "./network-routes.js";
import type { NetworkJson, NetworkNodeJson } from "./network-schemas.js";
import type { NetworkService } from "./network-service.js";
import type { NetworkStatusWatch } from "./nodes/network-status.js";

type Handlers = HandlersFor<typeof networkRoutes>;

/** Members that a network has for good. */
const CONSTANT = ["id", "created_at", "application_id", "organization_id", "user_id"] as const;

/** Returns the handlers of all routes in network-routes.ts. */
export function networkHandlers({
  networks,
  nodes,
  status,
  requireTenant,
}: {
  readonly networks: NetworkService;
  readonly nodes: NetworkNodes;
  readonly status: NetworkStatusWatch;
  readonly requireTenant: RequireTenant;
}): Handlers {
  return {
    ...nodeHandlers(nodes),
    listNetworks: ({ principal, query }) => ({ status: 200, ...networks.list(principal.subject, query, query) }),
    createNetwork: async ({ principal, body, signal, once }) => {
      const said = saidOwner(principal, body, { permissions: ["create"], requireTenant });
      const sharedWith = said === principal.subject ? undefined : said;
      const keep = keepingAnswer(once, networkAnswer);
      return networkAnswer(await networks.create(principal.subject, body, signal, { sharedWith, keep }));
    },
    getNetwork: ({ principal, params }) => ({ status: 200, body: networks.get(principal.subject, params.id) }),
    updateNetwork: async ({ principal, params, body, sentBack, signal }) => {
      requireUnchanged(sentBack, networks.get(principal.subject, params.id), CONSTANT);
      await networks.update(principal.subject, params.id, body, signal);
      return { status: 204 };
    },
    deleteNetwork: async ({ principal, params }) => {
      await networks.delete(principal.subject, params.id);
      return { status: 204 };
    },
    getNetworkStatus: async ({ principal, params }) => ({
      status: 200,
      body: await status.status(networks.find(principal.subject, params.id)),
    }),
    getNetworkStats: async ({ principal, params }) => ({
      status: 200,
      body: await status.statistics(networks.find(principal.subject, params.id)),
    }),
    listNetworkBlocks: async ({ principal, params, query, signal }) => ({
      status: 200,
      ...(await listBlocks(networks.rpc(networks.find(principal.subject, params.id)), query, signal)),
    }),
  };
}

function nodeHandlers(
  nodes: NetworkNodes,
): Pick<
  Handlers,
  | "listNetworkNodes"
  | "createNetworkNode"
  | "getNetworkNode"
  | "getNetworkNodeLogs"
  | "deleteNetworkNode"
  | "listNetworkLoadBalancers"
> {
  return {
    listNetworkNodes: ({ principal, params, query }) => ({
      status: 200,
      ...nodes.list(principal.subject, params.id, query),
    }),
    createNetworkNode: async ({ principal, params, body, signal, once }) => {
      const keep = keepingAnswer(once, nodeAnswer);
      return nodeAnswer(await nodes.create(principal.subject, params.id, body, { signal, keep }));
    },
    getNetworkNode: ({ principal, params }) => ({
      status: 200,
      body: nodes.get(principal.subject, params.id, params.node_id),
    }),
    getNetworkNodeLogs: ({ principal, params, query }) => ({
      status: 200,
      body: nodes.logs(principal.subject, params.id, params.node_id, query),
    }),
    deleteNetworkNode: async ({ principal, params }) => {
      await nodes.delete(principal.subject, params.id, params.node_id);
      return { status: 204 };
    },
    listNetworkLoadBalancers: ({ principal, params, query }) => ({
      status: 200,
      ...nodes.loadBalancers(principal.subject, params.id, query),
    }),
  };
}

function networkAnswer(made: NetworkJson) {
  return { status: 201, body: made, headers: { Location: `/api/v1/networks/${made.id}` } } as const;
}

function nodeAnswer(made: NetworkNodeJson) {
  const location = `/api/v1/networks/${made.network_id}/nodes/${made.id}`;
  return { status: 201, body: made, headers: { Location: location } } as const;
}
