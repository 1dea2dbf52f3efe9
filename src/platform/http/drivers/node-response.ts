/** One answer of the driver over Node's http, behind the interface that the front writes to. */
import type { IncomingMessage } from "node:http";
import type { RawResponse } from "./driver.js";
import type { AnswerOutput } from "./node-output.js";

/** The connection that an answer goes to. */
export interface ResponseConnection {
  /** 4 bytes of IPv4 or 16 of IPv6. */
  readonly peer: Uint8Array<ArrayBuffer>;
  readonly peerText: string;
  /** Ends the connection behind what was written to it. */
  endSoon(): void;
}

export interface ResponseParts {
  /** Undefined where no body can come. */
  readonly request: IncomingMessage | undefined;
  readonly output: AnswerOutput;
  readonly connection: ResponseConnection;
  /** No request can come behind this one. */
  readonly isLast: boolean;
}

/** What an answer may have unsent before its writer has to wait. */
const UNSENT_BYTES_MAX = 64 * 1024;
/** A stream's writer waits sooner: it has one message at a time. */
const STREAM_UNSENT_BYTES_MAX = 16 * 1024;
const NOTHING = new ArrayBuffer(0);
const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:$|,)/i;
/** Statuses whose answers have no Content-Length (RFC 9110 section 8.6). */
const WITHOUT_LENGTH: ReadonlySet<number> = new Set([204, 304]);

export class NodeResponse implements RawResponse {
  readonly #parts: ResponseParts;
  #status = 200;
  #reason = "OK";
  readonly #fields: string[] = [];
  #isHeadOut = false;
  /** The connection ends with this answer: known once the head is out. */
  #isLast: boolean;
  /** The front may not know that it is the last one. */
  #mustSayClose: boolean;
  /** The front is done with it, or the client is gone: no handler is called any more. */
  #isDone = false;
  #onAborted: (() => void) | undefined;
  #onBroken: (() => void) | undefined;
  #onWritable: ((offset: number) => boolean) | undefined;
  #isListening = false;
  /** Bytes of the body that were handed over. */
  #offset = 0;
  #unsentBytes = 0;
  /** The writer was told to wait. */
  #isHeld = false;

  constructor(parts: ResponseParts) {
    this.#parts = parts;
    this.#isLast = parts.isLast;
    this.#mustSayClose = parts.isLast;
  }

  /** True while bytes of the request's body are to come. */
  get awaitsBody(): boolean {
    return this.#parts.request?.complete === false;
  }

