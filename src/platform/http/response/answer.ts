/**
 * Writes an answer in one cork: status line, the headers that every answer carries, body. Long bodies go out piece by
 * piece as the reader takes them.
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
    "Accept, Accept-Encoding, Authorization, Cache-Control, Content-Length, Content-Type, Idempotency-Key, Origin, User-Agent, X-CSRF-Token, X-Requested-With",
  ],
  ["Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS"],
  ["Access-Control-Allow-Origin", "*"],
  ["Access-Control-Expose-Headers", "Link, Location, Retry-After, X-Total-Results-Count"],
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

/** Visible ASCII and spaces, so that a value cannot add a header line. */
const HEADER_VALUE = /^[\x20-\x7e]*$/;

/**
 * Sends an answer, unless there was one already or the client is gone. Returns a promise where the body goes out in
 * pieces; it resolves when the last piece is out or the client is gone. Throws or rejects before anything is written
 * when a header has forbidden characters or the body is too long.
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
    // Not by an argument of endWithoutBody: the library would wait for a body of that length and hold the connection.
    if (body !== undefined) response.writeHeader("Content-Length", String(Buffer.byteLength(body)));
    endWithoutBody(response, { closes });
  });
  exchange.finish(answer.status);
}

/** Without a body the library cannot close the connection by itself; the header asks the client to do so. */
function endWithoutBody(response: RawResponse, { closes }: { readonly closes: boolean }): void {
  if (closes) response.writeHeader("Connection", "close");
  response.endWithoutBody();
}

async function sendSource(exchange: Exchange, answer: Answer, source: BodySource, clock: Clock): Promise<void> {
  if (exchange.isHead || source.bytes === 0) {
    exchange.response.cork(() => {
      writeHead(exchange, answer);
      exchange.response.writeHeader("Content-Length", String(source.bytes));
      endWithoutBody(exchange.response, { closes: answer.closes === true });
    });
    exchange.finish(answer.status);
    return;
  }
  let piece: Uint8Array | undefined = await source.read(0, STREAM_CHUNK_BYTES);
  if (!exchange.isOpen) return;
  exchange.startSending(answer.status, clock.monotonicMs());
  const writer = new PieceWriter(exchange, source.bytes, clock);
  for (let offset = 0; piece !== undefined;) {
    await writer.write(piece, offset, offset === 0 ? answer : undefined);
    offset += piece.length;
    piece = await nextPiece(exchange, source, offset);
  }
}

/** Reads the piece at `offset`; undefined at the end of the body, and when the client is gone. */
async function nextPiece(exchange: Exchange, source: BodySource, offset: number): Promise<Uint8Array | undefined> {
  if (!exchange.isSending || offset >= source.bytes) return undefined;
  try {
    return await source.read(offset, STREAM_CHUNK_BYTES);
  } catch (error) {
    // The head is out: the connection can only be closed short of the promised length.
    exchange.closeUnlessDone();
    throw error;
  }
}

/**
 * Writes pieces to the socket, one at a time, each until the socket has taken all of it. There is one writable handler
 * for the whole body: when a handler sets another one while it runs, the library restores the old one afterwards.
 */
class PieceWriter {
  readonly #exchange: Exchange;
  readonly #totalBytes: number;
  readonly #clock: Clock;
  /** Continues with the piece that the socket took only in part. */
  #resume: ((offset: number) => boolean) | undefined;

  constructor(exchange: Exchange, totalBytes: number, clock: Clock) {
    this.#exchange = exchange;
    this.#totalBytes = totalBytes;
    this.#clock = clock;
    exchange.response.onWritable((offset) => this.#resume?.(offset) ?? true);
  }

  /**
   * Resolves when the socket has taken the piece, or the client is gone.
   * @param start offset of the piece in the body
   * @param head written before the first piece
   */
  write(piece: Uint8Array, start: number, head: Answer | undefined): Promise<void> {
    return new Promise((resolve) => {
      this.#exchange.whenClosed(resolve);
      let unsentHead = head;
      const resume = (offset: number): boolean => {
        const taken = this.#tryWrite(piece.subarray(offset - start), unsentHead);
        unsentHead = undefined;
        this.#resume = taken ? undefined : resume;
        if (taken) resolve();
        return taken;
      };
      resume(start);
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

/** Writes the status line and the headers; must be called inside a cork. */
export function writeHead(exchange: Exchange, answer: Answer): void {
  const { response } = exchange;
  response.writeStatus(STATUS_LINES.get(answer.status) ?? String(answer.status));
  response.writeHeader(FIRST_HEADER, FIRST_VALUE_AND_LINES);
  response.writeHeader("X-Request-Id", exchange.requestId);
  if (answer.noStore === true) response.writeHeader("Cache-Control", "no-store");
  // For a body in pieces; for one that is sent whole, the library writes this header and closes.
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
