/**
 * Failures as answers, in the one form of DECISIONS: `{message, errors: [{message, code, path?}]}`, with the members
 * that a route adds, and as RFC 9457 problem details when asked for; on OAuth's routes in OAuth's form. What is not an
 * AppError is a bug and says nothing about itself.
 */
import { STATUS_CODES } from "node:http";
import { AppError } from "../../errors.js";
import { StoreConflict } from "../../store/store.js";
import type { Answer } from "./answer.js";
import { JSON_TYPE } from "./answer.js";
import type { Exchange } from "../request/exchange.js";
import { RETRY_AFTER_DEFAULT_SEC, RETRY_AFTER_SEALED_SEC } from "../limits/limits.js";

/** A known path with another method. */
export class MethodNotAllowed extends AppError {
  /** Methods that the path has. */
  readonly allow: readonly string[];

  constructor(allow: readonly string[]) {
    super("method_not_allowed", { message: "this path does not take this method" });
    this.allow = allow;
  }
}

/** After these the bytes that follow on the connection may not be what they seem. */
const CLOSING_CODES: ReadonlySet<string> = new Set([
  "malformed_json",
  "malformed_path",
  "malformed_request",
  "body_too_large",
]);

/** Turns whatever was thrown into an expected failure; the second member is the bug, when it was one. */
export function asAppError(thrown: unknown, requestId: string): { readonly error: AppError; readonly bug?: Error } {
  if (thrown instanceof AppError) return { error: thrown };
  if (thrown instanceof StoreConflict)
    return {
      error: new AppError("conflict", {
        message: "the record was changed by another request; read it again and retry",
      }),
    };
  const bug = thrown instanceof Error ? thrown : new Error("something that is not an error was thrown");
  return {
    error: new AppError("internal_error", {
      message: `the server failed to answer; please report request id ${requestId}`,
    }),
    bug,
  };
}

export function errorAnswer(exchange: Exchange, error: AppError): Answer {
  return {
    ...(oauthForm(exchange, error) ?? commonForm(exchange, error)),
    noStore: exchange.route?.noStore ?? false,
    closes: CLOSING_CODES.has(error.code) || (error.status === 503 && exchange.head.hasBody),
  };
}

function commonForm(exchange: Exchange, error: AppError): Answer {
  const problem = wantsProblem(exchange.head.headers.accept);
  const message = messageOf(error);
  const body = {
    ...(problem
      ? { type: "about:blank", title: STATUS_CODES[error.status] ?? "Failure", status: error.status, detail: message }
      : {}),
    message,
    errors: error.details,
    ...exchange.route?.route.errorMembers,
  };
  return {
    status: error.status,
    contentType: problem ? "application/problem+json; charset=UTF-8" : JSON_TYPE,
    headers: errorHeaders(error),
    body: JSON.stringify(body),
  };
}

/** As RFC 6749 section 5.2 prescribes it, where the route has OAuth's word for the failure. */
function oauthForm(exchange: Exchange, error: AppError): Answer | undefined {
  const refusal = exchange.route?.route.oauthErrors?.[error.code];
  if (refusal === undefined) return undefined;
  const headers: [string, string][] = refusal.status === 401 ? [["WWW-Authenticate", 'Basic realm="proofwright"']] : [];
  return {
    status: refusal.status,
    contentType: JSON_TYPE,
    headers,
    body: JSON.stringify({ error: refusal.error, error_description: messageOf(error) }),
  };
}

function messageOf(error: AppError): string {
  return error.details[0]?.message ?? error.message;
}

function errorHeaders(error: AppError): [string, string][] {
  const headers: [string, string][] = [];
  if (error.status === 429 || error.status === 503) {
    const defaultSec = error.code === "vault_sealed" ? RETRY_AFTER_SEALED_SEC : RETRY_AFTER_DEFAULT_SEC;
    headers.push(["Retry-After", String(Math.max(1, Math.ceil(error.retryAfterSec ?? defaultSec)))]);
  }
  // RFC 9110 section 15.5.2; a rejected password is not a matter of the bearer scheme.
  if (error.code === "unauthorized") headers.push(["WWW-Authenticate", "Bearer"]);
  if (error instanceof MethodNotAllowed) headers.push(["Allow", error.allow.join(", ")]);
  return headers;
}

function wantsProblem(accept: string | undefined): boolean {
  return accept !== undefined && /(^|[,\s])application\/problem\+json\s*($|[,;])/i.test(accept);
}
