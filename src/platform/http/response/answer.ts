/**
 * Writes an answer: status line, the headers that every answer carries (SPEC section 1, exactly), body. Everything that
 * goes out passes here, in one cork. Long bodies go out piece by piece as the reader takes them.
 */
import { STATUS_CODES } from "node:http";
import type { Clock } from "../../clock.js";
import type { StreamSource } from "../../contract/stream.js";
import type { Exchange } from "../request/exchange.js";
import { ANSWER_BYTES_MAX, STREAM_ABOVE_BYTES, STREAM_CHUNK_BYTES } from "../limits/limits.js";
import type { RawResponse } from "../uws.js";

/** A body that is read in pieces while it is sent. */
export interface BodySource {
  readonly bytes: number;
  /** The next piece from `offset`; at most `bytesMax`, at least one byte. */
  read(offset: number, bytesMax: number): Promise<Uint8Array> | Uint8Array;
  /** Always called, whether the answer arrived or not. */
  close(): Promise<void> | void;
}

export interface Answer {
  readonly status: number;
  readonly contentType?: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Uint8Array | BodySource;
  /** Instead of a body: what is sent from now on. */
  readonly stream?: StreamSource;
  readonly noStore?: boolean;
  /** The connection closes after the answer. */
  readonly closes?: boolean;
}

export const JSON_TYPE = "application/json; charset=UTF-8";

/**
 * SPEC section 1. The origin is never reflected, and there are no cookies: the pair of `*` and credentials stays
 * harmless.
 */
const EVERY_ANSWER: readonly (readonly [string, string])[] = [
  [
    "Access-Control-Allow-Headers",
    "Accept, Accept-Encoding, Authorization, Cache-Control, Content-Length, Content-Type, Origin, User-Agent, X-CSRF-Token, X-Requested-With",
  ],
  ["Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS"],
  ["Access-Control-Allow-Origin", "*"],
  ["Access-Control-Expose-Headers", "X-Total-Results-Count"],
  ["X-Content-Type-Options", "nosniff"],
];
/**
 * Their lines behind the first header's value: the library writes a value as it is, and each of its calls costs as much
 * as all of these bytes.
 */
const FIRST_OF_ALL = "Access-Control-Allow-Credentials";
const FIRST_VALUE_AND_LINES = ["true", ...EVERY_ANSWER.map(([name, value]) => `${name}: ${value}`)].join("\r\n");

const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([status, reason]) => [Number(status), `${status} ${reason ?? ""}`]),
);

/** Visible ASCII and spaces: a header cannot smuggle a line of its own. */
const HEADER_VALUE = /^[\x20-\x7e]*$/;

/**
 * Sends the answer, unless there was one already or the client is gone. Gives a promise where the body goes out in
 * pieces, which resolves when it is out or given up. Throws or rejects before anything is written when a header or the
 * length is not fit to be sent.
 */
export function sendAnswer(exchange: Exchange, answer: Answer, clock: Clock): Promise<void> | undefined {
  const { body } = answer;
  if (isSource(body)) return sendAndClose(exchange, answer, body, clock);
  if (!exchange.isOpen) return undefined;
  checkHeaders(answer);
  const bytes = typeof body === "string" && body.length > STREAM_ABOVE_BYTES ? Buffer.from(body, "utf8") : body;
  if (typeof bytes === "object" && bytes.length > ANSWER_BYTES_MAX)
    throw new Error("the answer is longer than an answer may be");
  if (typeof bytes === "object" && bytes.length > STREAM_ABOVE_BYTES)
    return sendSource(exchange, answer, sourceOf(bytes), clock);
  sendWhole(exchange, answer, bytes);
  return undefined;
}

function checkHeaders({ headers = [] }: Answer): void {
  for (const [name, value] of headers) {
    if (!HEADER_VALUE.test(value)) throw new Error(`the header ${name} has characters that a header cannot have`);
  }
}

async function sendAndClose(exchange: Exchange, answer: Answer, source: BodySource, clock: Clock): Promise<void> {
  try {
    if (!exchange.isOpen) return;
    checkHeaders(answer);
    await sendSource(exchange, answer, source, clock);
  } finally {
    await source.close();
  }
}

function sendWhole(exchange: Exchange, answer: Answer, body: string | Uint8Array | undefined): void {
  const { response } = exchange;
  const closes = answer.closes === true;
  response.cork(() => {
    writeHead(exchange, answer);
    if (body !== undefined && !exchange.isHead) {
      response.end(body, closes);
      return;
    }
    // The library counts a length given to endWithoutBody as owed and would hold the connection: headers are written by
    // hand.
    if (body !== undefined) response.writeHeader("Content-Length", String(Buffer.byteLength(body)));
    endBodiless(response, closes);
  });
  exchange.finish(answer.status);
}

