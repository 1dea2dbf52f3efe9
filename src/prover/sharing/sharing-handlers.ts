/** Binds the routes of sharing to their service. */
import { keepingAnswer } from "../../platform/contract/once.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import type { SharedProvers } from "./shared-provers.js";
import type { sharingRoutes } from "./sharing-routes.js";
import type { ProverGrant } from "./sharing-schemas.js";

/** Returns the handlers of all routes in sharing-routes.ts. */
export function sharingHandlers(sharing: SharedProvers): HandlersFor<typeof sharingRoutes> {
  return {
    listProverGrants: ({ principal, params, query }) => ({
      status: 200,
      ...sharing.listGrants(principal.subject, params.id, query),
    }),
    createProverGrant: async ({ principal, params, body, once }) =>
      grantedAnswer(await sharing.grant(principal.subject, params.id, body, keepingAnswer(once, grantedAnswer))),
    deleteProverGrant: async ({ principal, params }) => {
      await sharing.revoke(principal.subject, params.id, params.grant_id);
      return { status: 204 };
    },
    listSharedProvers: ({ principal, query }) => ({ status: 200, ...sharing.list(principal.subject, query) }),
    getSharedProver: ({ principal, params }) => ({ status: 200, body: sharing.get(principal.subject, params.id) }),
    leaveSharedProver: async ({ principal, params }) => {
      await sharing.leave(principal.subject, params.id);
      return { status: 204 };
    },
  };
}

function grantedAnswer(grant: ProverGrant) {
  return { status: 201, body: grant } as const;
}
