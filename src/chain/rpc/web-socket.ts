/**
 * The client's side of a WebSocket (RFC 6455) to a node that somebody else named: over a connection of the egress guard, text only, no
 * extensions, with a limit on all that comes in.
 */
import { createHash, randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import type { Clock } from "../../platform/clock.js";
import type { Egress } from "../../platform/egress/egress.js";
import { AppError } from "../../platform/errors.js";
import { closeFrame, pingFrame, pongFrame, readFrame, textFrame, type Frame } from "./web-socket-frames.js";

export interface WebSocketEars {
  readonly onText: (text: string) => void;
  /** Called once when the connection is over, whoever ended it; never before it was open. */
  readonly onClosed: () => void;
}

export interface WebSocketDependencies {
  readonly egress: Egress;
  readonly clock: Clock;
}

/** RFC 6455, section 1.3. */
const ACCEPT_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const TIMEOUT_MS = 5_000;
const HEAD_BYTES_MAX = 16 * 1024;
const MESSAGE_BYTES_MAX = 64 * 1024;
/** Of one window, pings included: a hundred times what the heads of a chain with two blocks a second take. */
const WINDOW_MS = 10_000;
const WINDOW_BYTES_MAX = 4 * 1024 * 1024;
/** Answers to pings that the other side does not take in. */
const UNSENT_BYTES_MAX = 64 * 1024;
const NORMAL_CLOSURE = 1000;

/**
 * Opens a connection. Plain `ws:` only to places that the operator listed, as plain HTTP. Rejects with the guard's errors, and with
 * `network_answer_invalid` when the other side does not become a WebSocket.
 */
export async function openWebSocket(address: string, ears: WebSocketEars, { egress, clock }: WebSocketDependencies): Promise<WebSocketConnection> {
  const url = readAddress(address);
  const isTls = url.protocol === "wss:";
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  const socket = await egress.connect({ host: url.hostname, port, tls: isTls, isListedOnly: !isTls, timeoutMs: TIMEOUT_MS });
  try {
    const rest = await shakeHands(socket, url);
    return new WebSocketConnection(socket, rest, { ears, clock });
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function readAddress(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isSound = url !== undefined && (url.protocol === "wss:" || url.protocol === "ws:") && url.username === "" && url.password === "";
  if (!isSound) throw new AppError("egress_refused", { message: "this is not the URL of a WebSocket" });
  return url;
}

/** Asks for the upgrade; what came behind its answer. */
async function shakeHands(socket: Socket, url: URL): Promise<Buffer> {
  const key = randomBytes(16).toString("base64");
  const lines = [`GET ${url.pathname}${url.search} HTTP/1.1`, `Host: ${url.host}`, "Upgrade: websocket", "Connection: Upgrade", `Sec-WebSocket-Key: ${key}`, "Sec-WebSocket-Version: 13"];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  const { head, rest } = await readHead(socket);
  const [status = "", ...fields] = head.split("\r\n");
  const headers = new Map(fields.map((line): [string, string] => [line.slice(0, line.indexOf(":")).trim().toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]));
  const isUpgrade = headers.get("upgrade")?.toLowerCase() === "websocket" && /(^|,)\s*upgrade\s*(,|$)/i.test(headers.get("connection") ?? "");
  const accept = createHash("sha1").update(key + ACCEPT_SUFFIX).digest("base64");
  const isAccepted = headers.get("sec-websocket-accept") === accept && !headers.has("sec-websocket-extensions") && !headers.has("sec-websocket-protocol");
  if (!/^HTTP\/1\.1 101( |$)/.test(status) || !isUpgrade || !isAccepted) throw new AppError("network_answer_invalid", { message: "the other side is no WebSocket" });
  return rest;
}

async function readHead(socket: Socket): Promise<{ readonly head: string; readonly rest: Buffer }> {
  return await new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      for (const event of ["end", "close", "error"]) socket.removeListener(event, onGone);
      socket.removeListener("data", onData);
      act();
    };
    const refuse = (error: AppError): void => { settle(() => { reject(error); }); };
    const onGone = (): void => { refuse(new AppError("egress_unreachable", { message: "the other side hung up" })); };
    const onData = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk]);
      const end = received.indexOf("\r\n\r\n");
      if (end !== -1) settle(() => { resolve({ head: received.toString("latin1", 0, end), rest: received.subarray(end + 4) }); });
      else if (received.length > HEAD_BYTES_MAX) refuse(new AppError("network_answer_invalid", { message: "the other side is no WebSocket" }));
    };
    const timer = setTimeout(() => { refuse(new AppError("egress_timeout", { message: "the other side did not answer in time" })); }, TIMEOUT_MS);
    for (const event of ["end", "close", "error"]) socket.once(event, onGone);
    socket.on("data", onData);
  });
}

