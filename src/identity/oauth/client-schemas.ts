/** Shapes of an application's OAuth client on the wire: registration data (with names of RFC 7591) and its secret. */
import Type, { type Static } from "typebox";
import { Timestamp, Uuid, closed, nullable } from "../../platform/contract/schemas.js";

const REDIRECT_URIS_MAX = 10;
const KEYS_MAX = 5;
/** A 4096-bit modulus takes 683 characters. */
const KEY_NUMBER_CHARACTERS_MAX = 700;
const Base64Url = Type.String({ pattern: "^[A-Za-z0-9_-]+$", maxLength: KEY_NUMBER_CHARACTERS_MAX });

/** Public members only, so that a private key sent by mistake is rejected. */
const ClientKey = closed(
  {
    kty: Type.Union([Type.Literal("OKP"), Type.Literal("EC"), Type.Literal("RSA")]),
    crv: Type.Optional(Type.Union([Type.Literal("Ed25519"), Type.Literal("P-256")])),
    x: Type.Optional(Base64Url),
    y: Type.Optional(Base64Url),
    n: Type.Optional(Base64Url),
    e: Type.Optional(Base64Url),
    kid: Type.String({ minLength: 1, maxLength: 128 }),
    alg: Type.Optional(
      Type.Union([Type.Literal("EdDSA"), Type.Literal("ES256"), Type.Literal("RS256"), Type.Literal("PS256")]),
    ),
    use: Type.Optional(Type.Literal("sig")),
  },
  { description: "Public JWK (RFC 7517): Ed25519, P-256, or RSA with at least 2048 bits" },
);
const ClientKeys = closed({ keys: Type.Array(ClientKey, { minItems: 1, maxItems: KEYS_MAX }) });
const RedirectUris = Type.Array(Type.String({ minLength: 1, maxLength: 2000 }), {
  maxItems: REDIRECT_URIS_MAX,
  description:
    "compared character by character, except for the port on loopback; https, http on loopback, or a private scheme with a dot",
});
const PostLogoutRedirectUris = Type.Array(Type.String({ minLength: 1, maxLength: 2000 }), {
  maxItems: REDIRECT_URIS_MAX,
  description: "where a user may go after logging out; the same rules as for `redirect_uris`",
});
const DeviceFlow = Type.Boolean({
  description:
    "true: the client may use the device flow, for command lines; false by default, because there no registered address protects its name from being used by others",
});
const ClientPermissions = Type.Integer({
  minimum: 0,
  maximum: 2 ** 31 - 1,
  description: "bit-set; permissions of the tokens that the client gets for itself (`client_credentials`)",
});

const IdTokenAlgorithm = Type.Union([Type.Literal("RS256"), Type.Literal("EdDSA"), Type.Literal("ES256")], {
  description:
    "algorithm of the client's id tokens: RS256, or the one of the access tokens; RS256 by default and in place of one that the server does not sign with",
});

export const Client = closed(
  {
    client_id: Uuid,
    created_at: Timestamp,
    redirect_uris: RedirectUris,
    post_logout_redirect_uris: PostLogoutRedirectUris,
    device_flow: DeviceFlow,
    public: Type.Boolean({ description: "true: the client cannot keep a secret; only PKCE protects its codes" }),
    jwks: nullable(ClientKeys),
    permissions: ClientPermissions,
    id_token_signed_response_alg: IdTokenAlgorithm,
    secret_created_at: nullable(Timestamp),
    previous_secret_expires_at: nullable(Timestamp),
  },
  { description: "OAuth client of an application" },
);
export const UpdateClientBody = closed({
  redirect_uris: Type.Optional(RedirectUris),
  post_logout_redirect_uris: Type.Optional(PostLogoutRedirectUris),
  public: Type.Optional(Type.Boolean()),
  device_flow: Type.Optional(DeviceFlow),
  jwks: Type.Optional(nullable(ClientKeys)),
  permissions: Type.Optional(ClientPermissions),
  id_token_signed_response_alg: Type.Optional(IdTokenAlgorithm),
});
export const RotateSecretBody = closed({
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 7 * 24 * 3600,
      description: "how long the replaced secret still works; 0 by default",
    }),
  ),
});
export const ClientSecret = closed(
  {
    client_id: Uuid,
    client_secret: Type.String({ description: "returned only once; the server keeps only its hash" }),
    secret_created_at: Timestamp,
    previous_secret_expires_at: nullable(Timestamp),
  },
  { description: "A client's new secret" },
);

export type ClientJson = Static<typeof Client>;
export type ClientKeyJson = Static<typeof ClientKey>;
export type UpdateClientInput = Static<typeof UpdateClientBody>;
export type ClientSecretJson = Static<typeof ClientSecret>;
