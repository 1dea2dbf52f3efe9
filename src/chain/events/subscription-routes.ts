/** The route that makes a token for a contract's events. A plain value; no server code. */
import Type from "typebox";
import { defineRoute } from "../../platform/contract/route.js";
import { Timestamp, Uuid, closed, nullable } from "../../platform/contract/schemas.js";
import { ContractIdParams } from "../contracts/contract-schemas.js";

const SubscriptionBody = closed({
  subject: Type.Optional(
    nullable(
      Type.String({
        minLength: 1,
        maxLength: 128,
        pattern: "^[A-Za-z0-9_$-]+(\\.[A-Za-z0-9_$-]+)*(\\.\\*)?$",
        description:
          "the subject below the contract's prefix: `Transfer` for one event, `x.*` for everything below `x`; all events when absent",
      }),
    ),
  ),
});
export const SubscriptionToken = closed(
  {
    id: Uuid,
    created_at: Timestamp,
    token: Type.String({ description: "for `Authorization: bearer` on /api/v1/events, and for nothing else" }),
    access_token: Type.String({ description: "the same" }),
    audience: Type.String({ description: "where the token is valid" }),
    subject: Type.String({ description: "the owner of the events, such as `application:<uuid>`" }),
    subscribe: Type.Array(Type.String(), { description: "the filters that the token is limited to" }),
    issued_at: Timestamp,
    expires_at: Timestamp,
    expires_in: Type.Integer({ minimum: 0, description: "seconds" }),
  },
  { description: "a token that listens to the events of a contract or connector" },
);

export const subscriptionRoutes = {
  createContractSubscription: defineRoute({
    id: "createContractSubscription",
    area: "chain",
    method: "POST",
    path: "/api/v1/contracts/:id/subscriptions",
    summary: "Make a token that listens to a contract's events",
    description:
      "The token is valid for GET /api/v1/events alone and is limited to the contract's `pubsub_prefix`. It expires after a day, or with the session that made it. It may be passed on to a browser.",
    auth: { permissions: ["read", "subscribe"] },
    params: ContractIdParams,
    body: SubscriptionBody,
    bodyOptional: true,
    responses: { 201: { description: "The token", schema: SubscriptionToken } },
    errors: ["not_found", "contract_ambiguous"],
    example: { body: {} },
  }),
} as const;
