/** Binds the vault's routes to its service: names and shapes only, no logic. */
import { requireSaidOwner, saidOwner, type RequireTenant } from "../platform/auth/said-owner.js";
import { keepingAnswer } from "../platform/contract/once.js";
import type { HandlersFor } from "../platform/contract/route.js";
import { createdAnswer } from "./created-answer.js";
import { operationHandlers } from "./keys/operation-handlers.js";
import type { vaultRoutes } from "./routes.js";
import type { VaultService } from "./service.js";

/**
 * Returns the handlers of `vaultRoutes`.
 * @param dependencies.requireTenant see auth/said-owner.ts; for the owners that bodies name
 */
export function vaultHandlers(dependencies: {
  readonly vault: VaultService;
  readonly requireTenant: RequireTenant;
}): HandlersFor<typeof vaultRoutes> {
  const { vault, requireTenant } = dependencies;
  return {
    listVaults: ({ principal, query }) => ({ status: 200, ...vault.listVaults(principal.subject, query) }),
    createVault: async ({ principal, body, once }) => {
      const owner = saidOwner(principal, body, { permissions: ["create"], requireTenant });
      return createdAnswer(await vault.createVault(owner, body, keepingAnswer(once, createdAnswer)));
    },
    getVault: ({ principal, params }) => ({ status: 200, body: vault.getVault(principal.subject, params.id) }),
    deleteVault: async ({ principal, params }) => {
      await vault.deleteVault(principal.subject, params.id);
      return { status: 204 };
    },
    listKeys: ({ principal, params, query }) => ({
      status: 200,
      ...vault.listKeys(principal.subject, params.id, query),
    }),
    createKey: async ({ principal, params, body, once }) => {
      requireSaidOwner(principal, body, requireTenant);
      const keep = keepingAnswer(once, createdAnswer);
      return createdAnswer(await vault.createKey(principal.subject, params.id, body, { keep }));
    },
    getKey: ({ principal, params }) => ({
      status: 200,
      body: vault.getKey(principal.subject, params.id, params.key_id),
    }),
    deleteKey: async ({ principal, params }) => {
      await vault.deleteKey(principal.subject, params.id, params.key_id);
      return { status: 204 };
    },
    listSecrets: ({ principal, params, query }) => ({
      status: 200,
      ...vault.listSecrets(principal.subject, params.id, query),
    }),
    createSecret: async ({ principal, params, body, once }) => {
      requireSaidOwner(principal, body, requireTenant);
      const keep = keepingAnswer(once, createdAnswer);
      return createdAnswer(await vault.createSecret(principal.subject, params.id, body, keep));
    },
    getSecret: async ({ principal, params }) => ({
      status: 200,
      body: await vault.getSecret(principal.subject, params.id, params.secret_id),
    }),
    deleteSecret: async ({ principal, params }) => {
      await vault.deleteSecret(principal.subject, params.id, params.secret_id);
      return { status: 204 };
    },
    ...operationHandlers(dependencies),
    ...sealHandlers(vault),
  };
}

function sealHandlers(
  vault: VaultService,
): Pick<HandlersFor<typeof vaultRoutes>, "createUnsealerKey" | "unseal" | "seal" | "getSealStatus"> {
  return {
    createUnsealerKey: () => ({ status: 201, bytes: vault.createUnsealerKey() }),
    unseal: async ({ principal, body }) => {
      await vault.unseal(principal.subject, body);
      return { status: 204 };
    },
    seal: async ({ principal, body }) => {
      const waitingFor = await vault.seal(principal.subject, body);
      return waitingFor.length === 0 ? { status: 204 } : { status: 202, body: { waiting_for: [...waitingFor] } };
    },
    getSealStatus: () => ({ status: 200, body: vault.sealStatus() }),
  };
}
