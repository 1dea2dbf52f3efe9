/** Binds the routes of verifiers on chain to their service. */
import { keepingAnswer } from "../../platform/contract/once.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import type { verifierRoutes } from "./verifier-routes.js";
import type { Verifier, VerifierRegistryContract } from "./verifier-schemas.js";
import type { Verifiers } from "./verifiers.js";

/** Returns the handlers of all routes in verifier-routes.ts. */
export function verifierHandlers(verifiers: Verifiers): HandlersFor<typeof verifierRoutes> {
  return {
    listVerifiers: ({ principal, params, query }) => ({
      status: 200,
      ...verifiers.list(principal.subject, params.id, query),
    }),
    createVerifier: async ({ principal, params, body, preferWaitSec, signal, once }) => {
      const wait = { waitSec: preferWaitSec, signal, keep: keepingAnswer(once, createdAnswer) };
      return createdAnswer(await verifiers.create(principal.subject, params.id, body, wait));
    },
    getVerifier: ({ principal, params }) => ({
      status: 200,
      body: verifiers.get(principal.subject, params.id, params.verifier_id),
    }),
    checkVerifier: async ({ principal, params, body, preferWaitSec, signal, once }) => {
      const key = { proverId: params.id, id: params.verifier_id };
      const wait = { waitSec: preferWaitSec, signal, keep: keepingAnswer(once, checkedAnswer) };
      return checkedAnswer(await verifiers.check(principal.subject, key, body ?? {}, wait));
    },
    deleteVerifier: async ({ principal, params }) => {
      await verifiers.delete(principal.subject, params.id, params.verifier_id);
      return { status: 204 };
    },
    createVerifierRegistry: async ({ principal, body, once }) =>
      registryAnswer(await verifiers.createRegistry(principal, body, keepingAnswer(once, registryAnswer))),
  };
}

function createdAnswer(verifier: Verifier) {
  const { id, prover_id } = verifier;
  return {
    status: 202,
    body: verifier,
    headers: { Location: `/api/v1/provers/${prover_id}/verifiers/${id}` },
  } as const;
}

function registryAnswer(registry: VerifierRegistryContract) {
  return { status: 202, body: registry } as const;
}

function checkedAnswer(verifier: Verifier) {
  return { status: 202, body: verifier } as const;
}
