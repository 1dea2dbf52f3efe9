/** Route definitions of OAuth 2.0 and OpenID Connect, and of the legal documents. Plain values; no server code. */
import { defineRoute, type OAuthErrors } from "../../platform/contract/route.js";
import { IdParams } from "../../platform/contract/schemas.js";
import {
  AuthorizeForm,
  AuthorizeQuery,
  EndSessionQuery,
  Introspection,
  LegalDocument,
  OAuthApplication,
  OAuthError,
  OAuthToken,
  OAuthTokenForm,
  OpenIdConfiguration,
  Revoked,
  TokenQuestionForm,
  UserInfo,
} from "./oauth-schemas.js";

const FORM_BODY_BYTES_MAX = 16 * 1024;
const FORM_JSON_TOKENS_MAX = 128;
const HTML = "text/html; charset=UTF-8";
const EXAMPLE_ID = "5f3a1c1e-2b7d-4e8f-9a6b-0c1d2e3f4a5b";

const oauthFailures = {
  400: { description: "The request or grant is rejected", schema: OAuthError },
  401: { description: "The client could not be authenticated", schema: OAuthError },
} as const;
/** The failures that OAuth has a code for; other ones have the form of every other route. */
const OAUTH_ERRORS: OAuthErrors = {
  malformed_json: { status: 400, error: "invalid_request" },
  malformed_request: { status: 400, error: "invalid_request" },
  invalid_request: { status: 400, error: "invalid_request" },
  unknown_member: { status: 400, error: "invalid_request" },
  invalid_client: { status: 401, error: "invalid_client" },
  unauthorized: { status: 401, error: "invalid_client" },
  invalid_grant: { status: 400, error: "invalid_grant" },
  unsupported_grant: { status: 400, error: "unsupported_grant_type" },
  permission_escalation: { status: 400, error: "invalid_scope" },
};
const form = {
  area: "identity",
  auth: "public",
  method: "POST",
  form: true,
  bodyBytesMax: FORM_BODY_BYTES_MAX,
  jsonTokensMax: FORM_JSON_TOKENS_MAX,
} as const;

