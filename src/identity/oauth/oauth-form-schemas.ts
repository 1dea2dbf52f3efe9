/** What the definitions of the routes have in common that OAuth and OpenID Connect prescribe. Plain values. */
import type { OAuthErrors } from "../../platform/contract/route.js";
import { OAuthError } from "./oauth-schemas.js";

const FORM_BODY_BYTES_MAX = 16 * 1024;
const FORM_JSON_TOKENS_MAX = 128;
/** Content type of a page. */
export const HTML = "text/html; charset=UTF-8";
/** Id of a client in examples. */
export const EXAMPLE_ID = "5f3a1c1e-2b7d-4e8f-9a6b-0c1d2e3f4a5b";

/** The answers in OAuth's form. */
export const OAUTH_FAILURES = {
  400: { description: "The request or grant is rejected", schema: OAuthError },
  401: { description: "The client could not be authenticated", schema: OAuthError },
} as const;
/** The failures that OAuth has a code for; other ones have the form of every other route. */
export const OAUTH_ERRORS: OAuthErrors = {
  malformed_json: { status: 400, error: "invalid_request" },
  malformed_request: { status: 400, error: "invalid_request" },
  invalid_request: { status: 400, error: "invalid_request" },
  unknown_member: { status: 400, error: "invalid_request" },
  invalid_client: { status: 401, error: "invalid_client" },
  unauthorized: { status: 401, error: "invalid_client" },
  invalid_grant: { status: 400, error: "invalid_grant" },
  unsupported_grant: { status: 400, error: "unsupported_grant_type" },
  permission_escalation: { status: 400, error: "invalid_scope" },
  unauthorized_client: { status: 400, error: "unauthorized_client" },
  authorization_pending: { status: 400, error: "authorization_pending" },
  slow_down: { status: 400, error: "slow_down" },
  access_denied: { status: 400, error: "access_denied" },
  expired_token: { status: 400, error: "expired_token" },
};
/** What the routes have in common that take a form without a bearer. */
export const OAUTH_FORM = {
  area: "identity",
  auth: "public",
  method: "POST",
  form: true,
  bodyBytesMax: FORM_BODY_BYTES_MAX,
  jsonTokensMax: FORM_JSON_TOKENS_MAX,
} as const;
