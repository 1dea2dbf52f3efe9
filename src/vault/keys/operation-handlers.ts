/** Binds the routes of operations with keys to the service. No logic here. */
import type { Principal } from "../../platform/auth/principal.js";
import type { Once } from "../../platform/contract/once.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import { createdAnswer } from "../created-answer.js";
import { RequestedKeyCall, type KeyCall } from "./key-call.js";
import type { KeptDerivations } from "./key-derivation.js";
import type { operationRoutes } from "./operation-routes.js";
import type { PublicCall } from "./public-operations.js";
import type { VaultService } from "../service.js";

interface KeyRequest {
  readonly principal: Principal;
  readonly params: { readonly id: string; readonly key_id: string };
  readonly signal: AbortSignal;
}

/** Returns the handlers of `operationRoutes`. */
export function operationHandlers(dependencies: { readonly vault: VaultService }): HandlersFor<typeof operationRoutes> {
  const { operations, derivation, wallets, publicKeys } = dependencies.vault;
  return {
    deriveKey: async (request) =>
      createdAnswer(await derivation.derive(callOf(request), request.body, keptDerivations(request.once))),
    signMessage: async (request) => ({ status: 201, body: await operations.sign(callOf(request), request.body) }),
    verifySignature: async (request) => ({ status: 200, body: await operations.verify(callOf(request), request.body) }),
    encrypt: async (request) => ({ status: 200, body: await operations.encrypt(callOf(request), request.body) }),
    decrypt: async (request) => ({ status: 200, body: await operations.decrypt(callOf(request), request.body) }),
    rewrap: async (request) => ({ status: 200, body: await operations.rewrap(callOf(request), request.body) }),
    agree: async (request) => ({ status: 200, body: await operations.agree(callOf(request), request.body) }),
    listAddresses: ({ principal, params, query }) => ({
      status: 200,
      ...wallets.listAddresses(principal.subject, params.id, params.key_id, query),
    }),
    getXpub: async ({ principal, params, query }) => ({
      status: 200,
      body: await wallets.xpub(
        { owner: principal.subject, vaultId: params.id, keyId: params.key_id },
        { account: query.account ?? 0 },
      ),
    }),
    getVaultJwks: async ({ principal, params, query }) => ({
      status: 200,
      ...(await publicKeys.jwks(principal.subject, params.id, query)),
    }),
    verifyDetached: async (request) => ({
      status: 200,
      body: await publicKeys.verify(request.body, publicCallOf(request)),
    }),
    blsAggregate: async (request) => ({
      status: 201,
      body: await publicKeys.blsAggregate(request.body, publicCallOf(request)),
    }),
    blsVerify: async (request) => ({
      status: 200,
      body: await publicKeys.blsVerify(request.body, publicCallOf(request)),
    }),
    blsFastAggregateVerify: async (request) => ({
      status: 200,
      body: await publicKeys.blsFastVerify(request.body, publicCallOf(request)),
    }),
    blsVerifyPossession: async (request) => ({
      status: 200,
      body: await publicKeys.blsVerifyPossession(request.body, publicCallOf(request)),
    }),
    provePossession: async (request) => ({ status: 200, body: await operations.provePossession(callOf(request)) }),
  };
}

function publicCallOf({ principal, signal }: Pick<KeyRequest, "principal" | "signal">): PublicCall {
  return { caller: principal.subject, signal };
}

function keptDerivations(once: Once | undefined): KeptDerivations | undefined {
  if (once === undefined) return undefined;
  return { derived: (derived) => once.answered(createdAnswer(derived)), begun: () => once.begun() };
}

function callOf(request: KeyRequest): KeyCall {
  const { principal, params } = request;
  return new RequestedKeyCall(request, { owner: principal.subject, vaultId: params.id, keyId: params.key_id });
}
