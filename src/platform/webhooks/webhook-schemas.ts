/** Schemas of webhooks and their deliveries, as clients see them. */
import Type, { type Static } from "typebox";
import { closed, IdParams, Name, nullable, Timestamp, Uuid } from "../contract/schemas.js";
import { FILTER_PATTERN, SUBJECT_CHARACTERS_MAX } from "../events/subject-filter.js";

/** Most filters of one webhook, as of one event stream. */
const FILTERS_MAX = 32;
/** As long as the egress guard takes URLs. */
const URL_CHARACTERS_MAX = 2_000;

const Filter = Type.String({ minLength: 1, maxLength: SUBJECT_CHARACTERS_MAX, pattern: FILTER_PATTERN });
const Types = Type.Array(Filter, {
  maxItems: FILTERS_MAX,
  description: "filters over types of events, such as `prover.failed`, `transaction.*` or `>`; empty for all types",
});
const Subjects = Type.Array(Filter, {
  maxItems: FILTERS_MAX,
  description: "filters over subjects as in GET /events, such as `network.<id>.>`; empty for all subjects",
});
const Url = Type.String({
  minLength: 1,
  maxLength: URL_CHARACTERS_MAX,
  description: "HTTPS address that takes the events; internal addresses are refused",
});

export const CreateWebhook = closed({
  url: Url,
  name: Type.Optional(nullable(Name)),
  types: Type.Optional(Types),
  subjects: Type.Optional(Subjects),
});
export type CreateWebhookInput = Static<typeof CreateWebhook>;

export const UpdateWebhook = closed({
  url: Type.Optional(Url),
  name: Type.Optional(nullable(Name)),
  types: Type.Optional(Types),
  subjects: Type.Optional(Subjects),
  enabled: Type.Optional(
    Type.Boolean({ description: "false stops deliveries; true starts them again, also after the server ended them" }),
  ),
});
export type UpdateWebhookInput = Static<typeof UpdateWebhook>;

export const DisabledReason = Type.Object(
  { code: Type.String(), message: Type.String(), at: Timestamp },
  { description: "why the server disabled it; null while it is enabled, or disabled by its owner" },
);

const WEBHOOK = {
  id: Uuid,
  created_at: Timestamp,
  updated_at: Timestamp,
  name: nullable(Type.String()),
  url: Type.String(),
  types: Type.Array(Type.String()),
  subjects: Type.Array(Type.String()),
  enabled: Type.Boolean(),
  disabled_reason: nullable(DisabledReason),
  previous_secret_until: nullable(
    Type.String({ description: "until then messages are also signed with the secret before the rotation" }),
  ),
};
export const Webhook = Type.Object(WEBHOOK, { description: "A webhook" });
export type WebhookJson = Static<typeof Webhook>;

export const WebhookWithSecret = Type.Object(
  {
    ...WEBHOOK,
    secret: Type.String({ description: "`whsec_` and the key in base64; shown this once" }),
  },
  { description: "A webhook with its new secret" },
);
export type WebhookWithSecretJson = Static<typeof WebhookWithSecret>;

const State = Type.Union([Type.Literal("pending"), Type.Literal("delivered"), Type.Literal("failed")]);
export type DeliveryState = Static<typeof State>;

export const Attempt = Type.Object({
  at: Timestamp,
  duration_ms: Type.Integer(),
  status: nullable(Type.Integer({ description: "HTTP status; null when there was no answer" })),
  error: nullable(Type.Object({ code: Type.String(), message: Type.String() })),
});
export type AttemptJson = Static<typeof Attempt>;

const DELIVERY = {
  id: Type.String({ description: "UUID; `msg_` and it are the header webhook-id, the same at every attempt" }),
  created_at: Timestamp,
  webhook_id: Uuid,
  type: Type.String({ description: "type of the event" }),
  event_id: nullable(Type.Integer({ description: "id of the event in GET /events; null for a test" })),
  state: State,
  attempts: Type.Array(Attempt, { description: "the latest 20, oldest first" }),
  next_attempt_at: nullable(Timestamp),
  ended_at: nullable(Timestamp),
};
export const Delivery = Type.Object(DELIVERY, { description: "A delivery, without its payload" });
export type DeliveryJson = Static<typeof Delivery>;

export const DeliveryDetail = Type.Object(
  { ...DELIVERY, payload: Type.String({ description: "the body of the request, exactly as it is signed" }) },
  { description: "A delivery" },
);
export type DeliveryDetailJson = Static<typeof DeliveryDetail>;

export const DeliveryFilter = closed({ state: Type.Optional(State) });
export const DeliveryParams = closed({ id: Uuid, delivery_id: Uuid });
export { IdParams as WebhookParams };
