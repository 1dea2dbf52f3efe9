/** The stage that turns a body's bytes into the handler's `body`: media type (415), JSON form (400), schema (422). */
import { isUtf8 } from "node:buffer";
import type { SentBody } from "../../contract/client-names.js";
import type { BodyLimits } from "../../contract/route.js";
import { parseQuery, repeatedNames } from "../../contract/query.js";
import { AppError } from "../../errors.js";
import type { CompiledRoute } from "../compiled-route.js";
import { findJsonFault, parseJson, type JsonLimits } from "../../json/json-scan.js";
import { parsePlainJson } from "../../json/plain-json.js";
import type { RequestHead } from "./request-head.js";

/** A body as the handler gets it. */
export interface ReadBody extends SentBody {
  /** Names of a form's members that are given more than once, where the route wants to know. */
  readonly repeated?: readonly string[];
}

/** What a request without a body has. */
const ALONE: SentBody = { body: undefined, sentBack: {} };

/**
 * Returns validated JSON, the bytes themselves on raw routes, or undefined when there is no body and the route allows
 * that; beside it the members of a record that the client sent back.
 * @param ownLimits of this request, in place of the route's
 * @throws unsupported_media_type, malformed_json, malformed_request, invalid_request or unknown_member
 */
export function readBody(
  compiled: CompiledRoute,
  head: RequestHead,
  bytes: Buffer,
  ownLimits?: Pick<BodyLimits, "jsonTokensMax">,
): ReadBody {
  const { route, validator } = compiled;
  requireUncompressed(head);
  if (route.method === "GET" || (route.method === "DELETE" && route.body === undefined)) {
    // A body has no meaning here (RFC 9110 section 9.3); its bytes were read within the limit and dropped.
    return ALONE;
  }
  if (bytes.length === 0) {
    if (route.body !== undefined && route.bodyOptional !== true)
      throw new AppError("invalid_request", { message: "the body: a JSON body is required" });
    return route.rawBody === true ? { body: bytes, sentBack: {} } : ALONE;
  }
  if (route.form === true && isForm(head)) {
    const { members, repeated } = parseForm(bytes);
    if (route.tellsRepeats === true) return { ...validator.body(members), repeated };
    if (repeated.length > 0)
      throw new AppError("invalid_request", { message: "a member of the form is given more than once" });
    return validator.body(members);
  }
  requireJson(head.headers["content-type"]);
  if (route.rawBody === true) return { body: bytes, sentBack: {} };
  const limits =
    ownLimits === undefined ? compiled.jsonLimits : { ...compiled.jsonLimits, tokensMax: ownLimits.jsonTokensMax };
  return validator.body(parsePlainJson(bytes, limits) ?? parseChecked(bytes, limits));
}

/** @throws unsupported_media_type for a body with a content coding */
export function requireUncompressed(head: RequestHead): void {
  const encoding = head.headers["content-encoding"];
  if (encoding === undefined || encoding.trim().toLowerCase() === "identity") return;
  throw new AppError("unsupported_media_type", {
    message: "Content-Encoding: compressed bodies are not accepted; send the body uncompressed",
  });
}

/**
 * Returns the token in a form's `access_token` (RFC 6750 section 2.2); undefined for any other body.
 * @throws malformed_request when it is given more than once, or beside an Authorization header
 */
export function formBearer(head: RequestHead, bytes: Buffer): string | undefined {
  if (!isForm(head)) return undefined;
  const { members, repeated } = parseForm(bytes);
  const { access_token: token } = members;
  if (token !== undefined && (head.authorizationCount > 0 || repeated.includes("access_token")))
    throw new AppError("malformed_request", { message: "access_token: the token is given more than once" });
  return token;
}

/**
 * Returns the route that a body is for: the sibling's where it knows the body as its own.
 * @throws body_too_large for a body that is longer than its route takes
 */
export function routeOfBody(compiled: CompiledRoute, head: RequestHead, bytes: Buffer): CompiledRoute {
  const { sibling } = compiled;
  if (sibling !== undefined && sibling.isMeant(looselyRead(head, bytes, sibling.compiled.jsonLimits)))
    return sibling.compiled;
  if (bytes.length <= compiled.bodyBytesMax) return compiled;
  throw new AppError("body_too_large", {
    message: `the body is longer than the ${String(compiled.bodyBytesMax)} bytes that this route takes`,
  });
}

/**
 * Returns the value of JSON text.
 * @throws malformed_json
 */
export function parseChecked(bytes: Buffer, limits: JsonLimits): unknown {
  const fault = findJsonFault(bytes, limits);
  if (fault !== undefined) throw new AppError("malformed_json", { message: `malformed JSON: ${fault}` });
  return parseJson(bytes);
}

/**
 * Accepts `application/json` in any case and with any parameters but a charset other than UTF-8.
 * @param taken every type that the route takes, for the answer
 * @throws unsupported_media_type
 */
export function requireJson(contentType: string | undefined, taken = "application/json"): void {
  if (contentType === "application/json") return;
  const [type = "", ...parameters] = (contentType ?? "").split(";").map((part) => part.trim().toLowerCase());
  const charset = parameters
    .find((parameter) => parameter.startsWith("charset="))
    ?.slice("charset=".length)
    .replaceAll('"', "");
  if (type !== "application/json")
    throw new AppError("unsupported_media_type", { message: `Content-Type: expected ${taken}` });
  if (charset !== undefined && !["utf-8", "utf8", "us-ascii"].includes(charset))
    throw new AppError("unsupported_media_type", { message: "Content-Type: expected UTF-8" });
}

/** Undefined for what is no JSON: whichever route reads it says why. */
function looselyRead(head: RequestHead, bytes: Buffer, limits: JsonLimits): unknown {
  const isPlain = head.headers["content-encoding"] === undefined && !isForm(head);
  return isPlain && findJsonFault(bytes, limits) === undefined ? parseJson(bytes) : undefined;
}

function isForm({ headers }: RequestHead): boolean {
  return headers["content-type"]?.split(";")[0]?.trim().toLowerCase() === "application/x-www-form-urlencoded";
}

/** Returns the members of a form as texts, the first of each name, and the names that are given more than once. */
function parseForm(bytes: Buffer): {
  readonly members: Readonly<Record<string, string>>;
  readonly repeated: readonly string[];
} {
  if (!isUtf8(bytes)) throw new AppError("malformed_request", { message: "the form is not valid UTF-8" });
  const pairs = parseQuery(bytes.toString("utf8"));
  return { members: Object.fromEntries(pairs.toReversed()), repeated: repeatedNames(pairs) };
}
