/**
 * The stage that hands a file's bytes to the handler while they come in. The connection is paused until the handler
 * asks for bytes, and again whenever it falls behind: of each file there are never more than a few chunks of the
 * library (at most 512 KiB each) in memory, and none but the first packet's before the caller has been checked.
 */
import { AppError } from "../../errors.js";
import type { PartOfFile, StreamedBody } from "../../contract/streamed-body.js";
import type { HttpLimits } from "../limits/limits.js";
import type { RawResponse } from "../drivers/driver.js";
import { requireUncompressed } from "./body-form.js";
import type { BodyBudget, BodyPace } from "./body.js";
import type { Exchange, IncomingBody } from "./exchange.js";
import type { RequestHead } from "./request-head.js";

/** The bytes of a request that has none. */
const NOTHING: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: () => ({ next: endOfNothing }) };
const CONTENT_RANGE = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/i;
/** A member of the dictionary with its byte sequence of 32 bytes (RFC 9530 section 2, RFC 9651 section 3.3.5). */
const SHA256_MEMBER = /^sha-256=:([A-Za-z0-9+/]{43}=):$/;

/**
 * Starts to take the body of a request as a stream. Must be called before the first await, or bytes are lost.
 * @returns undefined for a request without a body
 */
export function streamBody(
  exchange: Exchange,
  { budget, pace }: { readonly budget: BodyBudget; readonly pace: BodyPace },
): BodyStream | undefined {
  const { head, response, startedMs } = exchange;
  if (!head.hasBody) return undefined;
  const body = new BodyStream({ pace, startedMs }, { budget, response });
  body.attach();
  exchange.body = body;
  return body;
}

/**
 * Returns the body of a route with `streamedBody`, after checking what its head says of the file.
 * @throws unsupported_media_type for a content coding, length_required for a chunked body, body_too_large, and
 *   malformed_request for headers that contradict themselves
 */
export function streamedBodyOf(
  head: RequestHead,
  stream: BodyStream | undefined,
  { bodyBytesMax }: { readonly bodyBytesMax: number },
): StreamedBody {
  requireUncompressed(head);
  if (head.hasBody && head.contentLength === undefined)
    throw new AppError("length_required", { message: "Content-Length: needed for a file, which may not be chunked" });
  const bytes = head.contentLength ?? 0;
  const part = partOf(head.headers["content-range"], bytes);
  if (Math.max(bytes, part?.total ?? 0) > bodyBytesMax)
    throw new AppError("body_too_large", {
      message: `the file is longer than the ${String(bodyBytesMax)} bytes that this route takes`,
    });
  return { bytes, part, sha256: digestOf(head.headers["repr-digest"]), chunks: stream ?? NOTHING };
}

export class BodyStream implements IncomingBody, AsyncIterable<Uint8Array> {
  readonly #pace: Pick<HttpLimits, "bodyWindowMs" | "bodyWindowBytes">;
  readonly #budget: BodyBudget;
  readonly #response: RawResponse;
  #windowStartMs: number;
  #windowBytes = 0;
  #isRead = false;
  #isPaused = false;
  /** Somebody has asked for a chunk. */
  #isAsked = false;
  /** Nobody wants the bytes that still come. */
  #isDropped = false;
  /** The exchange is over, or the body broke: the reading is neither paused nor resumed any more. */
  #isOver = false;
  #chunks: Buffer[] = [];
  #failure: AppError | undefined;
  /** Settles the read that waits for a chunk. */
  #onChange: (() => void) | undefined;
  /** Settles the promise of `drop`. */
  #onRead: (() => void) | undefined;

  constructor(
    options: { readonly pace: BodyPace; readonly startedMs: number },
    dependencies: { readonly budget: BodyBudget; readonly response: RawResponse },
  ) {
    this.#pace = options.pace;
    this.#windowStartMs = options.startedMs;
    this.#budget = dependencies.budget;
    this.#response = dependencies.response;
  }

  get isRead(): boolean {
    return this.#isRead;
  }

  /**
   * Listens for the chunks, and pauses the connection until they are asked for: only after what the packet of the head
   * has of the body. A connection that is paused when its last byte comes must be resumed, to be told when the client
   * leaves, and uWebSockets.js closes one that was resumed after ten seconds if the handler has not answered by then.
   */
  attach(): void {
    this.#response.onData(
      (chunk, isLast) => {
        this.#push(chunk, { isLast });
      },
      () => {
        this.abandon();
      },
    );
    setImmediate(() => {
      if (!this.#isAsked && !this.#isDropped) this.#pause();
    });
  }

