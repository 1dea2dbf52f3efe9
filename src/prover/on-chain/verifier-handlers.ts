/** Binds the routes of verifiers on chain to their service. */
import type { HandlersFor } from "../../platform/contract/route.js";
import type { verifierRoutes } from "./verifier-routes.js";
import type { Verifiers } from "./verifiers.js";

/** Returns the handlers of all routes in verifier-routes.ts. */
export function verifierHandlers(verifiers: Verifiers): HandlersFor<typeof verifierRoutes> {
  return {
    listVerifiers: ({ principal, params, query }) => ({
      status: 200,
      ...verifiers.list(principal.subject, params.id, query),
    }),
    createVerifier: async ({ principal, params, body, preferWaitSec, signal }) => {
      const wait = { waitSec: preferWaitSec, signal };
      const verifier = await verifiers.create(principal.subject, params.id, body, wait);
      return {
        status: 202,
        body: verifier,
        headers: { Location: `/api/v1/provers/${params.id}/verifiers/${verifier.id}` },
      };
    },
    getVerifier: ({ principal, params }) => ({
      status: 200,
      body: verifiers.get(principal.subject, params.id, params.verifier_id),
    }),
    checkVerifier: async ({ principal, params, body, preferWaitSec, signal }) => {
      const key = { proverId: params.id, id: params.verifier_id };
      const wait = { waitSec: preferWaitSec, signal };
      return { status: 202, body: await verifiers.check(principal.subject, key, body ?? {}, wait) };
    },
    deleteVerifier: async ({ principal, params }) => {
      await verifiers.delete(principal.subject, params.id, params.verifier_id);
      return { status: 204 };
    },
    createVerifierRegistry: async ({ principal, body }) => ({
      status: 202,
      body: await verifiers.createRegistry(principal, body),
    }),
  };
}