/** Without a body the library cannot close by itself; the header asks the client to. */
function endBodiless(response: RawResponse, closes: boolean): void {
  if (closes) response.writeHeader("Connection", "close");
  response.endWithoutBody();
}

async function sendSource(exchange: Exchange, answer: Answer, source: BodySource, clock: Clock): Promise<void> {
  if (exchange.isHead || source.bytes === 0) {
    exchange.response.cork(() => {
      writeHead(exchange, answer);
      exchange.response.writeHeader("Content-Length", String(source.bytes));
      endBodiless(exchange.response, answer.closes === true);
    });
    exchange.finish(answer.status);
    return;
  }
  let chunk = await source.read(0, STREAM_CHUNK_BYTES);
  if (!exchange.isOpen) return;
  exchange.startSending(answer.status, clock.monotonicMs());
  const pieces = new PieceWriter(exchange, source.bytes, clock);
  for (let offset = 0; ;) {
    await pieces.write(chunk, offset, offset === 0 ? answer : undefined);
    offset += chunk.length;
    if (!exchange.isSending || offset >= source.bytes) return;
    try {
      chunk = await source.read(offset, STREAM_CHUNK_BYTES);
    } catch (error) {
      // Its head is out: all that is left is to end the connection short of the promised length.
      if (exchange.isSending) exchange.response.close();
      throw error;
    }
    if (!exchange.isSending) return;
  }
}

/**
 * Hands pieces to the socket, one at a time, each until the socket took all of it. There is one writable handler for
 * the whole body: the library puts the old one back over a handler that is set while the old one runs.
 */
class PieceWriter {
  readonly #exchange: Exchange;
  readonly #totalBytes: number;
  readonly #clock: Clock;
  /** Goes on with the piece that the socket did not take whole. */
  #resume: ((offset: number) => boolean) | undefined;

  constructor(exchange: Exchange, totalBytes: number, clock: Clock) {
    this.#exchange = exchange;
    this.#totalBytes = totalBytes;
    this.#clock = clock;
    exchange.response.onWritable((offset) => this.#resume?.(offset) ?? true);
  }

  /**
   * @param start offset of the piece in the body; `head` goes before the first. Resolves also when the client goes
   *   away.
   */
  write(piece: Uint8Array, start: number, head: Answer | undefined): Promise<void> {
    return new Promise((resolve) => {
      this.#exchange.whenClosed(resolve);
      let unsentHead = head;
      const goOn = (offset: number): boolean => {
        const taken = this.#tryWrite(piece.subarray(offset - start), unsentHead);
        unsentHead = undefined;
        this.#resume = taken ? undefined : goOn;
        if (taken) resolve();
        return taken;
      };
      goOn(start);
    });
  }

  #tryWrite(bytes: Uint8Array, head: Answer | undefined): boolean {
    const exchange = this.#exchange;
    if (!exchange.isSending) return true;
    let taken = false;
    exchange.response.cork(() => {
      if (head !== undefined) writeHead(exchange, head);
      const [ok, hasResponded] = exchange.response.tryEnd(bytes, this.#totalBytes);
      taken = ok || hasResponded;
      if (hasResponded) exchange.finish(exchange.status);
    });
    exchange.progressAtMs = this.#clock.monotonicMs();
    return taken;
  }
}

/** Status line and headers, inside a cork. */
export function writeHead(exchange: Exchange, answer: Answer): void {
  const { response } = exchange;
  response.writeStatus(STATUS_LINES.get(answer.status) ?? String(answer.status));
  response.writeHeader(FIRST_OF_ALL, FIRST_VALUE_AND_LINES);
  response.writeHeader("X-Request-Id", exchange.requestId);
  if (answer.noStore === true) response.writeHeader("Cache-Control", "no-store");
  // A body in pieces has no other way to say it; one that is sent whole lets the library say it and close.
  if (answer.closes === true && exchange.isSending) response.writeHeader("Connection", "close");
  if (answer.contentType !== undefined) response.writeHeader("Content-Type", answer.contentType);
  for (const [name, value] of answer.headers ?? []) response.writeHeader(name, value);
}

function sourceOf(bytes: Uint8Array): BodySource {
  return {
    bytes: bytes.length,
    read: (offset, bytesMax) => bytes.subarray(offset, offset + bytesMax),
    close: () => undefined,
  };
}

function isSource(body: Answer["body"]): body is BodySource {
  return typeof body === "object" && "read" in body;
}
