/**
 * The stage that reads a request's head: copies what is needed while the library allows reading it, and detects heads
 * that two parsers could read differently (request smuggling, RFC 9112 section 6.3; the library accepts duplicate
 * Content-Length and any Transfer-Encoding). Decides also whether the request is the last one of its connection.
 */
import { AppError } from "../../errors.js";
import type { RawRequest, Refusal } from "../drivers/driver.js";

/** What is no request of HTTP/1.1, or one that is not served whatever its route; with the status of the reason. */
export class RefusedHead extends AppError {
  readonly #status: number;

  constructor({ status, reason }: Refusal) {
    super("malformed_request", { message: reason });
    this.#status = status;
  }

  override get status(): number {
    return this.#status;
  }
}

export interface RequestHead {
  /** As sent. */
  readonly method: string;
  readonly url: string;
  readonly query: string;
  /** What is wrong with the framing; two parsers could disagree where a request begins or its body ends. */
  readonly framingFault: Refusal | undefined;
  /**
   * No later request of the connection may be served: the client said so (RFC 9112 section 9.6), the framing is
   * ambiguous, or the body is chunked, whose end the library does not check.
   */
  readonly endsConnection: boolean;
  /** The client asked for that by `Connection: close`. */
  readonly saysClose: boolean;
  /** A body follows: Content-Length above 0, or chunked. */
  readonly hasBody: boolean;
  /** Content-Length in bytes; undefined when absent or chunked. */
  readonly contentLength: number | undefined;
  /** The first Authorization header. */
  readonly authorization: string | undefined;
  readonly authorizationCount: number;
  /** All X-Forwarded-For headers in their order, joined with commas. */
  readonly forwardedFor: string | undefined;
  /** First value of each header that influences the answer. */
  readonly headers: Readonly<Partial<Record<HeaderName, string>>>;
}

const HEADER_NAMES = [
  "content-type",
  "content-encoding",
  "accept",
  "accept-encoding",
  "x-request-id",
  "idempotency-key",
  "prefer",
  "if-none-match",
  "if-range",
  "range",
  "last-event-id",
  "content-range",
  "proofwright-after",
  "repr-digest",
  "sec-websocket-version",
  "traceparent",
  "tracestate",
] as const;
type HeaderName = (typeof HEADER_NAMES)[number];

