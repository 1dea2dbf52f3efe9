/**
 * Sends a stream as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). Buffers one
 * message at most: the source waits while the reader is behind.
 */
import { nextTurn } from "../../concurrency/next-turn.js";
import type { OpenStream, StreamEnd, StreamMessage, StreamSink, StreamSource } from "../../contract/stream.js";
import { writeHead, type Answer } from "./answer.js";
import type { Exchange } from "../request/exchange.js";

/** Time for a reader that is behind to read the reason why its stream ended. */
const END_MESSAGE_MS = 5000;
const COMMENT = ":\n\n";
/** Encoded messages: one that goes to thousands of readers is encoded once. */
const encoded = new WeakMap<StreamMessage, Uint8Array>();

export class StreamAnswer implements StreamSink {
  readonly channel = undefined;
  readonly #exchange: Exchange;
  #stream: OpenStream | undefined;
  /** The last write waits in memory: nothing more is written until `onWritable`. */
  #isHeld = false;
  #isEnding = false;
  #endTimer: NodeJS.Timeout | undefined;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  /** Sends the head and opens the source. `onClosed` is called once, when the stream is over. */
  start(
    answer: Answer,
    source: StreamSource,
    options: { readonly nowMs: number; readonly onClosed: () => void },
  ): void {
    const exchange = this.#exchange;
    const { response } = exchange;
    exchange.startSending(answer.status, options.nowMs);
    exchange.whenClosed(() => {
      clearTimeout(this.#endTimer);
      options.onClosed();
      this.#stream?.closed();
    });
    response.onWritable(() => {
      this.#isHeld = false;
      if (this.#isEnding) this.#finish("");
      else this.#stream?.writable();
      return true;
    });
    response.cork(() => {
      writeHead(exchange, answer);
    });
    this.#stream = source.open(this);
  }

  /** Writes one event; see StreamSink. */
  send(message: StreamMessage): boolean {
    if (!this.#exchange.isSending || this.#isEnding) return false;
    return this.#write(bytesOf(message));
  }

  /** Does nothing: server-sent events have no channel. */
  join(): void {
    // See above.
  }

  /** Does nothing: server-sent events have no channel. */
  leave(): void {
    // See above.
  }

  /** Sends an `end` event with the reason and ends the response. */
  end(reason: StreamEnd): void {
    if (!this.#exchange.isSending || this.#isEnding) return;
    this.#isEnding = true;
    const text = `event: end\ndata: ${JSON.stringify({ type: "end", reason })}\n\n`;
    if (!this.#isHeld) {
      this.#finish(text);
      return;
    }
    // Queued behind the buffered message.
    this.#write(text);
    this.#awaitReader();
  }

  /** A reader that does not take the end in time is disconnected; `onWritable` tells when it did. */
  #awaitReader(): void {
    this.#endTimer = setTimeout(() => {
      this.#exchange.closeUnlessDone();
    }, END_MESSAGE_MS).unref();
  }

  #write(text: string | Uint8Array): boolean {
    const { response } = this.#exchange;
    const outcome = { isTaken: true };
    response.cork(() => {
      outcome.isTaken = response.write(text);
    });
    if (!outcome.isTaken) this.#isHeld = true;
    return outcome.isTaken;
  }

  #finish(text: string): void {
    const exchange = this.#exchange;
    if (!exchange.isSending) return;
    if (exchange.endsConnection) {
      if (text !== "") {
        this.#write(text);
        // What a cork leaves unsent shows at the next write only: hence a comment, which readers skip.
        if (!this.#write(COMMENT)) {
          this.#awaitReader();
          return;
        }
      }
      // As the last answer of a connection, the stream is never finished in the library's eyes; see `sendAnswer`. Its
      // final chunk (RFC 9112 section 7.1) is left out: the closed connection and the `end` event tell its end.
      void nextTurn().then(() => {
        exchange.finishAndClose();
      });
      return;
    }
    // Without closing the connection: if told to close, the library drops the text.
    exchange.response.cork(() => {
      exchange.response.end(text);
    });
    exchange.finish(exchange.status);
  }
}

function bytesOf(message: StreamMessage): Uint8Array {
  const known = encoded.get(message);
  if (known !== undefined) return known;
  const bytes = Buffer.from(encode(message), "utf8");
  encoded.set(message, bytes);
  return bytes;
}

/** A heartbeat is a block without data: it moves the reader's last id and dispatches no event. */
function encode({ id, type, json }: StreamMessage): string {
  if (type === "heartbeat") return `: heartbeat\nid: ${String(id)}\n\n`;
  return `id: ${String(id)}\n${type === undefined ? "" : `event: ${type}\n`}data: ${json}\n\n`;
}
