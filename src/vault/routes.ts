/** Route definitions of the vault area (SPEC 4.2 and the operations that it leaves open). Plain values; no server code. */
import { defineRoute } from "../platform/contract/route.js";
import { IdParams } from "../platform/contract/schemas.js";
import { operationRoutes } from "./keys/operation-routes.js";
import {
  CreateKeyBody, CreateSecretBody, CreateVaultBody, Key, KeyList, KeyListQuery, KeyParams,
  SealKeyBody, SealStatus, Secret, SecretList, SecretListQuery, SecretParams, SecretWithValue, Vault, VaultList,
} from "./schemas.js";
import { SEAL_BODY_BYTES_MAX } from "./seal/seal-request.js";

/** 4096 bytes with every character escaped, and the other members. */
const SECRET_BODY_BYTES_MAX = 32 * 1024;
/** Vault bodies are flat objects of a few members. */
const JSON_TOKENS_MAX = 64;

/** An RSA key of 4096 bits takes seconds on a busy machine, and others may be before it. */
const KEY_GENERATION_DEADLINE_MS = 60_000;

const EXAMPLE_PHRASE = "legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth title";

const base = { area: "vault", needsUnsealed: true } as const;

export const vaultRoutes = {
  listVaults: defineRoute({
    ...base, id: "listVaults", method: "GET", path: "/api/v1/vaults",
    summary: "List the vaults of the authorized subject",
    auth: { permissions: ["read"] }, list: true,
    responses: { 200: { description: "Vaults, oldest first", schema: VaultList } },
  }),
  createVault: defineRoute({
    ...base, id: "createVault", method: "POST", path: "/api/v1/vaults",
    summary: "Create a vault with its master key",
    auth: { permissions: ["create"] }, body: CreateVaultBody, jsonTokensMax: JSON_TOKENS_MAX, creates: true,
    responses: { 201: { description: "The vault", schema: Vault } },
    example: { body: { name: "payments", description: "keys of the payment service" } },
  }),
  getVault: defineRoute({
    ...base, id: "getVault", method: "GET", path: "/api/v1/vaults/:id",
    summary: "Get a vault",
    description: "Not part of the specification's list of endpoints.",
    auth: { permissions: ["read"] }, params: IdParams,
    responses: { 200: { description: "The vault", schema: Vault } },
    errors: ["not_found"],
  }),
  deleteVault: defineRoute({
    ...base, id: "deleteVault", method: "DELETE", path: "/api/v1/vaults/:id",
    summary: "Delete a vault with all its keys and secrets",
    description: "Irreversible: the master key is destroyed and with it everything that it wrapped.",
    auth: { permissions: ["delete"] }, params: IdParams,
    responses: { 204: { description: "Deleted" } },
    errors: ["not_found"],
  }),
  listKeys: defineRoute({
    ...base, id: "listKeys", method: "GET", path: "/api/v1/vaults/:id/keys",
    summary: "List the keys of a vault, its master key among them",
    auth: { permissions: ["read"] }, params: IdParams, query: KeyListQuery, list: true,
    responses: { 200: { description: "Keys, oldest first", schema: KeyList } },
    errors: ["not_found"],
  }),
  createKey: defineRoute({
    ...base, id: "createKey", method: "POST", path: "/api/v1/vaults/:id/keys",
    summary: "Generate a key",
    description: "Key material comes from the server's generator; importing it is not supported. RSA keys are made one at a time and take up to some seconds.",
    auth: { permissions: ["create"] }, params: IdParams, body: CreateKeyBody, jsonTokensMax: JSON_TOKENS_MAX, deadlineMs: KEY_GENERATION_DEADLINE_MS, creates: true,
    responses: { 201: { description: "The key", schema: Key } },
    errors: ["not_found", "key_spec_unknown", "key_type_mismatch", "option_unsupported"],
    example: { body: { type: "symmetric", usage: "encrypt/decrypt", spec: "ChaCha20", name: "notes", description: "" } },
  }),
  getKey: defineRoute({
    ...base, id: "getKey", method: "GET", path: "/api/v1/vaults/:id/keys/:key_id",
    summary: "Get a key",
    auth: { permissions: ["read"] }, params: KeyParams,
    responses: { 200: { description: "The key", schema: Key } },
    errors: ["not_found"],
  }),
  deleteKey: defineRoute({
    ...base, id: "deleteKey", method: "DELETE", path: "/api/v1/vaults/:id/keys/:key_id",
    summary: "Delete a key",
    description: "Keys derived from it stay. The master key cannot be deleted.",
    auth: { permissions: ["delete"] }, params: KeyParams,
    responses: { 204: { description: "Deleted" } },
    errors: ["not_found", "master_key_immutable"],
  }),
  listSecrets: defineRoute({
    ...base, id: "listSecrets", method: "GET", path: "/api/v1/vaults/:id/secrets",
    summary: "List the secrets of a vault, without their values",
    auth: { permissions: ["read"] }, params: IdParams, query: SecretListQuery, list: true,
    responses: { 200: { description: "Secrets, oldest first", schema: SecretList } },
    errors: ["not_found"],
  }),
  createSecret: defineRoute({
    ...base, id: "createSecret", method: "POST", path: "/api/v1/vaults/:id/secrets",
    summary: "Store a secret",
    description: "The status code is not shown in the specification; 201 is used.",
    auth: { permissions: ["create"] }, params: IdParams, body: CreateSecretBody, bodyBytesMax: SECRET_BODY_BYTES_MAX, jsonTokensMax: JSON_TOKENS_MAX, creates: true,
    responses: { 201: { description: "The secret, without its value", schema: Secret } },
    errors: ["not_found", "secret_too_long"],
    example: { body: { name: "database", type: "password", value: "correct horse battery staple" } },
  }),
  getSecret: defineRoute({
    ...base, id: "getSecret", method: "GET", path: "/api/v1/vaults/:id/secrets/:secret_id",
    summary: "Retrieve a secret with its value",
    auth: { permissions: ["secret_read"] }, params: SecretParams,
    responses: { 200: { description: "The secret", schema: SecretWithValue } },
    errors: ["not_found", "deletion_planned"],
  }),
  deleteSecret: defineRoute({
    ...base, id: "deleteSecret", method: "DELETE", path: "/api/v1/vaults/:id/secrets/:secret_id",
    summary: "Delete a secret for good",
    auth: { permissions: ["delete"] }, params: SecretParams,
    responses: { 204: { description: "Deleted" } },
    errors: ["not_found"],
  }),
  createUnsealerKey: defineRoute({
    id: "createUnsealerKey", area: "vault", method: "POST", path: "/api/v1/unsealerkey",
    summary: "Make a seal key for another vault instance",
    description: "Answers `{key, validation_hash}`: 24 words and the SHA-256 of the phrase. Provider `environment` only. Changes nothing here; works while sealed.",
    auth: { permissions: ["vault_unseal"] },
    responses: { 201: { description: "The key and its validation hash", bytes: "application/json; charset=UTF-8" } },
    errors: ["seal_unsupported"],
  }),
  unseal: defineRoute({
    id: "unseal", area: "vault", method: "POST", path: "/api/v1/unseal",
    summary: "Unseal the vault",
    description: "When already unsealed the key is checked all the same and nothing changes. A wrong key is 403; ten wrong keys a minute are 429. Where a key service or a mounted file holds the key, `{}` asks it again.",
    auth: { permissions: ["vault_unseal"] }, body: SealKeyBody, rawBody: true, bodyBytesMax: SEAL_BODY_BYTES_MAX,
    responses: { 204: { description: "Unsealed" } },
    errors: ["vault_not_configured", "seal_key_rejected", "seal_key_mismatch", "seal_provider_failed", "too_many_requests"],
    example: { body: { key: EXAMPLE_PHRASE } },
  }),
  seal: defineRoute({
    id: "seal", area: "vault", method: "POST", path: "/api/v1/seal",
    summary: "Seal the vault",
    description: "Waits up to 5 s for running operations, then drops all keys from memory. Where a key service or a mounted file holds the key, `{}` seals by permission alone. Not part of the specification's list of endpoints.",
    auth: { permissions: ["vault_seal"] }, body: SealKeyBody, rawBody: true, bodyBytesMax: SEAL_BODY_BYTES_MAX,
    responses: { 204: { description: "Sealed" } },
    errors: ["vault_not_configured", "seal_key_rejected", "seal_key_mismatch", "too_many_requests"],
    example: { body: { key: EXAMPLE_PHRASE } },
  }),
  getSealStatus: defineRoute({
    id: "getSealStatus", area: "vault", method: "GET", path: "/api/v1/seal_status",
    summary: "Whether the vault is sealed",
    description: "Not part of the specification's list of endpoints.",
    auth: "public",
    responses: { 200: { description: "The state of the seal", schema: SealStatus } },
  }),
  ...operationRoutes,
} as const;
