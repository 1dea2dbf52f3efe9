/** Translates between HTTP and subscription tokens. */
import type { Static } from "typebox";
import { formatSubject, type Principal } from "../../platform/auth/principal.js";
import { isoTimestamp } from "../../platform/clock.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import type { SubscriptionTokens } from "../../platform/events/subscription-token.js";
import { pubsubPrefix, type ContractRepository } from "../contracts/contract-repository.js";
import type { subscriptionRoutes, SubscriptionToken } from "./subscription-routes.js";

/** The audience of such tokens that existing clients expect. */
const AUDIENCE = "events";

/** Returns the handler that makes tokens for contract events. */
export function subscriptionHandlers(dependencies: {
  readonly contracts: Pick<ContractRepository, "require">;
  readonly tokens: SubscriptionTokens;
}): HandlersFor<typeof subscriptionRoutes> {
  return {
    createContractSubscription: ({ principal, params, body }) => {
      const prefix = pubsubPrefix(dependencies.contracts.require(principal.subject, params.id).value);
      const subscribe = filtersBelow(prefix, body?.subject ?? undefined);
      return {
        status: 201,
        headers: { "Cache-Control": "no-store" },
        body: subscriptionToken(principal, subscribe, dependencies.tokens),
      };
    },
  };
}

/** Makes a token for the caller's own events within the filters and returns it as clients see it. */
export function subscriptionToken(
  principal: Principal,
  subscribe: string[],
  tokens: SubscriptionTokens,
): Static<typeof SubscriptionToken> {
  const { id, text, issuedAtSec, expiresAtSec } = tokens.create(principal, subscribe);
  const issuedAt = isoTimestamp(issuedAtSec * 1000);
  return {
    id,
    created_at: issuedAt,
    token: text,
    access_token: text,
    audience: AUDIENCE,
    subject: formatSubject(principal.subject),
    subscribe,
    issued_at: issuedAt,
    expires_at: isoTimestamp(expiresAtSec * 1000),
    expires_in: expiresAtSec - issuedAtSec,
  };
}

/** Returns the filters for the whole prefix, for one subject below it, or for everything below `x` when it is `x.*`. */
function filtersBelow(prefix: string, subject: string | undefined): string[] {
  if (subject === undefined) return [prefix, `${prefix}.>`];
  return [subject.endsWith(".*") ? `${prefix}.${subject.slice(0, -1)}>` : `${prefix}.${subject}`];
}
