/**
 * The stage that reads a request's head: copies what is needed while the library allows reading it, and detects heads
 * that two parsers could read differently (request smuggling, RFC 9112 section 6.3; the library accepts duplicate
 * Content-Length and any Transfer-Encoding).
 */
import type { RawRequest } from "../uws.js";

export interface RequestHead {
  /** As sent. */
  readonly method: string;
  readonly url: string;
  readonly query: string;
  /** The framing is ambiguous: the connection has to be closed without an answer to this or a later request. */
  readonly ambiguous: boolean;
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
  "x-request-id",
  "idempotency-key",
  "prefer",
  "if-none-match",
  "if-range",
  "range",
  "last-event-id",
] as const;
type HeaderName = (typeof HEADER_NAMES)[number];

const READ_HEADERS: ReadonlySet<string> = new Set(HEADER_NAMES);
/** Numbers of fifteen digits are exact in a double. */
const CONTENT_LENGTH = /^[0-9]{1,15}$/;

interface Framing {
  /** Content-Length as sent. */
  length: string | undefined;
  isChunked: boolean;
  isAmbiguous: boolean;
}

/** Reads the head. Must be called inside the library's handler and before any await. */
export function readHead(request: RawRequest): RequestHead {
  const headers: Partial<Record<HeaderName, string>> = {};
  const framing: Framing = { length: undefined, isChunked: false, isAmbiguous: false };
  let authorization: string | undefined;
  let authorizationCount = 0;
  let forwardedFor: string | undefined;
  request.forEach((name, value) => {
    if (name === "content-length") {
      if (framing.length !== undefined || !CONTENT_LENGTH.test(value)) framing.isAmbiguous = true;
      framing.length = value;
    } else if (name === "transfer-encoding") {
      if (framing.isChunked || value !== "chunked") framing.isAmbiguous = true;
      framing.isChunked = true;
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
  return {
    method: request.getCaseSensitiveMethod(),
    url: request.getUrl(),
    query: request.getQuery() ?? "",
    ambiguous: framing.isAmbiguous || (framing.isChunked && framing.length !== undefined),
    hasBody: framing.isChunked || (contentLength ?? 0) > 0,
    contentLength,
    authorization,
    authorizationCount,
    forwardedFor,
    headers,
  };
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

/** Returns the seconds of `Prefer: wait=N` (RFC 7240 section 4.3), at most `maxSec`; 0 when absent or malformed. */
export function preferredWaitSec(head: RequestHead, maxSec: number): number {
  if (head.headers.prefer === undefined) return 0;
  const found = /(?:^|[,;]\s*)wait\s*=\s*"?([0-9]{1,6})"?\s*(?:$|[,;])/i.exec(head.headers.prefer);
  return found?.[1] === undefined ? 0 : Math.min(Number(found[1]), maxSec);
}
