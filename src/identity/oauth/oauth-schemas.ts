/**
 * Shapes of the OAuth 2.0 and OpenID Connect routes (RFC 6749, 7009, 7636, 7662, 8414; OpenID Connect Core and
 * Discovery). Requests are forms; unknown members are ignored, as the RFCs demand.
 */
import Type, { type Static } from "typebox";
import { Uuid, closed } from "../../platform/contract/schemas.js";

const Short = Type.Optional(Type.String({ maxLength: 200 }));
const Long = Type.Optional(Type.String({ maxLength: 2000 }));

/** The credentials of a client in a form. */
export const CLIENT_MEMBERS = {
  client_id: Short,
  client_secret: Short,
  client_assertion: Type.Optional(Type.String({ maxLength: 4096 })),
  client_assertion_type: Short,
};

/**
 * Every one is optional and any text here, because a client learns of its mistakes by a redirect
 * (`authorization-request.ts`). The request's head or body bounds their length.
 */
const AUTHORIZATION_MEMBERS = {
  response_type: Type.Optional(Type.String({ description: "`code`" })),
  response_mode: Type.Optional(Type.String({ description: "`query`, which is the default" })),
  client_id: Type.Optional(Type.String({ description: "required" })),
  redirect_uri: Type.Optional(
    Type.String({
      description:
        "required; one of the client's registered addresses, compared character by character; on loopback the port may differ",
    }),
  ),
  code_challenge: Type.Optional(Type.String({ description: "required: BASE64URL(SHA-256(verifier)), RFC 7636" })),
  code_challenge_method: Type.Optional(Type.String({ description: "required: `S256`" })),
  scope: Type.Optional(Type.String({ description: "space-separated; unknown names are ignored" })),
  state: Type.Optional(Type.String({ description: "returned with the redirect" })),
  nonce: Type.Optional(Type.String({ description: "returned in the id token" })),
  prompt: Type.Optional(
    Type.String({ description: "`none` shows no page; `login`, `consent` and `select_account` always show it" }),
  ),
  max_age: Type.Optional(Type.String({ description: "seconds since the password was entered, at most" })),
  id_token_hint: Type.Optional(Type.String({ description: "id token of the user who is expected" })),
  login_hint: Type.Optional(Type.String({ description: "e-mail address that the page shows" })),
  request: Type.Optional(Type.String({ description: "not supported" })),
  request_uri: Type.Optional(Type.String({ description: "not supported" })),
  registration: Type.Optional(Type.String({ description: "not supported" })),
};
/** Unknown parameters are ignored (RFC 6749 section 3.1). */
export const AuthorizeQuery = Type.Object(AUTHORIZATION_MEMBERS, { additionalProperties: true });
export const AuthorizeForm = Type.Object(
  {
    ...AUTHORIZATION_MEMBERS,
    email: Type.Optional(Type.String({ maxLength: 320 })),
    password: Type.Optional(Type.String({ maxLength: 512 })),
    decision: Type.Optional(Type.String({ maxLength: 16, description: "`allow` or `deny`" })),
  },
  {
    additionalProperties: true,
    description:
      "The login form, with the parameters of the request that showed it. Without e-mail address, password and decision it is an authorization request",
  },
);

export const EndSessionQuery = Type.Object(
  {
    id_token_hint: Type.Optional(Type.String({ description: "id token of the session that ends, expired or not" })),
    client_id: Type.Optional(Type.String({ description: "the client that the id token was issued to" })),
    post_logout_redirect_uri: Type.Optional(
      Type.String({ description: "one of the client's registered `post_logout_redirect_uris`" }),
    ),
    state: Type.Optional(Type.String({ description: "returned with the redirect" })),
  },
  { additionalProperties: true, description: "Logout request" },
);

/** Unknown parameters are ignored (RFC 6749 section 3.2). */
export const OAuthTokenForm = Type.Object(
  {
    ...CLIENT_MEMBERS,
    grant_type: Short,
    code: Short,
    code_verifier: Short,
    redirect_uri: Long,
    refresh_token: Short,
    device_code: Short,
    scope: Type.Optional(Type.String({ maxLength: 256 })),
  },
  {
    additionalProperties: true,
    description: "Token request (RFC 6749 sections 4.1.3, 4.4.2 and 6, RFC 8628 section 3.4)",
  },
);
/**
 * Well above any token of this server, so that longer text gets `active: false` and no error. Below the body's limit.
 */
