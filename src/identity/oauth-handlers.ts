/** Handlers of the OAuth routes. Failures take the form that RFC 6749 section 5.2 prescribes; that translation is all the logic here. */
import type { HandlersFor } from "../platform/contract/route.js";
import { AppError, type ErrorCode } from "../platform/errors.js";
import type { Authorization } from "./oauth.js";
import type { oauthRoutes } from "./oauth-routes.js";
import type { OAuthTokenJson } from "./oauth-schemas.js";
import type { TokenJson } from "./schemas.js";
import type { IdentityService } from "./service.js";

/** Codes that OAuth has a word for; the others are the server's own trouble and keep the common form. */
const OAUTH_WORDS: Readonly<Partial<Record<ErrorCode, { readonly status: 400 | 401; readonly error: string }>>> = {
  invalid_client: { status: 401, error: "invalid_client" },
  unauthorized: { status: 401, error: "invalid_client" },
  invalid_grant: { status: 400, error: "invalid_grant" },
  unsupported_grant: { status: 400, error: "unsupported_grant_type" },
  invalid_request: { status: 400, error: "invalid_request" },
  permission_escalation: { status: 400, error: "invalid_scope" },
};

export function oauthHandlers(service: IdentityService): HandlersFor<typeof oauthRoutes> {
  const { oauth } = service;
  return {
    getOpenIdConfiguration: () => ({ status: 200, body: oauth.configuration() }),
    getOAuthServerMetadata: () => ({ status: 200, body: oauth.configuration() }),
    authorize: async ({ query, bearer }) => {
      const answer = await oauth.begin(query, bearer);
      return "location" in answer ? { status: 302, headers: { location: answer.location } } : { status: 200, ...page(answer) };
    },
    submitAuthorization: async ({ body, address }) => {
      const answer = await oauth.submit(body, address);
      return "location" in answer ? { status: 303, headers: { location: answer.location } } : { status: 401, ...page(answer) };
    },
    createOAuthToken: ({ body, bearer, authorization }) => answered(async () => {
      if (body?.grant_type === undefined) throw new AppError("invalid_request", { message: "grant_type is required" });
      const { client_id, client_secret, client_assertion, client_assertion_type, grant_type, code, code_verifier, redirect_uri, refresh_token, scope } = body;
      const input = given({ client_id, client_secret, client_assertion, client_assertion_type, grant_type, code, code_verifier, redirect_uri, refresh_token, scope });
      return { status: 200, body: oauthToken(await service.createToken(input, { bearer, authorization })) };
    }),
    introspectToken: ({ body, bearer, authorization }) => answered(async () => ({ status: 200, body: await oauth.introspect(body ?? {}, { bearer, authorization }) })),
    revokeToken: ({ body, bearer, authorization }) => answered(async () => {
      await oauth.revoke(body ?? {}, { bearer, authorization });
      return { status: 200, body: {} };
    }),
    getUserInfo: ({ principal }) => ({ status: 200, body: oauth.userInfo(principal) }),
    postUserInfo: ({ principal }) => ({ status: 200, body: oauth.userInfo(principal) }),
    getOAuthApplication: ({ params }) => ({ status: 200, body: oauth.applicationDetails(params.id) }),
    getPrivacyPolicy: () => ({ status: 200, body: service.legalDocument("privacy_policy") }),
    getTermsOfService: () => ({ status: 200, body: service.legalDocument("terms_of_service") }),
  };
}

type Failure = { readonly status: 400 | 401; readonly body: { error: string; error_description: string }; readonly headers?: Readonly<Record<string, string>> };

async function answered<R>(work: () => Promise<R>): Promise<R | Failure> {
  try {
    return await work();
  } catch (error) {
    const word = error instanceof AppError ? OAUTH_WORDS[error.code] : undefined;
    if (word === undefined || !(error instanceof AppError)) throw error;
    const body = { error: word.error, error_description: error.message };
    return word.status === 401 ? { status: 401, body, headers: { "WWW-Authenticate": 'Basic realm="proofwright"' } } : { status: 400, body };
  }
}

function oauthToken(token: TokenJson): OAuthTokenJson {
  const { access_token, expires_in, refresh_token, scope, id_token } = token;
  return { access_token, token_type: "Bearer", expires_in, ...given({ refresh_token, scope, id_token }) };
}

function page(answer: Extract<Authorization, { readonly page: unknown }>): { readonly bytes: Uint8Array; readonly headers: Readonly<Record<string, string>> } {
  const { html, contentSecurityPolicy } = answer.page;
  return { bytes: html, headers: { "Content-Security-Policy": contentSecurityPolicy, "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer" } };
}

type Given<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

/** The members that are there. */
function given<T extends Readonly<Record<string, string | undefined>>>(members: T): Given<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Given<T>;
}