  /** Drops the request's body where nobody listens for it, so that the next request can come. */
  dropUnheardBody(): void {
    if (!this.#isListening) this.#parts.request?.resume();
  }

  /** Tells the front that the rest of the request's body cannot be read; its answer is the last one. */
  breakBody(): void {
    if (this.#isDone) return;
    this.#isLast = true;
    this.#mustSayClose = true;
    if (!this.#isHeadOut) this.#onBroken?.();
  }

  /** Tells the front that the client is gone. */
  abort(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#parts.request?.resume();
    this.#onAborted?.();
  }

  /** See RawResponse. */
  onAborted(handler: () => void): void {
    this.#onAborted = handler;
  }

  /** See RawResponse. The bytes are overwritten when the handler returns: they may be secrets. */
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void, onBroken: () => void): void {
    const { request } = this.#parts;
    if (request === undefined) return;
    this.#onBroken = onBroken;
    this.#isListening = true;
    request.on("data", (chunk: Buffer) => {
      if (this.#isDone) return;
      const bytes = new Uint8Array(chunk);
      chunk.fill(0);
      handler(bytes.buffer, false);
      bytes.fill(0);
    });
    request.on("end", () => {
      if (!this.#isDone) handler(NOTHING, true);
    });
    request.on("error", () => undefined);
  }

  /** See RawResponse. */
  pause(): void {
    this.#parts.request?.pause();
  }

  /** See RawResponse. */
  resume(): void {
    this.#parts.request?.resume();
  }

  /** See RawResponse. */
  onWritable(handler: (offset: number) => boolean): void {
    this.#onWritable = handler;
  }

  /** Runs the writer: Node joins what is written in one turn of the event loop. */
  cork(write: () => void): void {
    write();
  }

  /** @param status with its reason, as `200 OK` */
  writeStatus(status: string): void {
    this.#status = Number(status.slice(0, 3));
    this.#reason = status.slice(4);
  }

  /** See RawResponse. */
  writeHeader(name: string, value: string): void {
    if (!value.includes("\r\n")) {
      this.#addField(name, value);
      return;
    }
    const [first = "", ...lines] = value.split("\r\n");
    this.#addField(name, first);
    for (const line of lines) {
      if (line === "") {
        this.#writeHead();
        this.#parts.output.flushHeaders();
        return;
      }
      const colon = line.indexOf(": ");
      this.#addField(line.slice(0, colon), line.slice(colon + 2));
    }
  }

  /** See RawResponse. */
  end(body: string | Uint8Array = "", closeConnection = false): void {
    if (closeConnection && !this.#isLast) this.#addField("Connection", "close");
    if (!this.#isHeadOut) this.#writeHead(Buffer.byteLength(body));
    this.#finish(body);
  }

  /** See RawResponse. */
  endWithoutBody(): void {
    if (!this.#isHeadOut) this.#writeHead(this.#needsLength() ? 0 : undefined);
    this.#finish("");
  }

  /** Takes at most as much as may wait in memory. See RawResponse. */
  tryEnd(chunk: Uint8Array, totalBytes: number): [boolean, boolean] {
    if (!this.#isHeadOut) this.#writeHead(totalBytes);
    const bytes = chunk.subarray(0, Math.max(0, UNSENT_BYTES_MAX - this.#unsentBytes));
    this.#offset += bytes.length;
    if (this.#offset >= totalBytes) {
      this.#finish(bytes);
      return [true, true];
    }
    // Copied, because the caller may overwrite its bytes as soon as they are taken.
    if (bytes.length > 0) this.#write(Uint8Array.from(bytes));
    const isTaken = bytes.length === chunk.length && this.#unsentBytes === 0;
    this.#isHeld = !isTaken;
    return [isTaken, false];
  }

  /** See RawResponse. */
  write(chunk: string | Uint8Array): boolean {
    if (!this.#isHeadOut) this.#writeHead();
    this.#write(chunk);
    const isTaken = this.#unsentBytes <= STREAM_UNSENT_BYTES_MAX;
    this.#isHeld = !isTaken;
    return isTaken;
  }

  /** See RawResponse. */
  getWriteOffset(): number {
    return this.#offset;
  }

  /** Closes the connection behind what was written. */
  close(): void {
    this.abort();
    this.#parts.connection.endSoon();
  }

  /** See RawResponse. */
  getRemoteAddress(): ArrayBuffer {
    return this.#parts.connection.peer.buffer;
  }

  /** See RawResponse. */
  getRemoteAddressAsText(): ArrayBuffer {
    return new TextEncoder().encode(this.#parts.connection.peerText).buffer;
  }

  #addField(name: string, value: string): void {
    this.#fields.push(name, value);
    if (name === "Connection" && CLOSE.test(value)) this.#isLast = true;
  }

  #writeHead(contentLength?: number): void {
    if (this.#mustSayClose && !this.#fields.includes("Connection")) this.#fields.push("Connection", "close");
    if (contentLength !== undefined && !WITHOUT_LENGTH.has(this.#status))
      this.#fields.push("Content-Length", String(contentLength));
    this.#isHeadOut = true;
    this.#parts.output.writeHead(this.#status, this.#reason, this.#fields);
  }

  #needsLength(): boolean {
    return this.#parts.request?.method !== "HEAD" && !this.#fields.includes("Content-Length");
  }

  #write(bytes: string | Uint8Array): void {
    if (bytes.length === 0) return;
    const length = Buffer.byteLength(bytes);
    this.#unsentBytes += length;
    this.#parts.output.write(bytes, () => {
      this.#unsentBytes -= length;
      if (this.#isDone || !this.#isHeld || this.#unsentBytes > 0) return;
      this.#isHeld = false;
      this.#onWritable?.(this.#offset);
    });
  }

  /** Hands the rest over. Bytes are copied: the caller may overwrite its own, which may be secrets, at once. */
  #finish(body: string | Uint8Array): void {
    this.#isDone = true;
    const { output, connection } = this.#parts;
    const rest = typeof body === "string" ? body : Uint8Array.from(body);
    if (!this.#isLast) {
      output.end(rest);
      return;
    }
    // Not ended in Node's eyes: it would close the connection at once, and what the client still sends would reset it.
    if (rest.length > 0) output.write(rest, () => undefined);
    else output.flushHeaders();
    connection.endSoon();
  }
}
