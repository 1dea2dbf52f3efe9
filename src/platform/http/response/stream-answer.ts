/**
 * Sends a stream as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). Holds one
 * message at most: the source waits while the reader does not keep up.
 */
import type { OpenStream, StreamEnd, StreamMessage, StreamSink, StreamSource } from "../../contract/stream.js";
import { writeHead, type Answer } from "./answer.js";
import type { Exchange } from "../request/exchange.js";

/** A reader that is behind gets this long to take the reason why its stream ended. */
const LAST_WORDS_MS = 5000;
/** What a message looks like on the wire, by the message: one that thousands get is spelled and encoded once. */
const spelled = new WeakMap<StreamMessage, Uint8Array>();

export class StreamAnswer implements StreamSink {
  readonly channel = undefined;
  readonly #exchange: Exchange;
  #stream: OpenStream | undefined;
  #isHeld = false;
  #isEnding = false;
  #lastWords: NodeJS.Timeout | undefined;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  /** Sends the head and opens the source. `onClosed` is called once the stream is over, whoever ended it. */
  start(
    answer: Answer,
    source: StreamSource,
    options: { readonly nowMs: number; readonly onClosed: () => void },
  ): void {
    const exchange = this.#exchange;
    const { response } = exchange;
    exchange.startSending(answer.status, options.nowMs);
    exchange.whenClosed(() => {
      clearTimeout(this.#lastWords);
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

  send(message: StreamMessage): boolean {
    if (!this.#exchange.isSending || this.#isEnding) return false;
    return this.#write(bytesOf(message));
  }

  join(): void {
    // There is no channel that could be joined.
  }

  leave(): void {
    // Nor left.
  }

  end(reason: StreamEnd): void {
    if (!this.#exchange.isSending || this.#isEnding) return;
    this.#isEnding = true;
    const text = `event: end\ndata: ${JSON.stringify({ type: "end", reason })}\n\n`;
    if (!this.#isHeld) {
      this.#finish(text);
      return;
    }
    // Behind what is held back already; whoever never reads it loses the connection instead.
    this.#write(text);
    this.#lastWords = setTimeout(() => {
      if (this.#exchange.isSending) this.#exchange.response.close();
    }, LAST_WORDS_MS).unref();
  }

  #write(text: string | Uint8Array): boolean {
    const { response } = this.#exchange;
    let isTaken = true;
    response.cork(() => {
      isTaken = response.write(text);
    });
    if (!isTaken) this.#isHeld = true;
    return isTaken;
  }

  #finish(text: string): void {
    const exchange = this.#exchange;
    if (!exchange.isSending) return;
    // Not closing: with that the library drops the text. The connection stays for the next request.
    exchange.response.cork(() => {
      exchange.response.end(text);
    });
    exchange.finish(exchange.status);
  }
}

function bytesOf(message: StreamMessage): Uint8Array {
  const known = spelled.get(message);
  if (known !== undefined) return known;
  const bytes = Buffer.from(spell(message), "utf8");
  spelled.set(message, bytes);
  return bytes;
}

/** A heartbeat moves the reader's last id without being an event: a block without data dispatches nothing. */
function spell({ id, type, json }: StreamMessage): string {
  if (type === "heartbeat") return `: heartbeat\nid: ${String(id)}\n\n`;
  return `id: ${String(id)}\n${type === undefined ? "" : `event: ${type}\n`}data: ${json}\n\n`;
}
