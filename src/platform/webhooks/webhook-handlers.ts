/** Binds the routes of webhooks to their service. */
import type { HandlersFor } from "../contract/route.js";
import type { webhookRoutes } from "./webhook-routes.js";
import type { Webhooks } from "./webhooks.js";

const SECRET_HEADERS = { "Cache-Control": "no-store" } as const;

/** Makes the handler of each route of `webhookRoutes`. */
export function webhookHandlers({ webhooks }: { readonly webhooks: Webhooks }): HandlersFor<typeof webhookRoutes> {
  return {
    createWebhook: async ({ principal, body }) => {
      const webhook = await webhooks.create(principal.subject, body);
      return { status: 201, body: webhook, headers: { ...SECRET_HEADERS, Location: `/api/v1/webhooks/${webhook.id}` } };
    },
    listWebhooks: ({ principal, query }) => ({ status: 200, ...webhooks.list(principal.subject, query) }),
    getWebhook: ({ principal, params }) => ({ status: 200, body: webhooks.get(principal.subject, params.id) }),
    updateWebhook: async ({ principal, params, body }) => ({
      status: 200,
      body: await webhooks.update(principal.subject, params.id, body),
    }),
    rotateWebhookSecret: async ({ principal, params }) => ({
      status: 200,
      headers: SECRET_HEADERS,
      body: await webhooks.rotate(principal.subject, params.id),
    }),
    deleteWebhook: async ({ principal, params }) => {
      await webhooks.delete(principal.subject, params.id);
      return { status: 204 };
    },
    testWebhook: async ({ principal, params }) => ({
      status: 202,
      body: await webhooks.test(principal.subject, params.id),
    }),
    listWebhookDeliveries: ({ principal, params, query }) => ({
      status: 200,
      ...webhooks.deliveries(principal.subject, params.id, query),
    }),
    getWebhookDelivery: ({ principal, params }) => ({
      status: 200,
      body: webhooks.delivery(principal.subject, params.id, params.delivery_id),
    }),
    redeliverWebhook: async ({ principal, params }) => ({
      status: 202,
      body: await webhooks.redeliver(principal.subject, params.id, params.delivery_id),
    }),
  };
}
