/** Route definitions of tokens (create, list, read, revoke) and of the published keys. Plain values; no server code. */
import { defineRoute } from "../../platform/contract/route.js";
import { IdParams } from "../../platform/contract/schemas.js";
import { CreateTokenBody, JwkSet, PublishedKeyList, Token } from "../schemas.js";
import {
  CreatePersonalTokenBody,
  PersonalToken,
  RevokeTokensQuery,
  TokenQuery,
  TokenRow,
  TokenRowList,
} from "./token-schemas.js";

const CREDENTIAL_BODY_BYTES_MAX = 8 * 1024;
const CREDENTIAL_JSON_TOKENS_MAX = 64;

export const tokenRoutes = {
  createToken: defineRoute({
    id: "createToken",
    area: "identity",
    method: "POST",
    path: "/api/v1/tokens",
    summary: "Make a token from a grant",
    description: [
      "Without `grant_type`, the bearer token is the grant. With `application_id` or `organization_id` the new token is one of this application or organization, of which the caller must be a member, and carries the caller's permissions there. Without either it is a fresh token of the caller itself. `permissions` restricts the new token.",
      "With `refresh_token`, the refresh token is in the body or is the bearer. Each use replaces it; using a replaced one again ends the session.",
      "A body with members that only a token contract has (`network_id`, `contract_id`, `address`, `type`, `symbol`, `decimals`, ...) is one of POST /api/v1/token_contracts.",
      "With `client_credentials`, an application authenticates with its client id and secret, or with an assertion signed with its own key. `authorization_code` needs PKCE with S256. OAuth libraries use /api/v1/oauth/token.",
    ].join("\n\n"),
    auth: "public",
    body: CreateTokenBody,
    bodyBytesMax: CREDENTIAL_BODY_BYTES_MAX,
    jsonTokensMax: CREDENTIAL_JSON_TOKENS_MAX,
    responses: { 201: { description: "The token", schema: Token } },
    errors: [
      "unauthorized",
      "forbidden",
      "not_found",
      "invalid_grant",
      "invalid_client",
      "unsupported_grant",
      "permission_escalation",
      "authorization_pending",
      "slow_down",
      "access_denied",
      "expired_token",
    ],
    example: { body: { grant_type: "refresh_token", refresh_token: "prt_..." } },
  }),
  listTokens: defineRoute({
    id: "listTokens",
    area: "identity",
    method: "GET",
    path: "/api/v1/tokens",
    summary: "List the caller's tokens",
    description:
      "Returns sessions and personal access tokens, never their text. `user_id` of another user needs `token_list` or `sudo`. `name` returns only personal access tokens with this name, because sessions have none. A query with members that only token contracts have (`network_id`, `sort`) is one of GET /api/v1/token_contracts.",
    auth: { permissions: ["read"] },
    query: TokenQuery,
    list: true,
    responses: { 200: { description: "Tokens, oldest first", schema: TokenRowList } },
    errors: ["not_found"],
  }),
  deleteTokens: defineRoute({
    id: "deleteTokens",
    area: "identity",
    method: "DELETE",
    path: "/api/v1/tokens",
    summary: "Revoke every token of the caller",
    description: "Also revokes the token in use. `user_id` of another user needs `token_delete` or `sudo`.",
    auth: { permissions: ["delete"] },
    query: RevokeTokensQuery,
    responses: { 204: { description: "Revoked" } },
    errors: ["not_found"],
  }),
  getToken: defineRoute({
    id: "getToken",
    area: "identity",
    method: "GET",
    path: "/api/v1/tokens/:id",
    summary: "Get a token",
    auth: { permissions: ["read"] },
    params: IdParams,
    responses: { 200: { description: "The token, without its text", schema: TokenRow } },
    errors: ["not_found"],
  }),
  deleteToken: defineRoute({
    id: "deleteToken",
    area: "identity",
    method: "DELETE",
    path: "/api/v1/tokens/:id",
    summary: "Revoke a token",
    description:
      "The token must be the caller's, or one of an application or organization where the caller may revoke. A session ends with its access and refresh tokens.",
    auth: { permissions: ["delete"] },
    params: IdParams,
    responses: { 204: { description: "Revoked" } },
    errors: ["not_found"],
  }),
  /* Takes no Idempotency-Key: the stored response would contain the token. */
  createPersonalToken: defineRoute({
    id: "createPersonalToken",
    area: "identity",
    method: "POST",
    path: "/api/v1/personal_tokens",
    summary: "Make a personal access token",
    description:
      "A long-lived token for scripts, with some of the caller's permissions. It is listed and revoked with the other tokens.",
    auth: { permissions: ["create"] },
    body: CreatePersonalTokenBody,
    responses: { 201: { description: "The token", schema: PersonalToken } },
    errors: ["conflict", "permission_escalation"],
    example: { body: { name: "nightly build", permissions: 2, expires_in_days: 30 } },
  }),
  getJwks: defineRoute({
    id: "getJwks",
    area: "identity",
    method: "GET",
    path: "/.well-known/jwks.json",
    summary: "Public keys that verify access tokens (RFC 7517)",
    auth: "public",
    responses: { 200: { description: "Key set", schema: JwkSet } },
  }),
  listPublishedKeys: defineRoute({
    id: "listPublishedKeys",
    area: "identity",
    method: "GET",
    path: "/.well-known/keys",
    summary: "The keys of /.well-known/jwks.json as an array, with PEM",
    auth: "public",
    responses: { 200: { description: "Keys", schema: PublishedKeyList } },
  }),
} as const;
