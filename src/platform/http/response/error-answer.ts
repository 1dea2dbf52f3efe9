/**
 * Failures as answers in one form: `{message, errors: [{message, code, path?}]}` with the members that a route adds,
 * and as RFC 9457 problem details on request; OAuth's routes use OAuth's form. Anything but an AppError is a bug, whose
 * message is never answered.
 */
import { STATUS_CODES } from "node:http";
import { AppError } from "../../errors.js";
import { StoreConflict } from "../../store/store.js";
import type { Answer } from "./answer.js";
import { JSON_TYPE } from "./answer.js";
import type { Exchange } from "../request/exchange.js";
import { bearerToken } from "../request/request-head.js";
import { RETRY_AFTER_DEFAULT_SEC, RETRY_AFTER_SEALED_SEC } from "../limits/limits.js";

/** A known path with another method. */
export class MethodNotAllowed extends AppError {
  /** Methods of the path, for the Allow header. */
  readonly allow: readonly string[];

  constructor(allow: readonly string[]) {
    super("method_not_allowed", { message: "this path does not take this method; see the Allow header" });
    this.allow = allow;
  }
}

/** After these the connection closes: the bytes that follow may have been sent as part of this request. */
const CLOSING_CODES: ReadonlySet<string> = new Set([
  "malformed_json",
  "malformed_path",
  "malformed_request",
  "body_too_large",
  "request_timeout",
  "upgrade_required",
]);

/**
 * Turns anything thrown into an AppError. `bug` is the original error when it was an unexpected one.
 * @param requestId repeated to the client in the message about a bug
 */
export function asAppError(thrown: unknown, requestId: string): { readonly error: AppError; readonly bug?: Error } {
  if (thrown instanceof AppError) return { error: thrown };
  if (thrown instanceof StoreConflict)
    return {
      error: new AppError("conflict", {
        message: "another request changed the record; read it again and retry",
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

/** Returns the answer to a failed request: status, headers such as Retry-After, and the body in the route's form. */
export function errorAnswer(exchange: Exchange, error: AppError): Answer {
  return {
    ...(oauthForm(exchange, error) ?? commonForm(exchange, error)),
    noStore: exchange.route?.noStore ?? false,
    closes: CLOSING_CODES.has(error.code) || (error.status === 503 && exchange.head.hasBody),
  };
}

function commonForm(exchange: Exchange, error: AppError): Answer {
  const isProblem = acceptsProblem(exchange.head.headers.accept);
  const message = messageOf(error);
  const body = {
    ...(isProblem
      ? { type: "about:blank", title: STATUS_CODES[error.status] ?? "Failure", status: error.status, detail: message }
      : {}),
    message,
    errors: error.details,
    ...(exchange.route?.route.errorMembers ?? exchange.errorMembers),
  };
  return {
    status: error.status,
    contentType: isProblem ? "application/problem+json; charset=UTF-8" : JSON_TYPE,
    headers: errorHeaders(exchange, error),
    body: JSON.stringify(body),
  };
}

/** The form of RFC 6749 section 5.2, where the route maps the failure to one of OAuth's error codes. */
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

function errorHeaders(exchange: Exchange, error: AppError): [string, string][] {
  const headers: [string, string][] = [];
  if (error.status === 429 || error.status === 503) {
    const defaultSec = error.code === "vault_sealed" ? RETRY_AFTER_SEALED_SEC : RETRY_AFTER_DEFAULT_SEC;
    headers.push(["Retry-After", String(Math.max(1, Math.ceil(error.retryAfterSec ?? defaultSec)))]);
  }
  const challenge = bearerChallenge(exchange, error);
  if (challenge !== undefined) headers.push(["WWW-Authenticate", challenge]);
  // RFC 9110 section 15.5.22 and RFC 6455 section 4.4.
  if (error.code === "upgrade_required") headers.push(["Upgrade", "websocket"], ["Sec-WebSocket-Version", "13"]);
  if (error instanceof MethodNotAllowed) headers.push(["Allow", error.allow.join(", ")]);
  return headers;
}

/**
 * RFC 9110 section 15.5.2, RFC 6750 section 3: with an error only where there was a token. Not with
 * `invalid_credentials`: a rejected password has nothing to do with bearer tokens.
 */
function bearerChallenge({ head }: Exchange, error: AppError): string | undefined {
  if (error.code === "insufficient_scope") return 'Bearer error="insufficient_scope"';
  if (error.code !== "unauthorized") return undefined;
  return bearerToken(head) === undefined ? "Bearer" : 'Bearer error="invalid_token"';
}

function acceptsProblem(accept: string | undefined): boolean {
  return accept !== undefined && /(^|[,\s])application\/problem\+json\s*($|[,;])/i.test(accept);
}
