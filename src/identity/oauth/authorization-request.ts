/**
 * Reads what a client asks for at the authorization endpoint (RFC 6749 section 4.1.1, RFC 7636, OpenID Connect Core
 * section 3.1.2). Client and redirect address are checked elsewhere, before: whatever is wrong here is told to the
 * client by a redirect (RFC 6749 section 4.1.2.1).
 */
import { grantedClientScope, isNamingNothing } from "../tokens/scope.js";
import { AuthorizeQuery, type AuthorizeInput } from "./oauth-schemas.js";

/** A sound request. */
export interface AuthorizationRequest {
  /** BASE64URL(SHA-256(verifier)). */
  readonly codeChallenge: string;
  /** The granted part of the requested scope. */
  readonly scope: string;
  readonly nonce: string | undefined;
  readonly prompts: ReadonlySet<string>;
  /** Seconds since the password was entered; undefined for any time. */
  readonly maxAgeSec: number | undefined;
}

/** What is wrong with a request, in the members of the redirect. */
export interface AuthorizationRefusal {
  readonly error: string;
  readonly error_description: string;
}

const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
/** RFC 6749 section 3.3, with spaces between and around. */
const SCOPE = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;
const SCOPE_CHARACTERS_MAX = 256;
const NONCE_CHARACTERS_MAX = 255;
/** Well above thirty years. */
const MAX_AGE = /^(?:0|[1-9][0-9]{0,9})$/;
/** Parameters that would replace others, each with the error by which a server says that it has none of that. */
const UNSUPPORTED = {
  request: "request_not_supported",
  request_uri: "request_uri_not_supported",
  registration: "registration_not_supported",
} as const;

/** Returns a sound request, or what is wrong with it; the first fault counts. */
export function readAuthorizationRequest(input: AuthorizeInput): AuthorizationRequest | AuthorizationRefusal {
  return unsupportedPart(input) ?? faultyProof(input) ?? readParts(input);
}

/** Says that parameters are given more than once (RFC 6749 section 3.1). Repeats no name that it does not know. */
export function refusalOfRepeats(names: readonly string[]): AuthorizationRefusal {
  const known = names.find((name) => Object.hasOwn(AuthorizeQuery.properties, name));
  return invalid(`${known ?? "a parameter"} is given more than once`);
}

function unsupportedPart(input: AuthorizeInput): AuthorizationRefusal | undefined {
  for (const [name, error] of Object.entries(UNSUPPORTED)) {
    if (input[name as keyof typeof UNSUPPORTED] !== undefined)
      return { error, error_description: `${name} is not supported` };
  }
  if (input.response_type === undefined) return invalid("response_type is missing");
  if (input.response_type !== "code")
    return { error: "unsupported_response_type", error_description: "response_type must be code" };
  if (input.response_mode !== undefined && input.response_mode !== "query")
    return invalid("response_mode must be query");
  return undefined;
}

function faultyProof(input: AuthorizeInput): AuthorizationRefusal | undefined {
  if (input.code_challenge_method !== "S256") return invalid("code_challenge_method must be S256");
  if (input.code_challenge === undefined) return invalid("code_challenge is missing");
  if (!CHALLENGE.test(input.code_challenge))
    return invalid("code_challenge must be 43 characters of base64url: the SHA-256 of the verifier");
  return undefined;
}

function readParts(input: AuthorizeInput): AuthorizationRequest | AuthorizationRefusal {
  const { code_challenge: codeChallenge = "", scope = "", nonce, max_age: maxAge } = input;
  if (!SCOPE.test(scope) || scope.length > SCOPE_CHARACTERS_MAX || isNamingNothing(scope))
    return { error: "invalid_scope", error_description: "scope names nothing that this server knows" };
  if (nonce !== undefined && nonce.length > NONCE_CHARACTERS_MAX)
    return invalid(`nonce must have at most ${String(NONCE_CHARACTERS_MAX)} characters`);
  if (maxAge !== undefined && !MAX_AGE.test(maxAge)) return invalid("max_age must be a number of seconds");
  const prompts = new Set((input.prompt ?? "").split(" ").filter((word) => word !== ""));
  if (prompts.has("none") && prompts.size > 1) return invalid("prompt: none must stand alone");
  return {
    codeChallenge,
    scope: grantedClientScope(scope),
    nonce,
    prompts,
    maxAgeSec: maxAge === undefined ? undefined : Number(maxAge),
  };
}

function invalid(error_description: string): AuthorizationRefusal {
  return { error: "invalid_request", error_description };
}
