/**
 * Route definitions of an organization's vaults for its members, below the organization's path, as existing clients
 * call them. The operations are those below /vaults with the organization as owner, so these files belong to the vault;
 * the area of the routes is identity, whose address serves all of /organizations. Plain values; no server code.
 */
import { defineRoute } from "../platform/contract/route.js";
import { IdParams, Uuid, closed } from "../platform/contract/schemas.js";
import { operationRoutes } from "./keys/operation-routes.js";
import { SignBody, SignReply, VerifyBody, VerifyReply } from "./keys/operation-schemas.js";
import { vaultRoutes } from "./routes.js";
import {
  CreateKeyBody,
  CreateSecretBody,
  CreateVaultBody,
  Key,
  KeyList,
  KeyListQuery,
  Secret,
  SecretList,
  SecretListQuery,
  SecretWithValue,
  Vault,
  VaultList,
  VaultListQuery,
} from "./schemas.js";

const BODY_BYTES_MAX = 1024 * 1024;
const JSON_TOKENS_MAX = 50_000;
/** 4096 bytes with every character escaped, and the other members. */
const SECRET_BODY_BYTES_MAX = 32 * 1024;
const DEADLINE_MS = 120_000;

const VAULTS = "/api/v1/organizations/:id/vaults";
const KEYS = `${VAULTS}/:vault_id/keys` as const;
const SECRETS = `${VAULTS}/:vault_id/secrets` as const;
const VaultParams = closed({ id: Uuid, vault_id: Uuid });
const KeyOfVaultParams = closed({ id: Uuid, vault_id: Uuid, key_id: Uuid });
const SecretOfVaultParams = closed({ id: Uuid, vault_id: Uuid, secret_id: Uuid });

const base = { area: "identity", needsUnsealed: true } as const;
const MEMBERS = "For members, who need the permission on the organization as well.";

