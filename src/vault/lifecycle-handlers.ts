/** Binds the routes of a key's lifecycle to the service. No logic here. */
import type { HandlersFor } from "../platform/contract/route.js";
import type { KeyLifecycle } from "./key-lifecycle.js";
import type { lifecycleRoutes } from "./lifecycle-routes.js";

export function lifecycleHandlers(dependencies: { readonly lifecycle: KeyLifecycle }): HandlersFor<typeof lifecycleRoutes> {
  const { lifecycle } = dependencies;
  return {
    rotateKey: async ({ principal, params }) => ({ status: 200, body: await lifecycle.rotate(principal.subject, params.id, params.key_id) }),
    rewrap: async ({ principal, params, body }) => ({ status: 200, body: { data: await lifecycle.rewrap(principal.subject, params.id, params.key_id, body) } }),
    disableKey: async ({ principal, params }) => ({ status: 200, body: await lifecycle.disable(principal.subject, params.id, params.key_id) }),
    enableKey: async ({ principal, params }) => ({ status: 200, body: await lifecycle.enable(principal.subject, params.id, params.key_id) }),
    scheduleKeyDeletion: async ({ principal, params, body }) => ({ status: 200, body: await lifecycle.scheduleDeletion(principal.subject, params.id, params.key_id, body.recovery_days) }),
    restoreKey: async ({ principal, params }) => ({ status: 200, body: await lifecycle.restore(principal.subject, params.id, params.key_id) }),
  };
}
