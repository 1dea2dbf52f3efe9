/** Handlers of the OAuth routes. */
import type { HandlersFor } from "../../platform/contract/route.js";
import { AppError } from "../../platform/errors.js";
import type { Authorization } from "./oauth.js";
import type { oauthRoutes } from "./oauth-routes.js";
import type { OAuthTokenJson } from "./oauth-schemas.js";
import type { TokenJson } from "../schemas.js";
import type { IdentityService } from "../service.js";

export function oauthHandlers(service: IdentityService): HandlersFor<typeof oauthRoutes> {
  const { oauth } = service;
  return {
    getOpenIdConfiguration: () => ({ status: 200, body: oauth.configuration() }),
    getOAuthServerMetadata: () => ({ status: 200, body: oauth.configuration() }),
    authorize: async ({ query, bearer }) => {
      const answer = await oauth.begin(query, bearer);
      return "location" in answer
        ? { status: 302, headers: { location: answer.location } }
        : { status: 200, ...page(answer) };
    },
    submitAuthorization: async ({ body, address }) => {
      const answer = await oauth.submit(body, address);
      return "location" in answer
        ? { status: 303, headers: { location: answer.location } }
        : { status: 401, ...page(answer) };
    },
    createOAuthToken: async ({ body, bearer, authorization }) => {
      if (body?.grant_type === undefined) throw new AppError("invalid_request", { message: "grant_type is required" });
      const {
        client_id,
        client_secret,
        client_assertion,
        client_assertion_type,
        grant_type,
        code,
        code_verifier,
        redirect_uri,
        refresh_token,
        scope,
      } = body;
      const input = given({
        client_id,
        client_secret,
        client_assertion,
        client_assertion_type,
        grant_type,
        code,
        code_verifier,
        redirect_uri,
        refresh_token,
        scope,
      });
      return { status: 200, body: oauthToken(await service.createToken(input, { bearer, authorization })) };
    },
    introspectToken: async ({ body, bearer, authorization }) => ({
      status: 200,
      body: await oauth.introspect(body ?? {}, { bearer, authorization }),
    }),
    revokeToken: async ({ body, bearer, authorization }) => {
      await oauth.revoke(body ?? {}, { bearer, authorization });
      return { status: 200, body: {} };
    },
    getUserInfo: ({ principal }) => ({ status: 200, body: oauth.userInfo(principal) }),
    postUserInfo: ({ principal }) => ({ status: 200, body: oauth.userInfo(principal) }),
    getOAuthApplication: ({ params }) => ({ status: 200, body: oauth.applicationDetails(params.id) }),
    getPrivacyPolicy: () => ({ status: 200, body: service.legalDocument("privacy_policy") }),
    getTermsOfService: () => ({ status: 200, body: service.legalDocument("terms_of_service") }),
  };
}

function oauthToken(token: TokenJson): OAuthTokenJson {
  const { access_token, expires_in, refresh_token, scope, id_token } = token;
  return { access_token, token_type: "Bearer", expires_in, ...given({ refresh_token, scope, id_token }) };
}

function page(answer: Extract<Authorization, { readonly page: unknown }>): {
  readonly bytes: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
} {
  const { html, contentSecurityPolicy } = answer.page;
  return {
    bytes: html,
    headers: {
      "Content-Security-Policy": contentSecurityPolicy,
      "X-Frame-Options": "DENY",
      "Referrer-Policy": "no-referrer",
    },
  };
}

type Given<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

/** The members that are there. */
function given<T extends Readonly<Record<string, string | undefined>>>(members: T): Given<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Given<T>;
}