export const organizationVaultRoutes = {
  listOrganizationVaults: defineRoute({
    ...base,
    id: "listOrganizationVaults",
    method: "GET",
    path: VAULTS,
    summary: "List an organization's vaults",
    description: MEMBERS,
    auth: { permissions: ["read"] },
    params: IdParams,
    query: VaultListQuery,
    list: true,
    responses: { 200: { description: "Vaults, oldest first", schema: VaultList } },
    errors: ["not_found"],
  }),
  createOrganizationVault: defineRoute({
    ...base,
    id: "createOrganizationVault",
    method: "POST",
    path: VAULTS,
    summary: "Create a vault of an organization",
    description: MEMBERS,
    auth: { permissions: ["create"] },
    params: IdParams,
    body: CreateVaultBody,
    creates: true,
    keepsOnce: true,
    responses: { 201: { description: "The vault", schema: Vault } },
    errors: ["not_found"],
    example: { body: { name: "treasury" } },
  }),
  listOrganizationVaultKeys: defineRoute({
    ...base,
    id: "listOrganizationVaultKeys",
    method: "GET",
    path: KEYS,
    summary: "List the keys of an organization's vault",
    description: MEMBERS,
    auth: { permissions: ["read"] },
    params: VaultParams,
    query: KeyListQuery,
    list: true,
    responses: { 200: { description: "Keys, oldest first", schema: KeyList } },
    errors: ["not_found"],
  }),
  createOrganizationVaultKey: defineRoute({
    ...base,
    id: "createOrganizationVaultKey",
    method: "POST",
    path: KEYS,
    summary: "Generate a key in an organization's vault",
    description: MEMBERS,
    auth: { permissions: ["create"] },
    params: VaultParams,
    body: CreateKeyBody,
    creates: true,
    keepsOnce: true,
    deadlineMs: DEADLINE_MS,
    responses: { 201: { description: "The key", schema: Key } },
    errors: vaultRoutes.createKey.errors,
    example: { body: { type: "asymmetric", usage: "sign/verify", spec: "secp256k1", name: "treasury" } },
  }),
  deleteOrganizationVaultKey: defineRoute({
    ...base,
    id: "deleteOrganizationVaultKey",
    method: "DELETE",
    path: `${KEYS}/:key_id`,
    summary: "Delete a key of an organization's vault",
    description: MEMBERS,
    auth: { permissions: ["delete"] },
    params: KeyOfVaultParams,
    responses: { 204: { description: "Deleted" } },
    errors: ["not_found", "master_key_immutable"],
  }),
  signWithOrganizationVaultKey: defineRoute({
    ...base,
    id: "signWithOrganizationVaultKey",
    method: "POST",
    path: `${KEYS}/:key_id/sign`,
    summary: "Sign with a key of an organization's vault",
    description: `${MEMBERS} The status is 200, as existing clients expect.`,
    auth: { permissions: ["vault_use"] },
    params: KeyOfVaultParams,
    body: SignBody,
    itemsFailAlone: true,
    bodyBytesMax: BODY_BYTES_MAX,
    jsonTokensMax: JSON_TOKENS_MAX,
    deadlineMs: DEADLINE_MS,
    responses: { 200: { description: "The signature", schema: SignReply, mayBeText: true } },
    errors: operationRoutes.signMessage.errors,
    example: { body: { message: "9c22ff5f21f0b81b113e63f7db6da94fedef11b2119b4088b89664fb9a3cb658" } },
  }),
  verifyWithOrganizationVaultKey: defineRoute({
    ...base,
    id: "verifyWithOrganizationVaultKey",
    method: "POST",
    path: `${KEYS}/:key_id/verify`,
    summary: "Verify with a key of an organization's vault",
    description: MEMBERS,
    auth: { permissions: ["vault_use"] },
    params: KeyOfVaultParams,
    body: VerifyBody,
    itemsFailAlone: true,
    bodyBytesMax: BODY_BYTES_MAX,
    jsonTokensMax: JSON_TOKENS_MAX,
    deadlineMs: DEADLINE_MS,
    responses: { 200: { description: "Whether the signature is the key's", schema: VerifyReply, mayBeText: true } },
    errors: operationRoutes.verifySignature.errors,
    example: { body: { message: "9c22ff5f21f0b81b113e63f7db6da94fedef11b2119b4088b89664fb9a3cb658", signature: "00" } },
  }),
  listOrganizationVaultSecrets: defineRoute({
    ...base,
    id: "listOrganizationVaultSecrets",
    method: "GET",
    path: SECRETS,
    summary: "List the secrets of an organization's vault, without their values",
    description: MEMBERS,
    auth: { permissions: ["read"] },
    params: VaultParams,
    query: SecretListQuery,
    list: true,
    responses: { 200: { description: "Secrets, oldest first", schema: SecretList } },
    errors: ["not_found"],
  }),
  createOrganizationVaultSecret: defineRoute({
    ...base,
    id: "createOrganizationVaultSecret",
    method: "POST",
    path: SECRETS,
    summary: "Store a secret in an organization's vault",
    description: MEMBERS,
    auth: { permissions: ["create"] },
    params: VaultParams,
    body: CreateSecretBody,
    bodyBytesMax: SECRET_BODY_BYTES_MAX,
    creates: true,
    keepsOnce: true,
    responses: { 201: { description: "The secret, without its value", schema: Secret } },
    errors: ["not_found", "secret_too_long"],
    example: { body: { name: "database", type: "password", value: "correct horse battery staple" } },
  }),
  getOrganizationVaultSecret: defineRoute({
    ...base,
    id: "getOrganizationVaultSecret",
    method: "GET",
    path: `${SECRETS}/:secret_id`,
    summary: "Retrieve a secret of an organization's vault",
    description: MEMBERS,
    auth: { permissions: ["secret_read"] },
    params: SecretOfVaultParams,
    responses: { 200: { description: "The secret", schema: SecretWithValue } },
    errors: ["not_found", "deletion_planned"],
  }),
  deleteOrganizationVaultSecret: defineRoute({
    ...base,
    id: "deleteOrganizationVaultSecret",
    method: "DELETE",
    path: `${SECRETS}/:secret_id`,
    summary: "Delete a secret of an organization's vault for good",
    description: MEMBERS,
    auth: { permissions: ["delete"] },
    params: SecretOfVaultParams,
    responses: { 204: { description: "Deleted" } },
    errors: ["not_found"],
  }),
} as const;