export class WebSocketConnection {
  readonly #socket: Socket;
  readonly #ears: WebSocketEars;
  readonly #clock: Clock;
  /** Bytes that are not taken in yet. */
  #held: Buffer;
  /** Pieces of a message whose last one has not come. */
  #pieces: Buffer[] | undefined;
  #heardAtMs: number;
  #windowBytes = 0;
  #windowSinceMs: number;
  #isOver = false;

  constructor(socket: Socket, received: Buffer, { ears, clock }: { readonly ears: WebSocketEars; readonly clock: Clock }) {
    this.#socket = socket;
    this.#ears = ears;
    this.#clock = clock;
    this.#held = received;
    this.#heardAtMs = this.#windowSinceMs = clock.monotonicMs();
    socket.on("data", (chunk: Buffer) => { this.#take(chunk); });
    socket.on("end", () => { this.#over(); });
    // Whatever it was, `close` follows.
    socket.on("error", () => undefined);
    socket.on("close", () => { this.#over(); });
    // After the caller has the connection.
    setImmediate(() => {
      if (socket.destroyed) this.#over();
      else this.#take(Buffer.alloc(0));
    });
  }

  /** When the other side was heard last, on the monotonic clock. */
  get heardAtMs(): number {
    return this.#heardAtMs;
  }

  send(text: string): void {
    if (!this.#isOver) this.#socket.write(textFrame(text));
  }

  ping(): void {
    if (!this.#isOver) this.#socket.write(pingFrame());
  }

  close(): void {
    if (!this.#isOver) this.#socket.write(closeFrame(NORMAL_CLOSURE));
    this.#over();
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#socket.destroySoon();
    this.#ears.onClosed();
  }

  #take(chunk: Buffer): void {
    if (this.#isOver || !this.#isWithinWindow(chunk.length)) return;
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (;;) {
      const frame = readFrame(this.#held, MESSAGE_BYTES_MAX);
      if (frame === undefined) return;
      if (frame !== "unsound") this.#held = this.#held.subarray(frame.end);
      if (frame === "unsound" || !this.#frame(frame)) {
        this.#over();
        return;
      }
    }
  }

  #isWithinWindow(bytes: number): boolean {
    this.#heardAtMs = this.#clock.monotonicMs();
    if (this.#heardAtMs - this.#windowSinceMs >= WINDOW_MS) {
      this.#windowSinceMs = this.#heardAtMs;
      this.#windowBytes = 0;
    }
    this.#windowBytes += bytes;
    if (this.#windowBytes > WINDOW_BYTES_MAX) this.#over();
    return !this.#isOver;
  }

  /** False when the connection is over, or to be ended because the frame is not one for its place. */
  #frame({ kind, isFinal, payload }: Frame): boolean {
    switch (kind) {
      case "ping":
        this.#socket.write(pongFrame(payload));
        return this.#socket.writableLength <= UNSENT_BYTES_MAX;
      case "pong": return true;
      case "close":
      case "binary": return false;
      case "text":
        if (this.#pieces !== undefined) return false;
        this.#pieces = [];
        return this.#piece(payload, isFinal);
      case "continuation": return this.#pieces !== undefined && this.#piece(payload, isFinal);
    }
  }

  #piece(payload: Buffer, isFinal: boolean): boolean {
    const pieces = [...(this.#pieces ?? []), payload];
    this.#pieces = isFinal ? undefined : pieces;
    if (pieces.reduce((sum, { length }) => sum + length, 0) > MESSAGE_BYTES_MAX) return false;
    if (isFinal) this.#ears.onText(Buffer.concat(pieces).toString("utf8"));
    return !this.#isOver;
  }
}
