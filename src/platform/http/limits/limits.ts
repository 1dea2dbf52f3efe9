/** Every limit of the HTTP server with its reason. A route may lower or raise its own limits of body and time. */

export interface HttpLimits {
  readonly connectionsMax: number;
  /** A connection on which no request comes for this long is closed. See `HttpAppOptions`. */
  readonly keepAliveSec: number;
  readonly requestsPerAddressMax: number;
  readonly bodiesInFlightBytesMax: number;
  readonly deadlineMs: number;
  /** A body must bring `bodyWindowBytes` in each window of this length until it is complete. */
  readonly bodyWindowMs: number;
  readonly bodyWindowBytes: number;
  readonly readsPerSec: number;
  readonly writesPerSec: number;
  /** False switches off throttling per subject and per address; for load tests only. */
  readonly rateLimits: boolean;
  /** A reader of an answer that takes nothing for this long is disconnected. */
  readonly stallMs: number;
}

export const HTTP_LIMITS: HttpLimits = {
  /** Each costs a file descriptor and some KiB. The server's own setting takes its place. */
  connectionsMax: 4096,
  /** Longer than the 60 s after which common proxies let go of theirs, so that they never use one that is closing. */
  keepAliveSec: 75,
  /** Counts requests, not connections: the library does not say whose connection closed. */
  requestsPerAddressMax: 256,
  /** Memory that the request bodies of all clients may take together. */
  bodiesInFlightBytesMax: 64 * 1024 * 1024,
  /** Long enough for a busy disk, short enough that a stuck request frees its slot; proving sets its own. */
  deadlineMs: 15_000,
  /** 16 KiB/s, as the library asks; in a shorter window than its 8 to 12 s, after which it closes without an answer. */
  bodyWindowMs: 7000,
  bodyWindowBytes: 7 * 16 * 1024,
  readsPerSec: 200,
  writesPerSec: 100,
  rateLimits: true,
  stallMs: 30_000,
};

/** Bodies of most routes are a few short texts. */
export const BODY_BYTES_DEFAULT = 64 * 1024;
export const JSON_TOKENS_DEFAULT = 20_000;
/** No route needs deeper nesting, and it would cost stack in recursive code later. */
export const JSON_DEPTH_MAX = 32;
export const JSON_KEY_BYTES_MAX = 256;
/** Names that the caller chose: paths of files, elements of nested arrays of signals. */
export const JSON_USER_KEY_BYTES_MAX = 1024;
/** Room for a field element in decimal (78 digits); `BigInt` of longer texts is quadratic. */
export const JSON_NUMBER_BYTES_MAX = 80;

/** A body that is too long is still read this far, so that its sender sees the 413 before the connection closes. */
export const LINGER_BYTES_MAX = 1024 * 1024;
/** Time for the rest of a body that will not be used because its request was refused. */
export const UNUSED_BODY_MS = 1000;
/** Interval of the deadline check, and with it the precision of deadlines. */
export const DEADLINE_TICK_MS = 100;
/** Upper bound of `Prefer: wait=N`; the deadline of a route limits it further. */
export const WAIT_SEC_MAX = 300;
/** Longer answers are sent in pieces as the reader takes them, instead of being buffered whole in the socket. */
export const STREAM_ABOVE_BYTES = 64 * 1024;
export const STREAM_CHUNK_BYTES = 256 * 1024;
/** A longer answer is a bug: lists are paged and files are streamed. */
export const ANSWER_BYTES_MAX = 8 * 1024 * 1024;
/** Node clients refuse more than 16 KiB of headers; four links with long queries must not break them. */
export const LINK_HEADER_BYTES_MAX = 4096;

/** Seconds that Retry-After names when the failure itself names none. */
export const RETRY_AFTER_DEFAULT_SEC = 1;
/** Unsealing takes a person. */
export const RETRY_AFTER_SEALED_SEC = 10;
