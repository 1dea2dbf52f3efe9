/** What is answered to a request, and how its head is written: status line, and the headers of every answer. */
import { STATUS_CODES } from "node:http";
import type { StreamSource } from "../../contract/stream.js";
import type { Exchange } from "../request/exchange.js";

/** A body that is read in pieces while it is sent. */
export interface BodySource {
  readonly bytes: number;
  /** Returns the next piece from `offset`: at least one byte, at most `bytesMax`. */
  read(offset: number, bytesMax: number): Promise<Uint8Array> | Uint8Array;
  /** Always called, whether the answer was sent or not. */
  close(): Promise<void> | void;
}

export interface Answer {
  readonly status: number;
  readonly contentType?: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Uint8Array | BodySource;
  /** Sent from now on, in place of a body. */
  readonly stream?: StreamSource;
  readonly noStore?: boolean;
  /** The connection closes after the answer. */
  readonly closes?: boolean;
}

export const JSON_TYPE = "application/json; charset=UTF-8";

/**
 * Existing clients depend on these headers. The pair of `*` and Access-Control-Allow-Credentials is harmless:
 * the origin is never reflected, and there are no cookies.
 */
const EVERY_ANSWER: readonly (readonly [string, string])[] = [
  [
    "Access-Control-Allow-Headers",
    "Accept, Accept-Encoding, Authorization, Cache-Control, Content-Length, Content-Type, Idempotency-Key, Origin, Prefer, Proofwright-After, User-Agent, X-CSRF-Token, X-Requested-With",
  ],
  ["Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS"],
  ["Access-Control-Allow-Origin", "*"],
  [
    "Access-Control-Expose-Headers",
    "Link, Location, Preference-Applied, Proofwright-Position, Retry-After, X-Total-Results-Count",
  ],
  ["X-Content-Type-Options", "nosniff"],
];
/**
 * The lines of these headers as the tail of the first header's value: the library writes a value as it is, and each of
 * its calls costs as much as all of these bytes.
 */
const FIRST_HEADER = "Access-Control-Allow-Credentials";
const FIRST_VALUE_AND_LINES = ["true", ...EVERY_ANSWER.map(([name, value]) => `${name}: ${value}`)].join("\r\n");

const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([status, reason]) => [Number(status), `${status} ${reason ?? ""}`]),
);

/**
 * Writes the status line and the headers; must be called inside a cork.
 * @param saysClose false where the library will write `Connection: close` itself
 */
export function writeHead(exchange: Exchange, answer: Answer, saysClose = exchange.endsConnection): void {
  const { response } = exchange;
  response.writeStatus(STATUS_LINES.get(answer.status) ?? String(answer.status));
  response.writeHeader(FIRST_HEADER, FIRST_VALUE_AND_LINES);
  response.writeHeader("X-Request-Id", exchange.requestId);
  if (exchange.position !== undefined) response.writeHeader("Proofwright-Position", String(exchange.position()));
  if (answer.noStore === true) response.writeHeader("Cache-Control", "no-store");
  if (saysClose) response.writeHeader("Connection", "close");
  if (answer.contentType !== undefined) response.writeHeader("Content-Type", answer.contentType);
  for (const [name, value] of answer.headers ?? []) response.writeHeader(name, value);
}
