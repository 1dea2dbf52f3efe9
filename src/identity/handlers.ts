/** Handlers of the identity routes: from a validated request to the service and back. No logic. */
import type { HandlersFor } from "../platform/contract/route.js";
import { applicationHandlers } from "./tenants/application-handlers.js";
import { oauthHandlers } from "./oauth/oauth-handlers.js";
import { invitationHandlers, organizationHandlers } from "./tenants/organization-handlers.js";
import type { identityRoutes } from "./routes.js";
import type { IdentityService } from "./service.js";
import type { tokenRoutes } from "./tokens/token-routes.js";
import type { userRoutes } from "./users/user-routes.js";

export function identityHandlers(service: IdentityService): HandlersFor<typeof identityRoutes> {
  return {
    ...userHandlers(service),
    ...tokenHandlers(service),
    ...applicationHandlers(service),
    ...organizationHandlers(service),
    ...invitationHandlers(service),
    ...oauthHandlers(service),
  };
}

function userHandlers(service: IdentityService): HandlersFor<typeof userRoutes> {
  return {
    createUser: async ({ body, bearer, address }) => {
      const user = await service.signUp(body, bearer, address);
      return { status: 201, body: user, headers: { location: `/api/v1/users/${user.id}` } };
    },
    authenticate: async ({ body, bearer, address }) => ({
      status: 201,
      body: await service.logIn(body, address, bearer),
    }),
    listUsers: ({ principal, query }) => {
      const { users, total } = service.users.list(principal, query);
      return { status: 200, body: users, total };
    },
    getUser: ({ principal, params }) => ({ status: 200, body: service.users.get(principal, params.id) }),
    updateUser: async ({ principal, params, body, address }) => {
      await service.userChanges.update(principal, params.id, body, address);
      return { status: 204 };
    },
    deleteUser: async ({ principal, params }) => {
      await service.userChanges.delete(principal, params.id);
      return { status: 204 };
    },
    requestPasswordReset: async ({ body, address }) => {
      await service.passwordReset.request(body.email, body.application_id, address);
      return { status: 204 };
    },
    resetPassword: async ({ params, body }) => {
      await service.passwordReset.reset(params.token, body.password);
      return { status: 204 };
    },
  };
}

function tokenHandlers(service: IdentityService): HandlersFor<typeof tokenRoutes> {
  const { tokens } = service;
  return {
    createToken: async ({ body, bearer, authorization }) => ({
      status: 201,
      body: await service.createToken(body, { bearer, authorization }),
    }),
    listTokens: ({ principal, query }) => ({ status: 200, ...tokens.list(principal, query, query.user_id) }),
    deleteTokens: async ({ principal, query }) => {
      await tokens.revokeAll(principal, query.user_id);
      return { status: 204 };
    },
    getToken: ({ principal, params }) => ({ status: 200, body: tokens.get(principal, params.id) }),
    deleteToken: async ({ principal, params }) => {
      await tokens.revoke(principal, params.id);
      return { status: 204 };
    },
    createPersonalToken: async ({ principal, body }) => ({
      status: 201,
      body: await service.createPersonalToken(principal, body),
    }),
    getJwks: () => ({ status: 200, body: service.jwks() }),
    listPublishedKeys: () => ({ status: 200, body: service.publishedKeys() }),
  };
}
