/**
 * Copies what the front needs of a request's head while it may be read, and refuses heads that two parsers could read
 * differently (request smuggling, RFC 9112 section 6.3; the library lets duplicate Content-Length and any
 * Transfer-Encoding through).
 */
import type { RawRequest } from "../uws.js";

export interface RequestHead {
  /** As sent. */
  readonly method: string;
  readonly url: string;
  readonly query: string;
  /** True when the framing is ambiguous: close the connection, answer nothing, serve nothing that follows. */
  readonly ambiguous: boolean;
  /** A body follows: Content-Length above 0, or chunked. */
  readonly hasBody: boolean;
  /** Bytes by Content-Length; undefined when absent or chunked. */
  readonly contentLength: number | undefined;
  /** The first Authorization header; `authorizationCount` tells whether there were more. */
  readonly authorization: string | undefined;
  readonly authorizationCount: number;
  /** All X-Forwarded-For headers in their order, joined with commas. */
  readonly forwardedFor: string | undefined;
  /** First value of each header that answers depend on. */
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
export type HeaderName = (typeof HEADER_NAMES)[number];

const WANTED: ReadonlySet<string> = new Set(HEADER_NAMES);
/** Fifteen digits stay exact in a double. */
const CONTENT_LENGTH = /^[0-9]{1,15}$/;

/** Reads the head. Must be called inside the library's handler, before any await. */
export function readHead(request: RawRequest): RequestHead {
  const headers: Partial<Record<HeaderName, string>> = {};
  let lengthText: string | undefined;
  let authorization: string | undefined;
  let authorizationCount = 0;
  let forwardedFor: string | undefined;
  let chunked = false;
  let ambiguous = false;
  request.forEach((name, value) => {
    if (name === "content-length") {
      if (lengthText !== undefined || !CONTENT_LENGTH.test(value)) ambiguous = true;
      lengthText = value;
    } else if (name === "transfer-encoding") {
      if (chunked || value !== "chunked") ambiguous = true;
      chunked = true;
    } else if (name === "authorization") {
      authorizationCount += 1;
      authorization ??= value;
    } else if (name === "x-forwarded-for") {
      forwardedFor = forwardedFor === undefined ? value : `${forwardedFor},${value}`;
    } else if (WANTED.has(name)) {
      headers[name as HeaderName] ??= value;
    }
  });
  const contentLength = lengthText === undefined ? undefined : Number(lengthText);
  return {
    method: request.getCaseSensitiveMethod(),
    url: request.getUrl(),
    query: request.getQuery() ?? "",
    ambiguous: ambiguous || (chunked && lengthText !== undefined),
    hasBody: chunked || (contentLength ?? 0) > 0,
    contentLength,
    authorization,
    authorizationCount,
    forwardedFor,
    headers,
  };
}

/**
 * The token of `Authorization: bearer <token>`, the scheme in any case (RFC 9110 section 11.1).
 * Undefined when the header is absent, given more than once, or of another scheme.
 * @param read what reads the header's value: `readBearer`, or a memo of it
 */
export function bearerToken(
  head: RequestHead,
  read: (authorization: string) => string | undefined = readBearer,
): string | undefined {
  if (head.authorizationCount !== 1 || head.authorization === undefined) return undefined;
  return read(head.authorization);
}

export function readBearer(authorization: string): string | undefined {
  return /^bearer +([^\s,]+)$/i.exec(authorization)?.[1];
}

/** An id that is safe to echo and to log, or undefined. */
export function saneRequestId(head: RequestHead): string | undefined {
  const given = head.headers["x-request-id"];
  return given !== undefined && /^[A-Za-z0-9._:-]{1,64}$/.test(given) ? given : undefined;
}

/** Seconds of `Prefer: wait=N` (RFC 7240 section 4.3), at most `maxSec`; 0 when absent or unreadable. */
export function preferredWaitSec(head: RequestHead, maxSec: number): number {
  if (head.headers.prefer === undefined) return 0;
  const found = /(?:^|[,;]\s*)wait\s*=\s*"?([0-9]{1,6})"?\s*(?:$|[,;])/i.exec(head.headers.prefer);
  return found?.[1] === undefined ? 0 : Math.min(Number(found[1]), maxSec);
}
