/**
 * The failures of an operation in OpenAPI. A status for which the route has codes of its own is an entry with all of
 * its codes; `default` lists, by status, those that every route of the kind may answer.
 */
import { createHash } from "node:crypto";
import { ERROR_STATUS, type ErrorCode } from "../errors.js";
import { HEAD_BYTES_MAX, HEAD_FIELDS_MAX } from "./head-limits.js";
import { pascalCase, type Json, type JsonObject } from "./openapi-components.js";
import { headers } from "./openapi-headers.js";
import { answersOf, type RouteSpec } from "./route.js";

const JSON_MEDIA = "application/json";
/** Answered before anything is known of the request, so it is no JSON. */
const HEAD_TOO_LARGE = `431 (no JSON): the request line and the headers have more than ${String(HEAD_BYTES_MAX)} bytes, or there are more than ${String(HEAD_FIELDS_MAX)} headers`;

/**
 * Places a failure in the document.
 * @param name of the component, where several operations have the same one
 * @param short says the same in few words: a reference with a description
 */
export type PlaceFailure = (failure: JsonObject, name: string, short?: JsonObject) => JsonObject;
/** Of a hash that tells apart failures with several codes. */
const HASH_CHARACTERS = 6;

/** Returns all codes that a route may answer: those of its kind, and those that it names itself. */
export function errorCodes(route: RouteSpec): ErrorCode[] {
  return [...new Set([...commonCodes(route), ...(route.errors ?? [])])];
}

/** Returns the codes that every route of this kind may answer. */
function commonCodes(route: RouteSpec): ErrorCode[] {
  const codes: ErrorCode[] = [
    ...(["malformed_path", "malformed_request", "invalid_request", "unknown_member", "too_many_requests"] as const),
    ...(["internal_error", "data_corrupt", "overloaded", "deadline_exceeded", "shutting_down"] as const),
  ];
  if (route.auth !== "public") codes.push("unauthorized", "forbidden");
  if (route.needsUnsealed === true) codes.push("vault_sealed");
  if (route.method !== "GET") {
    codes.push("body_too_large", "request_timeout", "conflict", "storage_full", "storage_failed", "audit_unavailable");
  }
  // A POST without a schema accepts an empty object, so any other body is checked too.
  if (route.body !== undefined || route.method === "POST" || route.method === "PUT")
    codes.push("unsupported_media_type", route.streamedBody === true ? "length_required" : "malformed_json");
  if (route.filesBody !== undefined) codes.push("files_invalid", "files_too_large");
  if (route.creates === true) codes.push("idempotency_key_reused", "idempotency_in_progress");
  return codes;
}

/**
 * Returns the entries of `responses`: one per status for which the route has codes beyond those of its kind, with all
 * codes of that status, and `default` with those of its kind by status. Their descriptions name the codes.
 */
export function failures(route: RouteSpec, place: PlaceFailure): JsonObject {
  const added = addedName(route);
  const plain = plainFailure(route);
  const base = place(plain, `Error${added}`);
  const entries = ownCodes(route).map(([status, codes]): [string, JsonObject] => {
    const description = listed(codes);
    // A reference may have a description of its own (OpenAPI 3.1, section 4.8.23).
    const short = { ...base, description };
    return [String(status), place({ ...plain, description }, `${failureName(status, codes)}${added}`, short)];
  });
  const common = commonFailure(route, byStatus(commonCodes(route)));
  return { ...Object.fromEntries(entries), default: place(common, `Failure${added}`) };
}

/** Such as `NotFound`; of several codes `Status409.` and a hash, which stays when other codes come. */
function failureName(status: number, codes: readonly ErrorCode[]): string {
  const [only, ...others] = codes;
  if (only !== undefined && others.length === 0) return pascalCase(only.replaceAll("_", " "));
  const hash = createHash("sha256").update(codes.join()).digest("hex").slice(0, HASH_CHARACTERS);
  return `Status${String(status)}.${hash}`;
}

function ownCodes(route: RouteSpec): [status: number, codes: ErrorCode[]][] {
  const common = commonCodes(route);
  const declared = new Set(Object.keys(answersOf(route)).map(Number));
  const own = new Set<number>((route.errors ?? []).filter((code) => !common.includes(code)).map(statusOf));
  return byStatus(errorCodes(route).filter((code) => !isOAuthError(route, code))).filter(
    ([status]) => own.has(status) && !declared.has(status),
  );
}

function isOAuthError(route: RouteSpec, code: ErrorCode): boolean {
  return route.oauthErrors?.[code] !== undefined;
}

function statusOf(code: ErrorCode): number {
  return ERROR_STATUS[code];
}

function byStatus(codes: readonly ErrorCode[]): [status: number, codes: ErrorCode[]][] {
  const groups = new Map<number, ErrorCode[]>();
  for (const code of codes) groups.set(statusOf(code), [...(groups.get(statusOf(code)) ?? []), code]);
  return [...groups].sort(([a], [b]) => a - b);
}

/** Such as `WithProof`: tells apart the failures of routes that add members to them. */
function addedName(route: RouteSpec): string {
  return Object.keys(route.errorMembers ?? {})
    .map((name) => `With${pascalCase(name)}`)
    .join("");
}

function plainFailure(route: RouteSpec): JsonObject {
  return { description: "Failure", headers: headers("Retry-After"), ...failureContent(route) };
}

function commonFailure(route: RouteSpec, common: readonly (readonly [number, readonly ErrorCode[]])[]): JsonObject {
  const lines = common.map(([status, codes]) => `${String(status)}: ${listed(codes)}`);
  return {
    description: [...lines, HEAD_TOO_LARGE].join("\n\n"),
    headers: headers("Retry-After"),
    ...failureContent(route),
  };
}

function listed(codes: readonly ErrorCode[]): string {
  return codes.map((code) => `\`${code}\``).join(", ");
}

/** Some routes add members to their failures, which existing clients read. */
function failureContent(route: RouteSpec): { readonly content: JsonObject } {
  const added = Object.entries(route.errorMembers ?? {});
  const base = { $ref: "#/components/schemas/Error" };
  const schema: Json =
    added.length === 0
      ? base
      : {
          allOf: [
            base,
            {
              type: "object",
              required: added.map(([name]) => name),
              properties: Object.fromEntries(added.map(([name, value]) => [name, { const: value }])),
            },
          ],
        };
  return { content: { [JSON_MEDIA]: { schema }, "application/problem+json": { schema } } };
}
