/** Binds the routes of the stores to their service. */
import { keepingAnswer } from "../../platform/contract/once.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import type { Labelling } from "../labels/labelling.js";
import type { SigningKey } from "../receipts/signing-key-schemas.js";
import type { storeRoutes } from "./store-routes.js";
import type { StoresService } from "./stores-service.js";

/** Returns the handlers of all routes in store-routes.ts. */
export function storeHandlers(
  stores: StoresService,
  labelling: Pick<Labelling, "idOf">,
): HandlersFor<typeof storeRoutes> {
  return {
    listStores: ({ principal, query }) => ({ status: 200, ...stores.list(principal.subject, query) }),
    getStore: ({ principal, params }) => ({ status: 200, body: stores.get(principal.subject, params.id) }),
    listStoreRoots: ({ principal, params, query }) => ({
      status: 200,
      ...stores.roots(principal.subject, params.id, query),
    }),
    getStoreHead: async ({ principal, params }) => ({
      status: 200,
      body: await stores.head(principal.subject, params.id),
    }),
    listStoreHeads: ({ principal, params, query }) => ({
      status: 200,
      ...stores.heads(principal.subject, params.id, query),
    }),
    getStoreKeySet: ({ params }) => ({ status: 200, body: stores.headKeys.keySet(params.id) }),
    listStoreHeadKeys: ({ principal: { subject: owner }, params: { id }, query }) => ({
      status: 200,
      ...stores.headKeys.list({ owner, id }, query),
    }),
    rotateStoreHeadKey: async ({ principal: { subject: owner }, params: { id }, once }) =>
      rotatedAnswer(await stores.headKeys.rotate({ owner, id }, keepingAnswer(once, rotatedAnswer))),
    revokeStoreHeadKey: async ({ principal: { subject: owner }, params: { id, kid }, body }) => ({
      status: 200,
      body: await stores.headKeys.revoke({ owner, id }, kid, body?.reason ?? null),
    }),
    proveStoreNote: async ({ principal, params, query }) => ({
      status: 200,
      body: await stores.noteProof(principal.subject, params.id, { index: Number(params.index), size: query.size }),
    }),
    proveStoreConsistency: async ({ principal, params, query }) => ({
      status: 200,
      body: await stores.consistency(principal.subject, params.id, query),
    }),
    proveStoreNullifier: ({ principal, params, query }) => ({
      status: 200,
      body: stores.nullifierProof(principal.subject, params.id, params.key, query),
    }),
    getProverNullifier: ({ principal: { subject }, params }) => ({
      status: 200,
      body: stores.proverNullifier(subject, labelling.idOf(subject, params.id), params.key),
    }),
  };
}

function rotatedAnswer(key: SigningKey) {
  return { status: 201, body: key } as const;
}
