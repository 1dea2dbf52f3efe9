/**
 * `/api/v1/tokens` on an address with every area. There it is identity's, but existing clients of the chain area mean
 * token contracts by it: what only a token contract has decides that a request is for the chain area.
 */
import type { TObject, TProperties, TSchema } from "typebox";
import { authorize } from "../platform/auth/authorize.js";
import type { Principal } from "../platform/auth/principal.js";
import { folded } from "../platform/contract/client-names.js";
import type { AnyReply, BoundRoute, RouteSpec } from "../platform/contract/route.js";
import { closed } from "../platform/contract/schemas.js";
import { AppError } from "../platform/errors.js";

const PATH = "/api/v1/tokens";

interface RequestView {
  readonly query: Readonly<Record<string, unknown>>;
  readonly principal: Principal | undefined;
}

/** Two routes of one method: identity's, and the chain area's under its own path. */
interface Pair {
  readonly identity: BoundRoute;
  readonly chain: BoundRoute;
}

/** Returns the routes with the ones of `/api/v1/tokens` that serve both areas. */
export function sharedTokenRoutes(routes: readonly BoundRoute[]): BoundRoute[] {
  return routes.map((bound) => {
    const { route } = bound;
    const chain = routes.find(
      ({ route: other }) => other.path === "/api/v1/token_contracts" && other.method === route.method,
    );
    if (route.path !== PATH || chain === undefined) return bound;
    const pair = { identity: bound, chain };
    return route.method === "GET" ? sharedList(pair) : sharedCreation(pair);
  });
}

function sharedList({ identity, chain }: Pair): BoundRoute {
  const ofIdentity = propertiesOf(identity.route.query);
  const ofChain = propertiesOf(chain.route.query);
  const onlyChain = Object.keys(ofChain).filter((name) => !Object.hasOwn(ofIdentity, name));
  const onlyIdentity = Object.keys(ofIdentity).filter((name) => !Object.hasOwn(ofChain, name));
  return {
    route: { ...identity.route, query: closed({ ...ofIdentity, ...ofChain }) },
    handler: (request: RequestView) => {
      if (!onlyChain.some((name) => Object.hasOwn(request.query, name))) return callOf(identity, request);
      for (const name of onlyIdentity)
        if (Object.hasOwn(request.query, name))
          throw new AppError("unknown_member", { message: `${name}: is not a member of a query for token contracts` });
      requireMay(chain.route, request.principal);
      return callOf(chain, request);
    },
  };
}

/** The chain area's route serves the bodies that have what only a token contract has, in any spelling that it takes. */
function sharedCreation({ identity, chain }: Pair): BoundRoute {
  const ofIdentity = propertiesOf(identity.route.body);
  const onlyChain = Object.keys(propertiesOf(chain.route.body))
    .filter((name) => name !== "name" && !Object.hasOwn(ofIdentity, name))
    .map(folded);
  return {
    ...identity,
    sibling: {
      bound: chain,
      isMeant: (body) => {
        if (typeof body !== "object" || body === null || Array.isArray(body)) return false;
        const names = new Set(Object.keys(body).map(folded));
        return onlyChain.some((name) => names.has(name));
      },
    },
  };
}

function callOf({ handler }: BoundRoute, request: RequestView): AnyReply | Promise<AnyReply> {
  return handler(request as never);
}

function requireMay({ auth }: RouteSpec, principal: Principal | undefined): void {
  if (auth === "public") return;
  if (principal === undefined) throw new AppError("unauthorized", { message: "unauthorized" });
  authorize(principal, auth);
}

function propertiesOf(schema: TSchema | undefined): TProperties {
  return (schema as Partial<TObject> | undefined)?.properties ?? {};
}
