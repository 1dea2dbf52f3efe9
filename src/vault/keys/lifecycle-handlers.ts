/** Binds the routes of the lifecycle of keys, secrets and vaults to their services. No logic here. */
import type { HandlersFor } from "../../platform/contract/route.js";
import type { KeyLifecycle } from "./key-lifecycle.js";
import type { lifecycleRoutes } from "./lifecycle-routes.js";
import type { PlannedDeletions } from "./planned-deletions.js";

/** Returns the handlers of `lifecycleRoutes`. */
export function lifecycleHandlers(dependencies: {
  readonly lifecycle: KeyLifecycle;
  readonly deletions: PlannedDeletions;
}): HandlersFor<typeof lifecycleRoutes> {
  const { lifecycle, deletions } = dependencies;
  return {
    rotateKey: async ({ principal, params }) => ({
      status: 200,
      body: await lifecycle.rotate(principal.subject, params.id, params.key_id),
    }),
    disableKey: async ({ principal, params }) => ({
      status: 200,
      body: await lifecycle.disable(principal.subject, params.id, params.key_id),
    }),
    enableKey: async ({ principal, params }) => ({
      status: 200,
      body: await lifecycle.enable(principal.subject, params.id, params.key_id),
    }),
    scheduleKeyDeletion: async ({ principal, params, body }) => ({
      status: 200,
      body: await lifecycle.scheduleDeletion(principal.subject, params.id, params.key_id, body.recovery_days),
    }),
    restoreKey: async ({ principal, params }) => ({
      status: 200,
      body: await lifecycle.restore(principal.subject, params.id, params.key_id),
    }),
    scheduleSecretDeletion: async ({ principal, params, body }) => ({
      status: 200,
      body: await deletions.scheduleSecret(principal.subject, params.id, params.secret_id, body.recovery_days),
    }),
    restoreSecret: async ({ principal, params }) => ({
      status: 200,
      body: await deletions.restoreSecret(principal.subject, params.id, params.secret_id),
    }),
    scheduleVaultDeletion: async ({ principal, params, body }) => ({
      status: 200,
      body: await deletions.scheduleVault(principal.subject, params.id, body.recovery_days),
    }),
    restoreVault: async ({ principal, params }) => ({
      status: 200,
      body: await deletions.restoreVault(principal.subject, params.id),
    }),
  };
}
