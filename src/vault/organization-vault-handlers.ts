/**
 * Binds the routes of an organization's vaults. The operations are the vault's, so this file belongs to it; the paths
 * are below /organizations, so that identity's server serves them, and identity decides who is a member with which
 * rights.
 */
import { PERMISSIONS } from "../platform/auth/permissions.js";
import type { Principal, Subject } from "../platform/auth/principal.js";
import { requireSaidOwner, type SaidOwner } from "../platform/auth/said-owner.js";
import { keepingAnswer } from "../platform/contract/once.js";
import type { HandlersFor } from "../platform/contract/route.js";
import { notFound } from "../platform/errors.js";
import { createdAnswer } from "./created-answer.js";
import { RequestedKeyCall, type KeyCall } from "./keys/key-call.js";
import type { organizationVaultRoutes } from "./organization-vault-routes.js";
import type { VaultService } from "./service.js";

export interface OrganizationVaultDependencies {
  readonly vault: VaultService;
  /**
   * Throws `not_found` for an organization that the caller cannot see, `forbidden` when the caller lacks one of the
   * permission bits on it.
   */
  readonly requireMember: (principal: Principal, organizationId: string, bits: number) => void;
}

interface KeyRequest {
  readonly principal: Principal;
  readonly params: { readonly id: string; readonly vault_id: string; readonly key_id: string };
  readonly signal: AbortSignal;
}

interface Owners {
  /** Returns the organization as the owner of its vaults, for a member that has the permission bits. */
  find(principal: Principal, organizationId: string, bits: number): Subject;
  /** Does the same to create something, whose body may only name the organization of the path and the caller. */
  creating(principal: Principal, organizationId: string, said: SaidOwner): Subject;
}

/** Returns the handlers of `organizationVaultRoutes`. */
export function organizationVaultHandlers(
  dependencies: OrganizationVaultDependencies,
): HandlersFor<typeof organizationVaultRoutes> {
  const { vault, requireMember } = dependencies;
  const find: Owners["find"] = (principal, organizationId, bits) => {
    requireMember(principal, organizationId, bits);
    return { kind: "organization", id: organizationId };
  };
  const owners: Owners = {
    find,
    creating: (principal, organizationId, said) => {
      const owner = find(principal, organizationId, PERMISSIONS.create);
      requireSaidOwner(principal, said, (_principal, { kind, id }) => {
        if (kind !== owner.kind || id !== owner.id) throw notFound(kind);
      });
      return owner;
    },
  };
  return { ...keyHandlers(vault, owners), ...secretHandlers(vault, owners) };
}

function keyHandlers(
  vault: VaultService,
  owners: Owners,
): Omit<HandlersFor<typeof organizationVaultRoutes>, keyof ReturnType<typeof secretHandlers>> {
  const callOf = (request: KeyRequest): KeyCall =>
    new RequestedKeyCall(request, {
      owner: owners.find(request.principal, request.params.id, PERMISSIONS.vault_use),
      vaultId: request.params.vault_id,
      keyId: request.params.key_id,
    });
  return {
    listOrganizationVaults: ({ principal, params, query }) => ({
      status: 200,
      ...vault.listVaults(owners.find(principal, params.id, PERMISSIONS.read), query),
    }),
    createOrganizationVault: async ({ principal, params, body, once }) => {
      const owner = owners.creating(principal, params.id, body);
      return createdAnswer(await vault.createVault(owner, body, keepingAnswer(once, createdAnswer)));
    },
    listOrganizationVaultKeys: ({ principal, params, query }) => ({
      status: 200,
      ...vault.listKeys(owners.find(principal, params.id, PERMISSIONS.read), params.vault_id, query),
    }),
    createOrganizationVaultKey: async ({ principal, params, body, once }) => {
      const owner = owners.creating(principal, params.id, body);
      const keep = keepingAnswer(once, createdAnswer);
      return createdAnswer(await vault.createKey(owner, params.vault_id, body, { keep }));
    },
    deleteOrganizationVaultKey: async ({ principal, params }) => {
      await vault.deleteKey(owners.find(principal, params.id, PERMISSIONS.delete), params.vault_id, params.key_id);
      return { status: 204 };
    },
    signWithOrganizationVaultKey: async (request) => ({
      status: 200,
      body: await vault.operations.sign(callOf(request), request.body),
    }),
    verifyWithOrganizationVaultKey: async (request) => ({
      status: 200,
      body: await vault.operations.verify(callOf(request), request.body),
    }),
  };
}

function secretHandlers(
  vault: VaultService,
  owners: Owners,
): Pick<
  HandlersFor<typeof organizationVaultRoutes>,
  | "listOrganizationVaultSecrets"
  | "createOrganizationVaultSecret"
  | "getOrganizationVaultSecret"
  | "deleteOrganizationVaultSecret"
> {
  return {
    listOrganizationVaultSecrets: ({ principal, params, query }) => ({
      status: 200,
      ...vault.listSecrets(owners.find(principal, params.id, PERMISSIONS.read), params.vault_id, query),
    }),
    createOrganizationVaultSecret: async ({ principal, params, body, once }) => {
      const owner = owners.creating(principal, params.id, body);
      const keep = keepingAnswer(once, createdAnswer);
      return createdAnswer(await vault.createSecret(owner, params.vault_id, body, keep));
    },
    getOrganizationVaultSecret: async ({ principal, params }) => ({
      status: 200,
      body: await vault.getSecret(
        owners.find(principal, params.id, PERMISSIONS.secret_read),
        params.vault_id,
        params.secret_id,
      ),
    }),
    deleteOrganizationVaultSecret: async ({ principal, params }) => {
      await vault.deleteSecret(
        owners.find(principal, params.id, PERMISSIONS.delete),
        params.vault_id,
        params.secret_id,
      );
      return { status: 204 };
    },
  };
}
