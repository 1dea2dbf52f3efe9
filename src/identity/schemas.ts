/**
 * Shapes of the identity area on the wire (SPEC sections 2 'User' and 4.5). Members that SPEC leaves open say so in
 * their description.
 */
import Type, { type Static } from "typebox";
import { Timestamp, Uuid, closed, nullable } from "../platform/contract/schemas.js";

/** Well above the longest sound address (254), so that the answer can name the rule that was broken. */
const EMAIL_CHARACTERS_MAX = 320;
/** Above the policy's 128, because NFKC may shorten a text; far below what would make hashing dear. */
const PASSWORD_CHARACTERS_MAX = 512;

const Email = Type.String({
  minLength: 1,
  maxLength: EMAIL_CHARACTERS_MAX,
  description: "e-mail address; letter case and spaces around it do not matter",
});
const Password = Type.String({
  minLength: 1,
  maxLength: PASSWORD_CHARACTERS_MAX,
  description: "8 to 128 characters after NFKC, not a common one",
});
/** A name of a person: no control characters, no lone surrogates, no white space at the ends. */
const PersonName = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: "^(?!\\s)(?:[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])+$(?<!\\s)",
});
const Scope = Type.String({
  maxLength: 256,
  pattern: "^[\\x21\\x23-\\x5b\\x5d-\\x7e]*(?: [\\x21\\x23-\\x5b\\x5d-\\x7e]+)*$",
  description:
    "space-separated words (RFC 6749 section 3.3); `offline_access` asks for a refresh token, others are ignored",
});
const Permissions = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, description: "bit-set of generic permissions" });

const USER_MEMBERS = {
  id: Uuid,
  created_at: Timestamp,
  name: Type.String({ description: "full name: first and last name" }),
  first_name: Type.String(),
  last_name: Type.String(),
  email: Type.String(),
  permissions: Permissions,
  privacy_policy_agreed_at: nullable(Timestamp),
  terms_of_service_agreed_at: nullable(Timestamp),
};

export const User = closed(USER_MEMBERS, { description: "User" });
export const UserList = Type.Array(User, { maxItems: 100 });

export const UserMetadata = closed({
  user_id: Type.String(),
  name: Type.String(),
  email: Type.String(),
  email_verified: Type.Boolean(),
  app_metadata: closed({ ident_user_id: Uuid }),
  user_metadata: closed({}),
});
export const UserDetail = closed({ ...USER_MEMBERS, metadata: UserMetadata }, { description: "User with metadata" });

const InvitationToken = Type.String({ minLength: 1, maxLength: 200, description: "of an invitation to this address" });

/** An invitation knows its address, and the names as far as its sender said them. */
export const CreateUserBody = closed({
  email: Type.Optional(
    Type.String({
      ...Email,
      description: "letter case and spaces around it do not matter; with an invitation its own unless given",
    }),
  ),
  first_name: Type.Optional(Type.String({ ...PersonName, description: "with an invitation its own unless given" })),
  last_name: Type.Optional(Type.String({ ...PersonName, description: "with an invitation its own unless given" })),
  password: Type.Optional(Password),
  permissions: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, description: "for administrators only" }),
  ),
  invitation_token: Type.Optional(InvitationToken),
});

export const UpdateUserBody = closed({
  email: Type.Optional(Email),
  first_name: Type.Optional(PersonName),
  last_name: Type.Optional(PersonName),
  password: Type.Optional(Password),
  current_password: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: PASSWORD_CHARACTERS_MAX,
      description: "with a new password or address, unless the login is younger than five minutes",
    }),
  ),
  permissions: Type.Optional(Permissions),
  privacy_policy_agreed_at: Type.Optional(Timestamp),
  terms_of_service_agreed_at: Type.Optional(Timestamp),
});
export const UserQuery = closed({
  email: Type.Optional(
    Type.String({ maxLength: EMAIL_CHARACTERS_MAX, description: "only the user with this address" }),
  ),
  enrich: Type.Optional(Type.Boolean({ description: "sent by existing clients; users are complete without it" })),
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
      description: "log in as a virtual user of this application",
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
        description: "opaque; present when the session's scope holds `offline_access`; each use replaces it",
      }),
    ),
    scope: Type.Optional(Type.String({ description: "granted scope" })),
    id_token: Type.Optional(Type.String({ description: "with the scope `openid`" })),
  },
  { description: "Token" },
);
export const Authenticated = closed({ user: User, token: Token });

export const CreateTokenBody = closed({
  grant_type: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: "`refresh_token`, `client_credentials`, `authorization_code`; absent for a token by another token",
    }),
  ),
  refresh_token: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: "may also be sent as the bearer" }),
  ),
  scope: Type.Optional(Scope),
  application_id: Type.Optional(Uuid),
  organization_id: Type.Optional(Uuid),
  user_id: Type.Optional(Uuid),
  permissions: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, description: "cuts the token down to these bits" }),
  ),
  client_id: Type.Optional(Type.String({ maxLength: 64 })),
  client_secret: Type.Optional(Type.String({ maxLength: 200 })),
  client_assertion: Type.Optional(
    Type.String({ maxLength: 4096, description: "JWT signed with the client's own key (RFC 7523)" }),
  ),
  client_assertion_type: Type.Optional(Type.String({ maxLength: 100 })),
  code: Type.Optional(Type.String({ maxLength: 200 })),
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
  fingerprint: Type.String({ description: "same as `kid`" }),
  public_key: Type.String({ description: "SubjectPublicKeyInfo, PEM" }),
};
export const KeyList = Type.Array(
  Type.Union([
    closed({ ...ED25519_MEMBERS, ...PEM_MEMBERS }),
    closed({ ...P256_MEMBERS, ...PEM_MEMBERS }),
    closed({ ...RSA_MEMBERS, ...PEM_MEMBERS }),
  ]),
);

export type UserJson = Static<typeof User>;
export type UserDetailJson = Static<typeof UserDetail>;
export type TokenJson = Static<typeof Token>;
export type CreateUserInput = Static<typeof CreateUserBody>;
export type UpdateUserInput = Static<typeof UpdateUserBody>;
export type AuthenticateInput = Static<typeof AuthenticateBody>;
export type CreateTokenInput = Static<typeof CreateTokenBody>;