  /** True when less came in the last window than must come in each; never while the connection is paused. */
  isStalled(nowMs: number): boolean {
    // Dropping has a time limit of its own.
    if (this.#isRead || this.#isDropped) return false;
    if (this.#isPaused) {
      this.#startWindow(nowMs);
      return false;
    }
    if (nowMs - this.#windowStartMs < this.#pace.bodyWindowMs) return false;
    if (this.#windowBytes < this.#pace.bodyWindowBytes) return true;
    this.#startWindow(nowMs);
    return false;
  }

  /** Ends the reading: the exchange is over, or the rest of the body cannot be read. */
  abandon(): void {
    this.#isOver = true;
    this.#onRead?.();
    if (!this.#isRead) this.#fail(new AppError("malformed_request", { message: "the body ended early" }));
  }

  /** Drops what has come and what still comes: the request is answered before its last byte. */
  letGo(): void {
    this.#isDropped = true;
    this.release();
    this.#resume();
    this.#fail(new AppError("malformed_request", { message: "the body ended early" }));
  }

  /** Drops the body as `letGo` does. Resolves when the last byte has come, or after `waitMs`. */
  async drop(waitMs: number): Promise<void> {
    this.letGo();
    if (this.#isRead || this.#isOver) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#onRead = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Returns the memory of chunks that nobody has read. */
  release(): void {
    for (const chunk of this.#chunks) this.#budget.giveBack(chunk.length);
    this.#chunks = [];
  }

  /** Yields the chunks, to one reader. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = await this.#next();
      if (chunk === undefined) return;
      try {
        yield chunk;
      } finally {
        this.#budget.giveBack(chunk.length);
      }
    }
  }

  /** The next chunk; undefined after the last one. */
  async #next(): Promise<Buffer | undefined> {
    this.#isAsked = true;
    while (this.#chunks.length === 0) {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#isRead) return undefined;
      const changed = new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
      this.#resume();
      await changed;
    }
    return this.#chunks.shift();
  }

  #push(chunk: ArrayBuffer, { isLast }: { readonly isLast: boolean }): void {
    this.#isRead = isLast;
    this.#windowBytes += chunk.byteLength;
    if (!this.#isDropped && this.#failure === undefined && chunk.byteLength > 0) this.#keep(chunk);
    // The next request of the connection is read only when it is not paused.
    if (isLast) {
      this.#resume();
      this.#onRead?.();
    }
    this.#onChange?.();
  }

  #keep(chunk: ArrayBuffer): void {
    if (!this.#budget.take(chunk.byteLength)) {
      this.#fail(new AppError("overloaded", { message: "too many request bodies at once; try again" }));
      return;
    }
    this.#chunks.push(Buffer.from(new Uint8Array(chunk)));
    this.#pause();
  }

  #fail(error: AppError): void {
    this.#failure ??= error;
    this.#onChange?.();
  }

  #startWindow(nowMs: number): void {
    this.#windowStartMs = nowMs;
    this.#windowBytes = 0;
  }

  #pause(): void {
    if (this.#isPaused || this.#isOver || this.#isRead) return;
    this.#isPaused = true;
    this.#response.pause();
  }

  #resume(): void {
    if (!this.#isPaused || this.#isOver) return;
    this.#isPaused = false;
    this.#response.resume();
  }
}

function partOf(range: string | undefined, bytes: number): PartOfFile | undefined {
  if (range === undefined) return undefined;
  const [, first, last, whole] = CONTENT_RANGE.exec(range.trim()) ?? [];
  if (first === undefined || last === undefined || whole === undefined)
    throw malformed("Content-Range: expected `bytes <first>-<last>/<total>`");
  const [start, end, total] = [Number(first), Number(last), Number(whole)];
  if (end - start + 1 !== bytes || end >= total)
    throw malformed("Content-Range: does not have as many bytes as Content-Length, or more than the whole file");
  return { start, total };
}

function digestOf(digests: string | undefined): string | undefined {
  if (digests === undefined) return undefined;
  for (const member of digests.split(",")) {
    const found = SHA256_MEMBER.exec(member.trim())?.[1];
    if (found !== undefined) return Buffer.from(found, "base64").toString("hex");
  }
  // Ignoring the header would let the client believe that its file was checked.
  throw malformed("Repr-Digest: expected `sha-256=:<base64>:`");
}

function malformed(message: string): AppError {
  return new AppError("malformed_request", { message });
}

async function endOfNothing(): Promise<IteratorResult<Uint8Array>> {
  return await Promise.resolve({ done: true, value: undefined });
}