const READ_HEADERS: ReadonlySet<string> = new Set(HEADER_NAMES);
/** Numbers of fifteen digits are exact in a double. */
const CONTENT_LENGTH = /^[0-9]{1,15}$/;
/** RFC 9110 section 9.1: a method is a token. The library takes a request line without one. */
const METHOD = /^[!#-'*+\-.0-9A-Z^-z|~]+$/;
const CLOSE_OPTION = /(?:^|,)[ \t]*close[ \t]*(?:$|,)/i;

const BOTH_LENGTHS = "the request has both Content-Length and Transfer-Encoding";
const BAD_LENGTH = "Content-Length: expected one number of at most 15 digits";
const BAD_METHOD = "the request line does not begin with a method";
const BAD_CODING = 'Transfer-Encoding: expected "chunked" and nothing else';

interface Framing {
  /** Content-Length as sent. */
  length: string | undefined;
  isChunked: boolean;
  fault: string | undefined;
  saysClose: boolean;
}

/** Reads the head. Must be called inside the library's handler and before any await. */
export function readHead(request: RawRequest): RequestHead {
  const headers: Partial<Record<HeaderName, string>> = {};
  const framing: Framing = { length: undefined, isChunked: false, fault: undefined, saysClose: false };
  let authorization: string | undefined;
  let authorizationCount = 0;
  let forwardedFor: string | undefined;
  request.forEach((name, value) => {
    if (name === "content-length") {
      if (framing.length !== undefined || !CONTENT_LENGTH.test(value)) framing.fault = BAD_LENGTH;
      framing.length = value;
    } else if (name === "transfer-encoding") {
      if (framing.isChunked || value !== "chunked") framing.fault = BAD_CODING;
      framing.isChunked = true;
    } else if (name === "connection") {
      if (CLOSE_OPTION.test(value)) framing.saysClose = true;
    } else if (name === "authorization") {
      authorizationCount += 1;
      authorization ??= value;
    } else if (name === "x-forwarded-for") {
      forwardedFor = forwardedFor === undefined ? value : `${forwardedFor},${value}`;
    } else if (READ_HEADERS.has(name)) {
      headers[name as HeaderName] ??= value;
    }
  });
  const contentLength = framing.length === undefined ? undefined : Number(framing.length);
  const method = request.getCaseSensitiveMethod();
  if (!METHOD.test(method)) framing.fault = BAD_METHOD;
  const fault = framing.isChunked && framing.length !== undefined ? BOTH_LENGTHS : framing.fault;
  const framingFault = request.fault ?? (fault === undefined ? undefined : { status: 400, reason: fault });
  return {
    method,
    url: request.getUrl(),
    query: request.getQuery() ?? "",
    framingFault,
    endsConnection: framing.saysClose || framing.isChunked || framingFault !== undefined,
    saysClose: framing.saysClose,
    hasBody: framing.isChunked || (contentLength ?? 0) > 0,
    contentLength,
    authorization,
    authorizationCount,
    forwardedFor,
    headers,
  };
}

/**
 * Refuses a head that must not be served, whatever its route.
 * @param isUpgrade the library takes it for the handshake of a WebSocket, whatever its version
 * @throws malformed_request for ambiguous framing, and for a handshake with a body
 * @throws upgrade_required for a version of the WebSocket protocol other than 13 (RFC 6455 section 4.4)
 */
export function requireSoundHead(head: RequestHead, { isUpgrade }: { readonly isUpgrade: boolean }): void {
  if (head.framingFault !== undefined) throw new RefusedHead(head.framingFault);
  if (!isUpgrade) return;
  if (head.hasBody) throw new AppError("malformed_request", { message: "a WebSocket handshake has no body" });
  if (head.headers["sec-websocket-version"] !== "13")
    throw new AppError("upgrade_required", { message: "Sec-WebSocket-Version: only version 13 is spoken" });
}

/**
 * Returns the token of `Authorization: bearer <token>`, the scheme in any case (RFC 9110 section 11.1); undefined when
 * the header is absent, given more than once, or of another scheme.
 * @param read `readBearer` or a cached form of it
 */
export function bearerToken(
  head: RequestHead,
  read: (authorization: string) => string | undefined = readBearer,
): string | undefined {
  if (head.authorizationCount !== 1 || head.authorization === undefined) return undefined;
  return read(head.authorization);
}

/** Returns the token of an Authorization header's value; undefined for another scheme. */
export function readBearer(authorization: string): string | undefined {
  return /^bearer +([^\s,]+)$/i.exec(authorization)?.[1];
}

/** Returns the client's X-Request-Id if it is safe to repeat and to log. */
export function saneRequestId(head: RequestHead): string | undefined {
  const given = head.headers["x-request-id"];
  return given !== undefined && /^[A-Za-z0-9._:-]{1,64}$/.test(given) ? given : undefined;
}

/** Returns whether the client sent `Prefer: respond-async` (RFC 7240 section 4.1). */
export function prefersAsync({ headers }: RequestHead): boolean {
  return headers.prefer !== undefined && /(?:^|[,;])\s*respond-async\s*(?:$|[,;])/i.test(headers.prefer);
}

/** Returns the seconds of `Prefer: wait=N` (RFC 7240 section 4.3), at most `maxSec`; 0 when absent or malformed. */
export function preferredWaitSec(head: RequestHead, maxSec: number): number {
  if (head.headers.prefer === undefined) return 0;
  const found = /(?:^|[,;]\s*)wait\s*=\s*"?([0-9]{1,6})"?\s*(?:$|[,;])/i.exec(head.headers.prefer);
  return found?.[1] === undefined ? 0 : Math.min(Number(found[1]), maxSec);
}
