/** Route definitions of the lifecycle of keys, secrets and vaults. Plain values; no server code. */
import Type from "typebox";
import { defineRoute } from "../../platform/contract/route.js";
import { closed, IdParams } from "../../platform/contract/schemas.js";
import { Key, KeyParams, Secret, SecretParams, Vault } from "../schemas.js";

/** Longest recovery window. */
const RECOVERY_DAYS_MAX = 365;

export const RotatedKey = closed({
  ...Key.properties,
  generation: Type.Integer({ description: "part of the header of new ciphertexts" }),
});
const ScheduleDeletionBody = closed({
  recovery_days: Type.Integer({
    minimum: 1,
    maximum: RECOVERY_DAYS_MAX,
    description: "days until the deletion, in which it can be restored",
  }),
});
const base = { area: "vault", needsUnsealed: true, method: "POST", params: KeyParams } as const;
const changed = { 200: { description: "The key", schema: Key } } as const;

export const lifecycleRoutes = {
  rotateKey: defineRoute({
    ...base,
    id: "rotateKey",
    path: "/api/v1/vaults/:id/keys/:key_id/rotate",
    summary: "Give a symmetric key new material",
    description:
      "New ciphertexts use the new generation; old ones can still be decrypted, and `rewrap` moves them to it. `derive` uses the present generation.",
    auth: { permissions: ["update"] },
    responses: { 200: { description: "The key and its generation", schema: RotatedKey } },
    errors: ["not_found", "key_not_rotatable", "key_disabled", "master_key_immutable", "conflict"],
  }),
  disableKey: defineRoute({
    ...base,
    id: "disableKey",
    path: "/api/v1/vaults/:id/keys/:key_id/disable",
    summary: "Disable a key",
    description: "Every use is refused with `key_disabled` until it is enabled.",
    auth: { permissions: ["update"] },
    responses: changed,
    errors: ["not_found", "master_key_immutable", "conflict"],
  }),
  enableKey: defineRoute({
    ...base,
    id: "enableKey",
    path: "/api/v1/vaults/:id/keys/:key_id/enable",
    summary: "Enable a disabled key",
    description: "A key whose deletion is planned is enabled by `restore` (409 `deletion_planned`).",
    auth: { permissions: ["update"] },
    responses: changed,
    errors: ["not_found", "master_key_immutable", "deletion_planned", "conflict"],
  }),
  scheduleKeyDeletion: defineRoute({
    ...base,
    id: "scheduleKeyDeletion",
    path: "/api/v1/vaults/:id/keys/:key_id/schedule_deletion",
    summary: "Delete a key after a recovery window",
    description: "Until then the key cannot be used and can be restored. `DELETE` deletes at once.",
    auth: { permissions: ["delete"] },
    body: ScheduleDeletionBody,
    responses: changed,
    errors: ["not_found", "master_key_immutable", "conflict"],
    example: { body: { recovery_days: 30 } },
  }),
  restoreKey: defineRoute({
    ...base,
    id: "restoreKey",
    path: "/api/v1/vaults/:id/keys/:key_id/restore",
    summary: "Withdraw the planned deletion of a key",
    auth: { permissions: ["delete"] },
    responses: changed,
    errors: ["not_found", "key_not_deleted", "master_key_immutable", "conflict"],
  }),
  scheduleSecretDeletion: defineRoute({
    ...base,
    id: "scheduleSecretDeletion",
    params: SecretParams,
    path: "/api/v1/vaults/:id/secrets/:secret_id/schedule_deletion",
    summary: "Delete a secret after a recovery window",
    description:
      "Until then its value is not returned (409 `deletion_planned`), and it can be restored. `DELETE` deletes at once. Lists may show it for a minute longer.",
    auth: { permissions: ["delete"] },
    body: ScheduleDeletionBody,
    responses: { 200: { description: "The secret, without its value", schema: Secret } },
    errors: ["not_found", "conflict"],
    example: { body: { recovery_days: 30 } },
  }),
  restoreSecret: defineRoute({
    ...base,
    id: "restoreSecret",
    params: SecretParams,
    path: "/api/v1/vaults/:id/secrets/:secret_id/restore",
    summary: "Withdraw the planned deletion of a secret",
    auth: { permissions: ["delete"] },
    responses: { 200: { description: "The secret, without its value", schema: Secret } },
    errors: ["not_found", "deletion_not_planned", "conflict"],
  }),
  scheduleVaultDeletion: defineRoute({
    ...base,
    id: "scheduleVaultDeletion",
    params: IdParams,
    path: "/api/v1/vaults/:id/schedule_deletion",
    summary: "Delete a vault with all its keys and secrets after a recovery window",
    description:
      "Until then its keys and secrets are neither found nor used, and it can be restored. `DELETE` deletes at once. Lists may show it for a minute longer.",
    auth: { permissions: ["delete"] },
    body: ScheduleDeletionBody,
    responses: { 200: { description: "The vault", schema: Vault } },
    errors: ["not_found", "conflict"],
    example: { body: { recovery_days: 30 } },
  }),
  restoreVault: defineRoute({
    ...base,
    id: "restoreVault",
    params: IdParams,
    path: "/api/v1/vaults/:id/restore",
    summary: "Withdraw the planned deletion of a vault",
    auth: { permissions: ["delete"] },
    responses: { 200: { description: "The vault", schema: Vault } },
    errors: ["not_found", "deletion_not_planned", "conflict"],
  }),
} as const;
