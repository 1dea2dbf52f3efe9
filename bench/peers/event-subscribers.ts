/**
 * Many WebSocket subscribers in one process, for bench/subjects/events.ts: prints a line of JSON once all listen, then
 * one for each event. It shares the machine with the server that is measured, so that it does no more than RFC 6455
 * asks of a client (sections 4.1 and 5.2) and no less than a check needs: the first that has an event parses it, every
 * other one compares each byte of its own with that, in order.
 */
import { createHash, randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";

/** One event, as the first subscriber had it. */
interface Heard {
  readonly frame: Buffer;
  readonly id: number;
  /** Unix milliseconds. */
  readonly at: number;
  /** Of its text. */
  readonly characters: number;
  /** How much later each subscriber had it, in milliseconds. */
  readonly latencies: number[];
}

interface Message {
  readonly id: number;
  readonly type?: string;
  readonly created_at?: string;
  readonly payload?: { readonly type?: unknown; readonly params?: unknown };
}

const [port = "", countText = "", filter = ""] = process.argv.slice(2);
const count = Number(countText);
/** Connections that are being opened at once: more than a listening socket's backlog takes are lost. */
const OPENING_MAX = 200;
/** RFC 6455, section 1.3. */
const ACCEPT_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const TEXT = 0x81;
const PING = 0x89;
const PONG = 0x8a;

/** What came last, on whichever connection: taken in before the next is read. */
const received = Buffer.allocUnsafe(256 * 1024);
const heard: Heard[] = [];
let listening = 0;

class Subscriber {
  readonly #key = randomBytes(16).toString("base64");
  readonly #socket: Socket;
  /** The beginning of a frame whose end has not come. */
  #rest: Buffer | undefined;
  #isOpen = false;
  /** Events that it had. */
  #events = 0;

  constructor() {
    this.#socket = connect({
      host: "127.0.0.1",
      port: Number(port),
      noDelay: true,
      onread: { buffer: received, callback: (length) => this.#take(length) },
    });
    this.#socket.on("error", (error) => {
      fail(error.message);
    });
    this.#socket.on("close", () => {
      process.exit(0);
    });
    this.#socket.write(
      [
        `GET /api/v1/events?subject=${encodeURIComponent(filter)} HTTP/1.1`,
        `Host: 127.0.0.1:${port}`,
        "Authorization: bearer bench",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        `Sec-WebSocket-Key: ${this.#key}`,
        "",
        "",
      ].join("\r\n"),
    );
  }

  #take(length: number): boolean {
    const nowMs = Date.now();
    const bytes = this.#rest === undefined ? received : Buffer.concat([this.#rest, received.subarray(0, length)]);
    const end = this.#rest === undefined ? length : bytes.length;
    let at = this.#isOpen ? 0 : this.#open(bytes.subarray(0, end));
    for (let next = this.#isOpen ? endOfFrame(bytes, at, end) : 0; next > at; next = endOfFrame(bytes, at, end)) {
      this.#frame(bytes, at, next, nowMs);
      at = next;
    }
    this.#rest = at === end ? undefined : Buffer.from(bytes.subarray(at, end));
    return true;
  }

  /** Where the answer to the handshake ends; 0 before it has come. */
  #open(bytes: Buffer): number {
    const end = bytes.indexOf("\r\n\r\n");
    if (end === -1) return 0;
    const head = bytes.toString("latin1", 0, end);
    const accept = createHash("sha1")
      .update(this.#key + ACCEPT_SUFFIX)
      .digest("base64");
    if (!head.startsWith("HTTP/1.1 101 ") || /\r\nsec-websocket-accept: *([^\r]+)/i.exec(head)?.[1] !== accept)
      fail(head);
    this.#isOpen = true;
    return end + 4;
  }

  #frame(bytes: Buffer, start: number, end: number, nowMs: number): void {
    const known = heard[this.#events];
    if (known !== undefined && bytes.compare(known.frame, 0, known.frame.length, start, end) === 0) {
      this.#note(known, nowMs);
      return;
    }
    if (bytes[start] === PING) {
      this.#pong(bytes.subarray(payloadAt(bytes, start), end));
      return;
    }
    if (bytes[start] !== TEXT) fail(`a frame that begins with ${String(bytes[start])}`);
    const message = JSON.parse(bytes.toString("utf8", payloadAt(bytes, start), end)) as Message;
    if (message.type === "ready") ready();
    else if (message.type === undefined)
      this.#note(this.#first(message, Buffer.from(bytes.subarray(start, end))), nowMs);
    else if (message.type !== "heartbeat") fail(`the stream says ${message.type}`);
  }

  /**
   * The event that none has had before; whoever has another one instead has missed some or got them in another order.
   */
  #first({ id, created_at: createdAt = "", payload }: Message, frame: Buffer): Heard {
    const at = Date.parse(createdAt);
    if (
      this.#events < heard.length ||
      id <= (heard.at(-1)?.id ?? 0) ||
      Number.isNaN(at) ||
      payload?.type !== "Transfer"
    )
      fail(`event ${String(id)} was not expected`);
    const event: Heard = { frame, id, at, characters: frame.length - payloadAt(frame, 0), latencies: [] };
    heard.push(event);
    return event;
  }

  #note({ at, characters, latencies }: Heard, nowMs: number): void {
    this.#events += 1;
    latencies.push(nowMs - at);
    if (latencies.length === count) process.stdout.write(`${JSON.stringify({ at, characters, latencies })}\n`);
  }

  /** Masked with zeros, which is as good as any mask between two that trust each other. */
  #pong(payload: Buffer): void {
    this.#socket.write(Buffer.concat([Buffer.from([PONG, 0x80 | payload.length, 0, 0, 0, 0]), payload]));
  }
}

/** Where the payload of a frame begins (RFC 6455, section 5.2); a server does not mask. */
function payloadAt(bytes: Buffer, start: number): number {
  const length = bytes[start + 1] ?? 0;
  return start + (length < 126 ? 2 : length === 126 ? 4 : 10);
}

/** Where a frame ends; its start when not all of it has come. */
function endOfFrame(bytes: Buffer, start: number, end: number): number {
  if (end - start < 2 || end < payloadAt(bytes, start)) return start;
  const short = bytes[start + 1] ?? 0;
  const length =
    short < 126 ? short : short === 126 ? bytes.readUInt16BE(start + 2) : Number(bytes.readBigUInt64BE(start + 2));
  const next = payloadAt(bytes, start) + length;
  return next > end ? start : next;
}

function ready(): void {
  listening += 1;
  if (listening + OPENING_MAX <= count) new Subscriber();
  if (listening === count) process.stdout.write('{"at":0,"characters":0,"latencies":[]}\n');
}

function fail(reason: string): never {
  process.stderr.write(`subscriber: ${reason}\n`);
  process.exit(1);
}

for (let index = 0; index < Math.min(OPENING_MAX, count); index += 1) new Subscriber();
