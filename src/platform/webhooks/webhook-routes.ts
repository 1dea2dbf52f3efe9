/** Routes of webhooks. What a webhook is told is what its owner may hear at GET /events, hence the permission. */
import Type from "typebox";
import { defineRoute } from "../contract/route.js";
import {
  CreateWebhook,
  Delivery,
  DeliveryDetail,
  DeliveryFilter,
  DeliveryParams,
  UpdateWebhook,
  Webhook,
  WebhookParams,
  WebhookWithSecret,
} from "./webhook-schemas.js";

const DESCRIPTION = [
  [
    "Events of the caller's subject, but not those for everyone, are from now on sent to `url` as POST with",
    "the JSON `{type, timestamp, data}`, where `data` has the event's `id`, `subject` and `payload`. Types are `prover.pending`, `prover.provisioned`,",
    "`prover.failed`, `prover.analyzed`, `proof.created`, `note.nullified`, `ceremony.opened`,",
    "`ceremony.joined`, `ceremony.contribution`, `ceremony.ending`, `ceremony.ended`, `ceremony.failed`,",
    "`verifier.<status>`, `verifier.disagreement`, `assurance.disagreement`, `transaction.mined`, `transaction.confirmed`,",
    "`transaction.failed`, `transaction.replaced`, `transaction.cancelled`, `contract.event`, `contract.event_removed`,",
    "`connector.status`, `webhook.disabled`, `webhook.test` and those that later versions add.",
  ],
  [
    "Messages are signed by Standard Webhooks (https://www.standardwebhooks.com): the headers are `webhook-id`,",
    "`webhook-timestamp` and `webhook-signature`, with HMAC-SHA256 under the secret. Any answer of 200 to 299 within 15",
    "seconds means delivered; redirects are not followed. Otherwise the message is sent again, at growing distances, for 3",
    "days; a `Retry-After` of 429 and 503 is honoured, for two hours at most. Delivery is at least once, and the order is",
    "not promised; `webhook-id` tells repetitions.",
  ],
  [
    "The server disables a webhook that answers 410, one whose message failed for 3 days without another having arrived,",
    "one for which 5,000 messages wait, and at the next event one whose owner has lost the permission `subscribe`. It then",
    "publishes `webhook.disabled` and writes a mail. While the vault is sealed messages wait, because the secrets are in it.",
  ],
]
  .map((lines) => lines.join(" "))
  .join("\n\n");

const READ = { permissions: ["read", "subscribe"] } as const;
const CREATE = { permissions: ["create", "subscribe"] } as const;
const UPDATE = { permissions: ["update", "subscribe"] } as const;
const webhookJson = { description: "The webhook", schema: Webhook } as const;
const secretJson = { description: "The webhook with its secret", schema: WebhookWithSecret } as const;
const queuedJson = { description: "The delivery, which is sent at once", schema: Delivery } as const;

export const webhookRoutes = {
  createWebhook: defineRoute({
    id: "createWebhook",
    area: "chain",
    method: "POST",
    path: "/api/v1/webhooks",
    summary: "Create a webhook",
    description: DESCRIPTION,
    auth: CREATE,
    body: CreateWebhook,
    responses: { 201: secretJson },
    errors: ["egress_refused", "webhook_limit_reached", "vault_sealed", "conflict", "storage_full"],
    example: { body: { url: "https://hooks.example.com/proofwright", types: ["prover.*", "transaction.confirmed"] } },
  }),
  listWebhooks: defineRoute({
    id: "listWebhooks",
    area: "chain",
    method: "GET",
    path: "/api/v1/webhooks",
    summary: "List webhooks",
    auth: READ,
    list: true,
    responses: { 200: { description: "Webhooks, oldest first", schema: Type.Array(Webhook) } },
  }),
  getWebhook: defineRoute({
    id: "getWebhook",
    area: "chain",
    method: "GET",
    path: "/api/v1/webhooks/:id",
    summary: "Read a webhook",
    auth: READ,
    params: WebhookParams,
    responses: { 200: webhookJson },
    errors: ["not_found"],
  }),
  updateWebhook: defineRoute({
    id: "updateWebhook",
    area: "chain",
    method: "PUT",
    path: "/api/v1/webhooks/:id",
    summary: "Change a webhook",
    description:
      "Changed filters hold for events from now on. With `enabled: true` messages that waited are sent; events that happened while it was disabled are not.",
    auth: UPDATE,
    params: WebhookParams,
    body: UpdateWebhook,
    responses: { 200: webhookJson },
    errors: ["not_found", "egress_refused", "conflict", "storage_full"],
    example: { body: { types: ["transaction.*"] } },
  }),
  rotateWebhookSecret: defineRoute({
    id: "rotateWebhookSecret",
    area: "chain",
    method: "POST",
    path: "/api/v1/webhooks/:id/rotate_secret",
    summary: "Give a webhook a new secret",
    description: "For 24 hours messages are signed with both secrets, so that the receiver can change over.",
    auth: UPDATE,
    params: WebhookParams,
    responses: { 200: secretJson },
    errors: ["not_found", "vault_sealed", "conflict", "storage_full"],
  }),
  deleteWebhook: defineRoute({
    id: "deleteWebhook",
    area: "chain",
    method: "DELETE",
    path: "/api/v1/webhooks/:id",
    summary: "Delete a webhook with its deliveries",
    auth: { permissions: ["delete"] },
    params: WebhookParams,
    responses: { 204: { description: "Deleted" } },
    errors: ["not_found", "vault_sealed", "conflict"],
  }),
  testWebhook: defineRoute({
    id: "testWebhook",
    area: "chain",
    method: "POST",
    path: "/api/v1/webhooks/:id/test",
    summary: "Send a test event",
    description: "Sends an event of the type `webhook.test`, whatever the filters say.",
    auth: UPDATE,
    params: WebhookParams,
    responses: { 202: queuedJson },
    errors: ["not_found", "webhook_disabled", "webhook_backlog_full", "conflict", "storage_full"],
  }),
  listWebhookDeliveries: defineRoute({
    id: "listWebhookDeliveries",
    area: "chain",
    method: "GET",
    path: "/api/v1/webhooks/:id/deliveries",
    summary: "List the deliveries of a webhook",
    description: "Newest first: those that wait, and the latest 500 that ended.",
    auth: READ,
    list: true,
    params: WebhookParams,
    query: DeliveryFilter,
    responses: { 200: { description: "Deliveries", schema: Type.Array(Delivery) } },
    errors: ["not_found"],
  }),
  getWebhookDelivery: defineRoute({
    id: "getWebhookDelivery",
    area: "chain",
    method: "GET",
    path: "/api/v1/webhooks/:id/deliveries/:delivery_id",
    summary: "Read a delivery with its payload",
    auth: READ,
    params: DeliveryParams,
    responses: { 200: { description: "The delivery", schema: DeliveryDetail } },
    errors: ["not_found"],
  }),
  redeliverWebhook: defineRoute({
    id: "redeliverWebhook",
    area: "chain",
    method: "POST",
    path: "/api/v1/webhooks/:id/deliveries/:delivery_id/redeliver",
    summary: "Send a delivery again",
    description: "The same message with the same `webhook-id`, tried for 3 days as a new one is.",
    auth: UPDATE,
    params: DeliveryParams,
    responses: { 202: queuedJson },
    errors: ["not_found", "webhook_disabled", "conflict", "storage_full"],
  }),
} as const;
