/** The identity area in one piece, for the composition root. */
import type { Principal } from "../platform/auth/principal.js";
import type { PublicJwk } from "../platform/auth/signing-keys.js";
import type { Area, HandlersFor } from "../platform/contract/route.js";
import { identityHandlers } from "./handlers.js";
import type { identityRoutes } from "./routes.js";
import { IdentityService, type IdentityDependencies, type IdentityOptions } from "./service.js";

export interface Identity {
  readonly service: IdentityService;
  readonly handlers: HandlersFor<typeof identityRoutes>;
  /**
   * Verifies a bearer token; synchronous when it was verified within the last minute. Throws or rejects with
   * `unauthorized`.
   */
  readonly authenticate: (token: string, area?: Area) => Principal | Promise<Principal>;
  readonly jwks: () => { readonly keys: readonly PublicJwk[] };
}

/** Builds the identity area over a store and the signing keys (`openSigningKeys`). */
export function createIdentity(options: IdentityOptions, dependencies: IdentityDependencies): Identity {
  const service = new IdentityService(options, dependencies);
  return {
    service,
    handlers: identityHandlers(service),
    authenticate: (token, area) => service.authenticate(token, area),
    jwks: () => service.jwks(),
  };
}
