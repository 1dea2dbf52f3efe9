/** Handlers of the identity routes: from a validated request to the service and back. No logic. */
import type { SigningKeys } from "../platform/auth/signing-keys.js";
import { requireUnchanged } from "../platform/contract/client-names.js";
import type { HandlersFor } from "../platform/contract/route.js";
import type { LegalLinks } from "./oauth/legal-documents.js";
import { deviceHandlers } from "./oauth/device/device-handlers.js";
import { oauthHandlers } from "./oauth/oauth-handlers.js";
import type { identityRoutes } from "./routes.js";
import type { IdentityServices } from "./services.js";
import { applicationHandlers } from "./tenants/application-handlers.js";
import { invitationHandlers, organizationHandlers } from "./tenants/organization-handlers.js";
import { jwkSet, publishedKeys } from "./tokens/published-keys.js";
import type { tokenRoutes } from "./tokens/token-routes.js";
import type { userRoutes } from "./users/user-routes.js";

export interface IdentityHandlersDependencies {
  readonly services: IdentityServices;
  readonly keys: SigningKeys;
  readonly idTokenKeys: () => Promise<SigningKeys>;
}

/** Returns the handlers of all identity routes. */
export function identityHandlers(
  options: { readonly issuer: string; readonly legal: LegalLinks },
  dependencies: IdentityHandlersDependencies,
): HandlersFor<typeof identityRoutes> {
  const { services } = dependencies;
  return {
    ...userHandlers(services),
    ...tokenHandlers(dependencies),
    ...applicationHandlers(services),
    ...organizationHandlers(services),
    ...invitationHandlers(services),
    ...oauthHandlers(options, dependencies),
    ...deviceHandlers(services),
  };
}

function userHandlers({
  users,
  signUp,
  userChanges,
  login,
  passwordReset,
  emailConfirmation,
}: IdentityServices): HandlersFor<typeof userRoutes> {
  return {
    createUser: async ({ body, bearer, address }) => {
      const user = await signUp.create(body, bearer, address);
      return { status: 201, body: user, headers: { location: `/api/v1/users/${user.id}` } };
    },
    authenticate: async ({ body, bearer, address }) => ({
      status: 201,
      body: await login.logIn(body, address, bearer),
    }),
    listUsers: ({ principal, query }) => {
      const { users: body, total } = users.list(principal, query);
      return { status: 200, body, total };
    },
    getUser: ({ principal, params }) => ({ status: 200, body: users.get(principal, params.id) }),
    updateUser: async ({ principal, params, body, sentBack, address }) => {
      requireUnchanged(sentBack, params, ["id"]);
      await userChanges.update(principal, params.id, body, address);
      return { status: 204 };
    },
    deleteUser: async ({ principal, params, body, address }) => {
      await userChanges.delete(principal, params.id, { currentPassword: body?.current_password, address });
      return { status: 204 };
    },
    requestPasswordReset: async ({ body, address }) => {
      await passwordReset.request(body.email, body.application_id, address);
      return { status: 204 };
    },
    resetPassword: async ({ params, body }) => {
      await passwordReset.reset(params.token, body.password);
      return { status: 204 };
    },
    requestEmailConfirmation: async ({ body, address }) => {
      await emailConfirmation.request(body.email, body.application_id, address);
      return { status: 204 };
    },
    confirmEmail: async ({ params }) => {
      await emailConfirmation.confirm(params.token);
      return { status: 204 };
    },
  };
}

function tokenHandlers({ services, keys, idTokenKeys }: IdentityHandlersDependencies): HandlersFor<typeof tokenRoutes> {
  const { tokens, tokenGrants, personalTokens } = services;
  return {
    createToken: async ({ body, bearer, authorization }) => ({
      status: 201,
      body: await tokenGrants.create(body, { bearer, authorization }),
    }),
    listTokens: ({ principal, query }) => ({ status: 200, ...tokens.list(principal, query) }),
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
      body: await personalTokens.create(principal, body),
    }),
    getJwks: async () => ({ status: 200, body: jwkSet(keys, await idTokenKeys()) }),
    listPublishedKeys: async () => ({ status: 200, body: publishedKeys(keys, await idTokenKeys()) }),
  };
}
