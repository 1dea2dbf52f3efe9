/** A route with its checks and limits, worked out once. */
import { authorizer } from "../auth/authorize.js";
import type { Principal } from "../auth/principal.js";
import type { BoundRoute } from "../contract/route.js";
import { compileRoute, type RouteValidator } from "../contract/validate.js";
import type { JsonLimits } from "../json/json-scan.js";
import {
  BODY_BYTES_DEFAULT,
  JSON_DEPTH_MAX,
  JSON_KEY_BYTES_MAX,
  JSON_NUMBER_BYTES_MAX,
  JSON_TOKENS_DEFAULT,
  JSON_USER_KEY_BYTES_MAX,
  type HttpLimits,
} from "./limits/limits.js";

export interface CompiledRoute extends Omit<BoundRoute, "sibling"> {
  readonly validator: RouteValidator;
  /** Throws `forbidden`; absent on public routes. */
  readonly check?: (principal: Principal) => void;
  readonly bodyBytesMax: number;
  readonly jsonLimits: JsonLimits;
  readonly deadlineMs: number;
  /** Caches must not keep answers of the vault and of identity. */
  readonly noStore: boolean;
  readonly sibling?: { readonly compiled: CompiledRoute; readonly isMeant: (body: unknown) => boolean };
  /** True where the body says who calls, or which of two routes is called. */
  readonly readsBodyFirst: boolean;
}

/** Works out the checks and the limits of a route; its schemas are compiled with the first request (validate.ts). */
export function compileBoundRoute(bound: BoundRoute, limits: Pick<HttpLimits, "deadlineMs">): CompiledRoute {
  const { sibling, ...own } = bound;
  const { route } = own;
  return {
    ...own,
    ...(sibling === undefined
      ? {}
      : { sibling: { compiled: compileBoundRoute(sibling.bound, limits), isMeant: sibling.isMeant } }),
    readsBodyFirst: sibling !== undefined || route.bearerInForm === true,
    validator: compileRoute(route),
    ...(route.auth === "public" ? {} : { check: authorizer(route.auth) }),
    bodyBytesMax: route.bodyBytesMax ?? BODY_BYTES_DEFAULT,
    jsonLimits: {
      depthMax: JSON_DEPTH_MAX,
      tokensMax: route.jsonTokensMax ?? JSON_TOKENS_DEFAULT,
      keyBytesMax: route.userNames === true ? JSON_USER_KEY_BYTES_MAX : JSON_KEY_BYTES_MAX,
      numberBytesMax: JSON_NUMBER_BYTES_MAX,
      ...(route.userNames === undefined ? {} : { userNames: route.userNames }),
    },
    deadlineMs: route.deadlineMs ?? limits.deadlineMs,
    noStore: route.area === "vault" || route.area === "identity",
  };
}
