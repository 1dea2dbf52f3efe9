/** Sends an answer: in one write where it is short, piece by piece as the reader takes them where it is long. */
import type { Clock } from "../../clock.js";
import { nextTurn } from "../../concurrency/next-turn.js";
import { ANSWER_BYTES_MAX, STREAM_ABOVE_BYTES } from "../limits/limits.js";
import type { Exchange } from "../request/exchange.js";
import { writeHead, type Answer, type BodySource } from "./answer.js";
import { sendPieces } from "./pieces.js";

/** Visible ASCII and spaces, so that a value cannot add a header line. */
const HEADER_VALUE = /^[\x20-\x7e]*$/;

/**
 * Sends an answer, unless there was one already or the client is gone. Returns a promise where the body goes out in
 * pieces, and where the connection ends with it; it resolves when the last piece is out or the client is gone. Throws
 * or rejects before anything is written when a header has forbidden characters or the body is too long.
 *
 * The last answer of a connection is never finished in the library's eyes: the library forgets with the next request
 * that a connection was to close, and would serve what was sent behind. While an answer is not finished, it closes the
 * connection as soon as another request arrives, and calls nobody. So the last answer is written to its end, and the
 * connection is closed by hand a turn later, when the library has sent what it held back.
 */
export function sendAnswer(exchange: Exchange, answer: Answer, clock: Clock): Promise<void> | undefined {
  const { body } = answer;
  if (isSource(body)) return sendAndClose(exchange, answer, body, clock);
  if (!exchange.isOpen) return undefined;
  checkHeaders(answer);
  const isLong = typeof body === "string" && body.length > STREAM_ABOVE_BYTES;
  const bytes = isLong || (exchange.endsConnection && typeof body === "string") ? Buffer.from(body, "utf8") : body;
  if (typeof bytes === "object" && bytes.length > ANSWER_BYTES_MAX)
    throw new Error("the answer is longer than an answer may be");
  if (exchange.endsConnection && (typeof bytes !== "object" || bytes.length === 0 || exchange.isHead))
    return sendLastHead(exchange, answer, { contentLength: bytes?.length, clock });
  if (typeof bytes === "object" && (exchange.endsConnection || bytes.length > STREAM_ABOVE_BYTES))
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
  response.cork(() => {
    writeHead(exchange, answer);
    if (body !== undefined && !exchange.isHead) {
      response.end(body);
      return;
    }
    // Not by an argument of endWithoutBody: the library would wait for a body of that length and hold the connection.
    if (body !== undefined) response.writeHeader("Content-Length", String(Buffer.byteLength(body)));
    response.endWithoutBody();
  });
  exchange.finish(answer.status);
}

async function sendSource(exchange: Exchange, answer: Answer, source: BodySource, clock: Clock): Promise<void> {
  if (!exchange.isHead && source.bytes > 0) {
    await sendPieces(exchange, answer, source, clock);
    return;
  }
  if (exchange.endsConnection) {
    await sendLastHead(exchange, answer, { contentLength: source.bytes, clock });
    return;
  }
  exchange.response.cork(() => {
    writeHead(exchange, answer);
    exchange.response.writeHeader("Content-Length", String(source.bytes));
    exchange.response.endWithoutBody();
  });
  exchange.finish(answer.status);
}

/** Sends the last answer of a connection where it has no body. See `sendAnswer`. */
async function sendLastHead(
  exchange: Exchange,
  answer: Answer,
  { contentLength, clock }: { readonly contentLength: number | undefined; readonly clock: Clock },
): Promise<void> {
  const { response } = exchange;
  exchange.startSending(answer.status, clock.monotonicMs());
  response.cork(() => {
    writeHead(exchange, answer);
    if (contentLength !== undefined) response.writeHeader("Content-Length", String(contentLength));
    // The empty line that ends the head: each call that would write it also finishes the answer.
    response.writeHeader("Date", `${new Date(clock.nowMs()).toUTCString()}\r\n`);
  });
  await nextTurn();
  exchange.finishAndClose();
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
