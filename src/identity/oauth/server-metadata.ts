/**
 * The metadata by which OAuth and OpenID Connect clients find the routes (OpenID Connect Discovery section 3, RFC
 * 8414).
 */
import { CLIENT_SCOPES } from "../tokens/scope.js";
import { GRANT_TYPES } from "../tokens/token-grants.js";
import { ASSERTION_ALGORITHMS } from "./client-authentication.js";
import type { OpenIdConfigurationJson } from "./oauth-schemas.js";

const ID_TOKEN_CLAIMS = ["iss", "sub", "aud", "iat", "exp", "auth_time", "nonce", "at_hash", "sid"];

/**
 * Returns the metadata of this server.
 * @param options.signingAlgorithms algorithms that an id token may be signed with, the default first
 */
export function serverMetadata(options: {
  readonly issuer: string;
  readonly signingAlgorithms: readonly string[];
}): OpenIdConfigurationJson {
  const base = options.issuer.replace(/\/+$/, "");
  const oauth = `${base}/api/v1/oauth`;
  const methods = ["client_secret_basic", "client_secret_post", "private_key_jwt"];
  return {
    issuer: options.issuer,
    authorization_endpoint: `${oauth}/authorize`,
    token_endpoint: `${oauth}/token`,
    jwks_uri: `${base}/.well-known/jwks.json`,
    userinfo_endpoint: `${oauth}/userinfo`,
    introspection_endpoint: `${oauth}/introspect`,
    revocation_endpoint: `${oauth}/revoke`,
    end_session_endpoint: `${oauth}/end_session`,
    device_authorization_endpoint: `${oauth}/device_authorization`,
    scopes_supported: [...CLIENT_SCOPES],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: [...GRANT_TYPES],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [...new Set(options.signingAlgorithms)],
    token_endpoint_auth_methods_supported: [...methods, "none"],
    token_endpoint_auth_signing_alg_values_supported: [...ASSERTION_ALGORITHMS],
    introspection_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_methods_supported: [...methods, "none"],
    code_challenge_methods_supported: ["S256"],
    claims_supported: [...ID_TOKEN_CLAIMS, "name", "given_name", "family_name", "email", "email_verified"],
    authorization_response_iss_parameter_supported: true,
    // The second defaults to true (OpenID Connect Discovery section 3).
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    claims_parameter_supported: false,
  };
}
