/**
 * The client's side of a WebSocket (RFC 6455, by npm ws) to a node that somebody else named: over a connection of the
 * egress guard, text only, no extensions, no redirects, with a limit on all that comes in.
 */
import type { Socket } from "node:net";
import WebSocket from "ws";
import type { Clock } from "../../platform/clock.js";
import type { Egress } from "../../platform/net/egress.js";
import { AppError } from "../../platform/errors.js";

export interface WebSocketListener {
  readonly onText: (text: string) => void;
  /** Called once when the connection is over, whoever ended it; never before it was open. */
  readonly onClosed: () => void;
}

export interface WebSocketDependencies {
  readonly egress: Egress;
  readonly clock: Clock;
}

const TIMEOUT_MS = 5_000;
const MESSAGE_BYTES_MAX = 64 * 1024;
/** Of one window, pings included: a hundred times what the heads of a chain with two blocks a second take. */
const WINDOW_MS = 10_000;
const WINDOW_BYTES_MAX = 4 * 1024 * 1024;
/** Answers to pings that the other side does not take in. */
const UNSENT_BYTES_MAX = 64 * 1024;
const NORMAL_CLOSURE = 1000;

/**
 * Opens a connection. Plain `ws:` only to places that the operator listed, as plain HTTP. Rejects with the guard's
 * errors, and with `network_answer_invalid` when the other side does not become a WebSocket.
 */
export async function openWebSocket(
  address: string,
  ears: WebSocketListener,
  { egress, clock }: WebSocketDependencies,
): Promise<WebSocketConnection> {
  const url = readAddress(address);
  const isTls = url.protocol === "wss:";
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  const socket = await egress.connect({
    host: url.hostname,
    port,
    tls: isTls,
    isListedOnly: !isTls,
    timeoutMs: TIMEOUT_MS,
  });
  const webSocket = new WebSocket(url, {
    createConnection: () => socket,
    perMessageDeflate: false,
    maxPayload: MESSAGE_BYTES_MAX,
    handshakeTimeout: TIMEOUT_MS,
    followRedirects: false,
  });
  try {
    await opened(webSocket);
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return new WebSocketConnection({ webSocket, socket }, { ears, clock });
}

function readAddress(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isSound =
    url !== undefined &&
    (url.protocol === "wss:" || url.protocol === "ws:") &&
    url.username === "" &&
    url.password === "" &&
    url.hash === "";
  if (!isSound) throw new AppError("egress_refused", { message: "this is not the URL of a WebSocket" });
  return url;
}

async function opened(webSocket: WebSocket): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    // Stays, because whatever goes wrong later is told here too; `close` follows.
    webSocket.on("error", (error) => {
      reject(handshakeError(error));
    });
    webSocket.once("open", () => {
      // Nothing is heard until the caller has the connection.
      webSocket.pause();
      resolve();
    });
  });
}

function handshakeError(error: Error & { readonly code?: string }): AppError {
  if (error.message === "Opening handshake has timed out")
    return new AppError("egress_timeout", { message: "the other side did not answer in time" });
  if (error.code?.startsWith("E") === true)
    return new AppError("egress_unreachable", { message: "the other side hung up" });
  return new AppError("network_answer_invalid", { message: "the other side is no WebSocket" });
}

export class WebSocketConnection {
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #ears: WebSocketListener;
  readonly #clock: Clock;
  #heardAtMs: number;
  #windowBytes = 0;
  #windowSinceMs: number;
  #isOver = false;

  /** @param parts open, and paused */
  constructor(
    { webSocket, socket }: { readonly webSocket: WebSocket; readonly socket: Socket },
    { ears, clock }: { readonly ears: WebSocketListener; readonly clock: Clock },
  ) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#ears = ears;
    this.#clock = clock;
    this.#heardAtMs = this.#windowSinceMs = clock.monotonicMs();
    socket.prependListener("data", (chunk: Buffer) => {
      this.#count(chunk.length);
    });
    webSocket.on("message", (data: Buffer, isBinary) => {
      this.#take(data, isBinary);
    });
    webSocket.on("close", () => {
      this.#over();
    });
    setImmediate(() => {
      if (webSocket.readyState === WebSocket.OPEN) webSocket.resume();
      else this.#over();
    });
  }

  /** When the other side was heard last, on the monotonic clock. */
  get heardAtMs(): number {
    return this.#heardAtMs;
  }

  send(text: string): void {
    if (!this.#isOver) this.#webSocket.send(text, ignore);
  }

  ping(): void {
    if (!this.#isOver) this.#webSocket.ping(undefined, undefined, ignore);
  }

  close(): void {
    if (!this.#isOver) this.#webSocket.close(NORMAL_CLOSURE);
    this.#over();
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#socket.destroySoon();
    this.#ears.onClosed();
  }

  #take(data: Buffer, isBinary: boolean): void {
    if (this.#isOver) return;
    if (isBinary) this.#over();
    else this.#ears.onText(data.toString("utf8"));
  }

  #count(bytes: number): void {
    this.#heardAtMs = this.#clock.monotonicMs();
    if (this.#heardAtMs - this.#windowSinceMs >= WINDOW_MS) {
      this.#windowSinceMs = this.#heardAtMs;
      this.#windowBytes = 0;
    }
    this.#windowBytes += bytes;
    if (this.#windowBytes > WINDOW_BYTES_MAX || this.#socket.writableLength > UNSENT_BYTES_MAX) this.#over();
  }
}

function ignore(): void {
  // A connection that is over says so by `close`.
}
