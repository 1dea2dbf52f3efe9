/** Shapes of users, logins, tokens and keys on the wire. */
import Type, { type Static } from "typebox";
import { Timestamp, Uuid, closed, nullable } from "../platform/contract/schemas.js";

/** Well above the longest valid address (254), so that a longer one gets the message of the rule that it breaks. */
const EMAIL_CHARACTERS_MAX = 320;
/** Above the policy's 128, because NFKC may shorten a text; far below what would make hashing expensive. */
const PASSWORD_CHARACTERS_MAX = 512;

const Email = Type.String({
  minLength: 1,
  maxLength: EMAIL_CHARACTERS_MAX,
  description: "e-mail address; letter case and surrounding spaces are ignored",
});
const Password = Type.String({
  minLength: 1,
  maxLength: PASSWORD_CHARACTERS_MAX,
  description: "8 to 128 characters after Unicode normalization (NFKC); no common password",
});
export const PERSON_NAME_CHARACTERS_MAX = 100;
/** The name of a person: no control characters, no lone surrogates, no white space at the ends. */
const PersonName = Type.String({
  minLength: 1,
  maxLength: PERSON_NAME_CHARACTERS_MAX,
  pattern: "^(?!\\s)(?:[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])+$(?<!\\s)",
});
const Scope = Type.String({
  maxLength: 256,
  pattern: "^[\\x21\\x23-\\x5b\\x5d-\\x7e]*(?: [\\x21\\x23-\\x5b\\x5d-\\x7e]+)*$",
  description:
    "space-separated scopes (RFC 6749 section 3.3); `offline_access` requests a refresh token, others are ignored",
});
const Permissions = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, description: "bit-set of generic permissions" });

const USER_MEMBERS = {
  id: Uuid,
  created_at: Timestamp,
  name: Type.String({ description: "first and last name" }),
  first_name: Type.String(),
  last_name: Type.String(),
  email: Type.String(),
  permissions: Permissions,
  privacy_policy_agreed_at: nullable(Timestamp),
  terms_of_service_agreed_at: nullable(Timestamp),
};

export const User = closed(USER_MEMBERS, { description: "User" });
export const UserList = Type.Array(User, { maxItems: 100 });

const UserMetadata = closed({
  user_id: Type.String(),
  name: Type.String(),
  email: Type.String(),
  email_verified: Type.Boolean(),
  app_metadata: closed({ ident_user_id: Uuid }),
  user_metadata: closed({}, { description: "always empty; kept for existing clients" }),
});
export const UserDetail = closed({ ...USER_MEMBERS, metadata: UserMetadata }, { description: "User with metadata" });

const InvitationToken = Type.String({
  minLength: 1,
  maxLength: 200,
  description: "token of an invitation to this address",
});

/** With an invitation, its address and the names that its sender gave may be left out. */
export const CreateUserBody = closed({
  email: Type.Optional(
    Type.String({
      ...Email,
      description: "letter case and surrounding spaces are ignored; the invitation's by default",
    }),
  ),
  first_name: Type.Optional(Type.String({ ...PersonName, description: "the invitation's by default" })),
  last_name: Type.Optional(Type.String({ ...PersonName, description: "the invitation's by default" })),
  password: Type.Optional(Password),
  permissions: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, description: "bit-set; only administrators may send it" }),
  ),
  invitation_token: Type.Optional(InvitationToken),
});

export const UpdateUserBody = closed({
  email: Type.Optional(Email),
  name: Type.Optional(
    Type.String({
      ...PersonName,
      maxLength: 2 * PERSON_NAME_CHARACTERS_MAX + 1,
      description: "first and last name, divided at the first space; `first_name` and `last_name` win over it",
    }),
  ),
  first_name: Type.Optional(PersonName),
  last_name: Type.Optional(PersonName),
  password: Type.Optional(Password),
  current_password: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: PASSWORD_CHARACTERS_MAX,
      description: "needed with a new password or e-mail address, unless the login is less than five minutes old",
    }),
  ),
  permissions: Type.Optional(Permissions),
  privacy_policy_agreed_at: Type.Optional(nullable(Timestamp)),
  terms_of_service_agreed_at: Type.Optional(nullable(Timestamp)),
});
export const DeleteUserBody = closed({
  current_password: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: PASSWORD_CHARACTERS_MAX,
      description: "needed when the token is a personal access token or an OAuth client's",
    }),
  ),
});
export const UserQuery = closed({
  name: Type.Optional(Type.String({ maxLength: 201, description: "returns only users with this first and last name" })),
  email: Type.Optional(
    Type.String({ maxLength: EMAIL_CHARACTERS_MAX, description: "returns only the user with this address" }),
  ),
  enrich: Type.Optional(Type.Boolean({ description: "accepted for existing clients; changes nothing" })),
});