const QUESTION_CHARACTERS_MAX = 12_000;
export const TokenQuestionForm = Type.Object(
  {
    ...CLIENT_MEMBERS,
    token: Type.Optional(Type.String({ maxLength: QUESTION_CHARACTERS_MAX })),
    token_type_hint: Short,
  },
  { additionalProperties: true, description: "Introspection (RFC 7662) or revocation (RFC 7009) request" },
);

export const OAuthToken = closed(
  {
    access_token: Type.String(),
    token_type: Type.Literal("Bearer"),
    expires_in: Type.Integer({ minimum: 0 }),
    refresh_token: Type.Optional(Type.String()),
    scope: Type.Optional(Type.String()),
    id_token: Type.Optional(Type.String()),
  },
  { description: "Token (RFC 6749 section 5.1)" },
);
export const OAuthError = closed(
  { error: Type.String(), error_description: Type.Optional(Type.String()) },
  { description: "Failure (RFC 6749 section 5.2)" },
);

export const Introspection = closed(
  {
    active: Type.Boolean(),
    scope: Type.Optional(Type.String()),
    client_id: Type.Optional(Type.String()),
    token_type: Type.Optional(Type.String()),
    sub: Type.Optional(Type.String()),
    aud: Type.Optional(Type.Array(Type.String())),
    iss: Type.Optional(Type.String()),
    exp: Type.Optional(Type.Integer()),
    iat: Type.Optional(Type.Integer()),
    permissions: Type.Optional(Type.Integer()),
    sid: Type.Optional(Type.String()),
  },
  {
    description:
      "Description of a token (RFC 7662 section 2.2); only `active: false` for text that is not a good token, and for tokens that are not the caller's to know",
  },
);

export const Revoked = closed({}, { description: "Empty (RFC 7009 section 2.2)" });

export const UserInfo = closed(
  {
    sub: Type.String(),
    name: Type.Optional(Type.String()),
    given_name: Type.Optional(Type.String()),
    family_name: Type.Optional(Type.String()),
    email: Type.Optional(Type.String()),
    email_verified: Type.Optional(Type.Boolean()),
  },
  { description: "Claims about the user (OpenID Connect Core section 5.3)" },
);

export const UserInfoForm = Type.Object(
  { access_token: Type.Optional(Type.String({ description: "where no header has it" })) },
  { additionalProperties: true, description: "Userinfo request (OpenID Connect Core section 5.3.1)" },
);

export const OAuthApplication = closed(
  { client_id: Uuid, name: Type.String(), redirect_uris: Type.Array(Type.String()) },
  { description: "Details of a client that a login page may show" },
);

const Texts = Type.Array(Type.String());
export const OpenIdConfiguration = closed({
  issuer: Type.String(),
  authorization_endpoint: Type.String(),
  token_endpoint: Type.String(),
  jwks_uri: Type.String(),
  userinfo_endpoint: Type.String(),
  introspection_endpoint: Type.String(),
  revocation_endpoint: Type.String(),
  end_session_endpoint: Type.String(),
  device_authorization_endpoint: Type.String(),
  scopes_supported: Texts,
  response_types_supported: Texts,
  response_modes_supported: Texts,
  grant_types_supported: Texts,
  subject_types_supported: Texts,
  id_token_signing_alg_values_supported: Texts,
  token_endpoint_auth_methods_supported: Texts,
  token_endpoint_auth_signing_alg_values_supported: Texts,
  introspection_endpoint_auth_methods_supported: Texts,
  revocation_endpoint_auth_methods_supported: Texts,
  code_challenge_methods_supported: Texts,
  claims_supported: Texts,
  authorization_response_iss_parameter_supported: Type.Boolean(),
  request_parameter_supported: Type.Boolean(),
  request_uri_parameter_supported: Type.Boolean(),
  claims_parameter_supported: Type.Boolean(),
});

export const LegalDocument = closed(
  {
    content: Type.Union([Type.String(), Type.Null()], {
      description: "never set: the server stores no text of the document; `href` says where it is",
    }),
    href: Type.Union([Type.String(), Type.Null()], {
      description: "address of the document; null when the operator configured none",
    }),
  },
  { description: "Legal document" },
);

export type AuthorizeInput = Static<typeof AuthorizeQuery>;
export type AuthorizeFormInput = Static<typeof AuthorizeForm>;
export type EndSessionInput = Static<typeof EndSessionQuery>;
export type OAuthTokenInput = Static<typeof OAuthTokenForm>;
export type TokenQuestionInput = Static<typeof TokenQuestionForm>;
export type OAuthTokenJson = Static<typeof OAuthToken>;
export type IntrospectionJson = Static<typeof Introspection>;
export type UserInfoJson = Static<typeof UserInfo>;
export type OpenIdConfigurationJson = Static<typeof OpenIdConfiguration>;