export const oauthRoutes = {
  getOpenIdConfiguration: defineRoute({
    area: "identity",
    id: "getOpenIdConfiguration",
    method: "GET",
    path: "/.well-known/openid-configuration",
    summary: "Get the metadata of the OAuth and OpenID Connect routes",
    auth: "public",
    responses: { 200: { description: "Metadata (OpenID Connect Discovery, RFC 8414)", schema: OpenIdConfiguration } },
  }),
  getOAuthServerMetadata: defineRoute({
    area: "identity",
    id: "getOAuthServerMetadata",
    method: "GET",
    path: "/.well-known/oauth-authorization-server",
    summary: "Get the same metadata at the address of OAuth without OpenID Connect (RFC 8414 section 3)",
    auth: "public",
    responses: { 200: { description: "Metadata", schema: OpenIdConfiguration } },
  }),
  authorize: defineRoute({
    area: "identity",
    id: "authorize",
    method: "GET",
    path: "/api/v1/oauth/authorize",
    summary: "Begin an OAuth authorization (code with PKCE S256)",
    description:
      "Returns a login form, or with the token of a login as bearer the redirect itself. An unregistered client or redirect address gets 422, never a redirect; every other mistake goes to the client by a redirect with `error`. A parameter that is given twice is 422.",
    auth: "public",
    query: AuthorizeQuery,
    responses: {
      200: { description: "A login form", bytes: HTML },
      302: { description: "Redirect to the client, with a code or an error" },
    },
    errors: ["invalid_request", "unauthorized", "forbidden"],
  }),
  submitAuthorization: defineRoute({
    ...form,
    id: "submitAuthorization",
    path: "/api/v1/oauth/authorize",
    summary: "Submit the login form of an OAuth authorization",
    description:
      "Has the same limits on failed logins as POST /authenticate. A form without e-mail address, password and decision begins an authorization, as GET does.",
    body: AuthorizeForm,
    responses: {
      200: { description: "A login form", bytes: HTML },
      303: { description: "Redirect to the client, with a code or an error" },
      401: { description: "The form again: wrong e-mail address or password", bytes: HTML },
    },
    errors: ["invalid_request", "too_many_requests", "unauthorized", "forbidden"],
    example: {
      body: {
        response_type: "code",
        client_id: EXAMPLE_ID,
        redirect_uri: "https://app.example.com/callback",
        code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        code_challenge_method: "S256",
        email: "ada@example.com",
        password: "a long phrase of my own",
      },
    },
  }),
  createOAuthToken: defineRoute({
    ...form,
    oauthErrors: OAUTH_ERRORS,
    id: "createOAuthToken",
    path: "/api/v1/oauth/token",
    summary: "Make a token from an OAuth grant (RFC 6749 section 3.2)",
    description:
      "Supports the grants `authorization_code`, `refresh_token` and `client_credentials`. The body is a form or JSON.",
    body: OAuthTokenForm,
    bodyOptional: true,
    responses: { 200: { description: "The token", schema: OAuthToken }, ...oauthFailures },
    example: { body: { grant_type: "client_credentials", client_id: EXAMPLE_ID, client_secret: "pcs_..." } },
  }),
  introspectToken: defineRoute({
    ...form,
    oauthErrors: OAUTH_ERRORS,
    id: "introspectToken",
    path: "/api/v1/oauth/introspect",
    summary: "Introspect a token (RFC 7662)",
    description:
      "The caller is an authenticated client, or has an access token as bearer. A client learns of the tokens that were issued to it, and of those of its application; any other caller of its own. Every other token is `active: false`.",
    body: TokenQuestionForm,
    bodyOptional: true,
    responses: {
      200: { description: "The description of the token, or `active: false`", schema: Introspection },
      ...oauthFailures,
    },
    example: { body: { token: "prt_..." } },
  }),
  revokeToken: defineRoute({
    ...form,
    oauthErrors: OAUTH_ERRORS,
    id: "revokeToken",
    path: "/api/v1/oauth/revoke",
    summary: "Revoke a token (RFC 7009)",
    description:
      "The caller is the client that holds the token, or the token's own subject. Ends the whole session. The response is 200 for unknown tokens too.",
    body: TokenQuestionForm,
    bodyOptional: true,
    responses: { 200: { description: "The token is void", schema: Revoked }, ...oauthFailures },
    example: { body: { token: "prt_..." } },
  }),
  endSession: defineRoute({
    area: "identity",
    id: "endSession",
    method: "GET",
    path: "/api/v1/oauth/end_session",
    summary: "Log out at a client's request (OpenID Connect RP-Initiated Logout 1.0)",
    description:
      "Ends the session that the id token was issued with: its access and refresh tokens are void. Without an id token nothing ends, and the user gets a page instead of a redirect.",
    auth: "public",
    query: EndSessionQuery,
    responses: {
      200: { description: "A page that says what happened", bytes: HTML },
      302: { description: "Redirect to the client" },
    },
    errors: ["invalid_request"],
  }),
  submitEndSession: defineRoute({
    ...form,
    id: "submitEndSession",
    path: "/api/v1/oauth/end_session",
    summary: "Log out by POST, which keeps the id token out of the address",
    body: EndSessionQuery,
    bodyOptional: true,
    responses: {
      200: { description: "A page that says what happened", bytes: HTML },
      303: { description: "Redirect to the client" },
    },
    errors: ["invalid_request"],
    example: { body: { client_id: EXAMPLE_ID, post_logout_redirect_uri: "https://app.example.com/" } },
  }),
  getUserInfo: defineRoute({
    area: "identity",
    id: "getUserInfo",
    method: "GET",
    path: "/api/v1/oauth/userinfo",
    summary: "Get claims about the user (OpenID Connect Core section 5.3)",
    auth: { permissions: [], subjects: ["user"] },
    responses: { 200: { description: "The claims that the token's scope allows", schema: UserInfo } },
    errors: ["insufficient_scope"],
  }),
  postUserInfo: defineRoute({
    area: "identity",
    id: "postUserInfo",
    method: "POST",
    path: "/api/v1/oauth/userinfo",
    summary: "Get claims about the user by POST (OpenID Connect Core section 5.3.1)",
    auth: { permissions: [], subjects: ["user"] },
    responses: { 200: { description: "The claims that the token's scope allows", schema: UserInfo } },
    errors: ["insufficient_scope"],
  }),
  getOAuthApplication: defineRoute({
    area: "identity",
    id: "getOAuthApplication",
    method: "GET",
    path: "/api/v1/oauth/applications/:id",
    summary: "Get the details of a client that a login page may show",
    auth: "public",
    params: IdParams,
    responses: { 200: { description: "The client", schema: OAuthApplication } },
    errors: ["not_found"],
  }),
  getPrivacyPolicy: defineRoute({
    area: "identity",
    id: "getPrivacyPolicy",
    method: "GET",
    path: "/legal/privacy_policy",
    summary: "Get the address of the operator's privacy policy",
    auth: "public",
    responses: { 200: { description: "Where the document is", schema: LegalDocument } },
  }),
  getTermsOfService: defineRoute({
    area: "identity",
    id: "getTermsOfService",
    method: "GET",
    path: "/legal/terms_of_service",
    summary: "Get the address of the operator's terms of service",
    auth: "public",
    responses: { 200: { description: "Where the document is", schema: LegalDocument } },
  }),
} as const;