export const AuthenticateBody = closed({
  email: Email,
  password: Type.Optional(Password),
  scope: Type.Optional(Scope),
  application_id: Type.Optional(
    Type.String({
      format: "uuid",
      minLength: 36,
      maxLength: 36,
      description: "logs in a virtual user of this application",
    }),
  ),
  invitation_token: Type.Optional(InvitationToken),
});

export const Token = closed(
  {
    id: Type.String({ description: "id of the session, by which it is listed and revoked" }),
    access_token: Type.String({ description: "JWT (`at+jwt`) for `Authorization: bearer`" }),
    expires_in: Type.Integer({ minimum: 0, description: "seconds until the access token expires" }),
    permissions: Permissions,
    refresh_token: Type.Optional(
      Type.String({
        description: "opaque; present when the session's scope contains `offline_access`; each use replaces it",
      }),
    ),
    scope: Type.Optional(Type.String({ description: "granted scope" })),
    id_token: Type.Optional(Type.String({ description: "present with the scope `openid`" })),
  },
  { description: "Token" },
);
export const Authenticated = closed({ user: User, token: Token });

export const CreateTokenBody = closed({
  grant_type: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description:
        "`refresh_token`, `client_credentials`, `authorization_code` or `urn:ietf:params:oauth:grant-type:device_code`; absent: the bearer token is the grant",
    }),
  ),
  refresh_token: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: "may be sent as the bearer instead" }),
  ),
  scope: Type.Optional(Scope),
  application_id: Type.Optional(Uuid),
  organization_id: Type.Optional(Uuid),
  user_id: Type.Optional(Uuid),
  permissions: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2 ** 31 - 1,
      description: "bit-set; restricts the token to these permissions",
    }),
  ),
  client_id: Type.Optional(Type.String({ maxLength: 64 })),
  client_secret: Type.Optional(Type.String({ maxLength: 200 })),
  client_assertion: Type.Optional(
    Type.String({ maxLength: 4096, description: "JWT signed with the client's own key (RFC 7523)" }),
  ),
  client_assertion_type: Type.Optional(Type.String({ maxLength: 100 })),
  code: Type.Optional(Type.String({ maxLength: 200 })),
  device_code: Type.Optional(Type.String({ maxLength: 200, description: "of the device flow (RFC 8628)" })),
  code_verifier: Type.Optional(Type.String({ maxLength: 200, description: "PKCE (RFC 7636)" })),
  redirect_uri: Type.Optional(Type.String({ maxLength: 2000 })),
});

const JWK_COMMON = { kid: Type.String({ description: "RFC 7638 thumbprint" }), use: Type.Literal("sig") };
const KeyText = Type.String({ description: "base64url" });
const ED25519_MEMBERS = {
  ...JWK_COMMON,
  kty: Type.Literal("OKP"),
  crv: Type.Literal("Ed25519"),
  x: KeyText,
  alg: Type.Literal("EdDSA"),
};
const P256_MEMBERS = {
  ...JWK_COMMON,
  kty: Type.Literal("EC"),
  crv: Type.Literal("P-256"),
  x: KeyText,
  y: KeyText,
  alg: Type.Literal("ES256"),
};
const RSA_MEMBERS = { ...JWK_COMMON, kty: Type.Literal("RSA"), n: KeyText, e: KeyText, alg: Type.Literal("RS256") };
export const JwkSet = closed(
  { keys: Type.Array(Type.Union([closed(ED25519_MEMBERS), closed(P256_MEMBERS), closed(RSA_MEMBERS)])) },
  { description: "RFC 7517 key set; public parts only" },
);
const PEM_MEMBERS = {
  fingerprint: Type.String({ description: "the same as `kid`" }),
  public_key: Type.String({ description: "SubjectPublicKeyInfo, PEM" }),
};
export const PublishedKey = Type.Union(
  [
    closed({ ...ED25519_MEMBERS, ...PEM_MEMBERS }),
    closed({ ...P256_MEMBERS, ...PEM_MEMBERS }),
    closed({ ...RSA_MEMBERS, ...PEM_MEMBERS }),
  ],
  { description: "A public key, with its PEM" },
);
export const PublishedKeyList = Type.Array(PublishedKey);

export type UserJson = Static<typeof User>;
export type UserDetailJson = Static<typeof UserDetail>;
export type TokenJson = Static<typeof Token>;
export type CreateUserInput = Static<typeof CreateUserBody>;
export type UpdateUserInput = Static<typeof UpdateUserBody>;
export type AuthenticateInput = Static<typeof AuthenticateBody>;
export type CreateTokenInput = Static<typeof CreateTokenBody>;
