/** Handlers of the OAuth routes and the legal documents: from a validated request to the service and back. No logic. */
import type { SigningKeys } from "../../platform/auth/signing-keys.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import { AppError } from "../../platform/errors.js";
import type { CreateTokenInput, TokenJson } from "../schemas.js";
import type { IdentityServices } from "../services.js";
import { legalDocument, type LegalLinks } from "./legal-documents.js";
import type { oauthRoutes } from "./oauth-routes.js";
import type { OAuthTokenInput, OAuthTokenJson } from "./oauth-schemas.js";
import { pageReply } from "./page-reply.js";
import { serverMetadata } from "./server-metadata.js";

interface OAuthHandlersDependencies {
  readonly services: IdentityServices;
  readonly keys: SigningKeys;
  readonly idTokenKeys: () => Promise<SigningKeys>;
}

/** Returns the handlers of OAuth 2.0 and OpenID Connect, and of the legal documents. */
export function oauthHandlers(
  { issuer, legal }: { readonly issuer: string; readonly legal: LegalLinks },
  { services, keys, idTokenKeys }: OAuthHandlersDependencies,
): HandlersFor<typeof oauthRoutes> {
  const { authorization: authorizations, endSession, tokenInspection, tokenGrants, userInfo } = services;
  const metadata = async (): Promise<ReturnType<typeof serverMetadata>> =>
    serverMetadata({ issuer, signingAlgorithms: [(await idTokenKeys()).algorithm, keys.algorithm] });
  return {
    getOpenIdConfiguration: async () => ({ status: 200, body: await metadata() }),
    getOAuthServerMetadata: async () => ({ status: 200, body: await metadata() }),
    authorize: async ({ query, bearer, repeated }) => {
      const result = await authorizations.begin(query, { bearer, repeated });
      return "location" in result
        ? { status: 302, headers: { location: result.location } }
        : { status: 200, ...pageReply(result.page) };
    },
    submitAuthorization: async ({ body, address, bearer, repeated }) => {
      const result = await authorizations.submit(body, { address, bearer, repeated });
      return "location" in result
        ? { status: 303, headers: { location: result.location } }
        : { status: result.isRetry ? 401 : 200, ...pageReply(result.page) };
    },
    createOAuthToken: async ({ body, bearer, authorization }) => {
      const token = await tokenGrants.create(grantInput(body), { bearer, authorization });
      return { status: 200, body: oauthToken(token) };
    },
    introspectToken: async ({ body, bearer, authorization }) => ({
      status: 200,
      body: await tokenInspection.introspect(body ?? {}, { bearer, authorization }),
    }),
    revokeToken: async ({ body, bearer, authorization }) => {
      await tokenInspection.revoke(body ?? {}, { bearer, authorization });
      return { status: 200, body: {} };
    },
    endSession: async ({ query }) => {
      const result = await endSession.end(query);
      return "location" in result
        ? { status: 302, headers: { location: result.location } }
        : { status: 200, ...pageReply(result.page) };
    },
    submitEndSession: async ({ body }) => {
      const result = await endSession.end(body ?? {});
      return "location" in result
        ? { status: 303, headers: { location: result.location } }
        : { status: 200, ...pageReply(result.page) };
    },
    getUserInfo: ({ principal }) => ({ status: 200, body: userInfo.claims(principal) }),
    postUserInfo: ({ principal }) => ({ status: 200, body: userInfo.claims(principal) }),
    getOAuthApplication: ({ params }) => ({ status: 200, body: authorizations.applicationDetails(params.id) }),
    getPrivacyPolicy: () => ({ status: 200, body: legalDocument(legal, "privacy_policy") }),
    getTermsOfService: () => ({ status: 200, body: legalDocument(legal, "terms_of_service") }),
  };
}

/** The members of a token request that OAuth defines; others are ignored (RFC 6749 section 3.2). */
function grantInput(body: OAuthTokenInput | undefined): CreateTokenInput {
  if (body?.grant_type === undefined) throw new AppError("invalid_request", { message: "grant_type is required" });
  const { client_id, client_secret, client_assertion, client_assertion_type } = body;
  const { grant_type, code, code_verifier, redirect_uri, refresh_token, device_code, scope } = body;
  return withoutUndefined({
    client_id,
    client_secret,
    client_assertion,
    client_assertion_type,
    grant_type,
    code,
    code_verifier,
    redirect_uri,
    refresh_token,
    device_code,
    scope,
  });
}

function oauthToken(token: TokenJson): OAuthTokenJson {
  const { access_token, expires_in, refresh_token, scope, id_token } = token;
  return { access_token, token_type: "Bearer", expires_in, ...withoutUndefined({ refresh_token, scope, id_token }) };
}

type Defined<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

function withoutUndefined<T extends Readonly<Record<string, string | undefined>>>(members: T): Defined<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<T>;
}
