/**
 * The client's side of a WebSocket (RFC 6455, by npm ws) to a node that a user named: over a connection of the egress
 * guard, text only, without extensions and redirects, and with limits on everything that is received.
 */
import type { Socket } from "node:net";
import WebSocket from "ws";
import type { Clock } from "../../platform/clock.js";
import type { Egress } from "../../platform/net/egress.js";
import { AppError } from "../../platform/errors.js";

export interface WebSocketListener {
  readonly onText: (text: string) => void;
  /** Called once when the connection is over, whichever side ended it; never before it was open. */
  readonly onClosed: () => void;
}

export interface WebSocketDependencies {
  readonly egress: Egress;
  readonly clock: Clock;
}

const TIMEOUT_MS = 5_000;
const MESSAGE_BYTES_MAX = 64 * 1024;
/** Bytes of one window, pings included: a hundred times what a chain with two blocks a second sends. */
const WINDOW_MS = 10_000;
const WINDOW_BYTES_MAX = 4 * 1024 * 1024;
/** Answers to pings that the other side does not read. */
const UNSENT_BYTES_MAX = 64 * 1024;
const NORMAL_CLOSURE = 1000;

/**
 * Opens a connection. Like plain HTTP, plain `ws:` only to hosts that the operator allowed.
 * @throws the guard's errors, and network_answer_invalid when the other side does not become a WebSocket
 */
export async function openWebSocket(
  address: string,
  listener: WebSocketListener,
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
  return new WebSocketConnection({ webSocket, socket }, { listener, clock });
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
    // Stays, because later errors are emitted here too; `close` follows them.
    webSocket.on("error", (error) => {
      reject(handshakeError(error));
    });
    webSocket.once("open", () => {
      // No message is read until the caller has the connection.
      webSocket.pause();
      resolve();
    });
  });
}

function handshakeError(error: Error & { readonly code?: string }): AppError {
  if (error.message === "Opening handshake has timed out")
    return new AppError("egress_timeout", { message: "the other side did not answer in time" });
  if (error.code?.startsWith("E") === true)
    return new AppError("egress_unreachable", { message: "the other side closed the connection" });
  return new AppError("network_answer_invalid", { message: "the other side is not a WebSocket server" });
}

export class WebSocketConnection {
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #listener: WebSocketListener;
  readonly #clock: Clock;
  #receivedAtMs: number;
  #windowBytes = 0;
  #windowSinceMs: number;
  #isClosed = false;

  /** @param parts open, and paused */
  constructor(
    { webSocket, socket }: { readonly webSocket: WebSocket; readonly socket: Socket },
    { listener, clock }: { readonly listener: WebSocketListener; readonly clock: Clock },
  ) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#listener = listener;
    this.#clock = clock;
    this.#receivedAtMs = this.#windowSinceMs = clock.monotonicMs();
    socket.prependListener("data", (chunk: Buffer) => {
      this.#count(chunk.length);
    });
    webSocket.on("message", (data: Buffer, isBinary) => {
      this.#receive(data, { isBinary });
    });
    webSocket.on("close", () => {
      this.#end();
    });
    setImmediate(() => {
      if (webSocket.readyState === WebSocket.OPEN) webSocket.resume();
      else this.#end();
    });
  }

  /** When the last bytes came, on the monotonic clock. */
  get receivedAtMs(): number {
    return this.#receivedAtMs;
  }

  /** Sends a text message; does nothing once the connection is over. */
  send(text: string): void {
    if (!this.#isClosed) this.#webSocket.send(text, ignore);
  }

  /** Sends a ping; does nothing once the connection is over. */
  ping(): void {
    if (!this.#isClosed) this.#webSocket.ping(undefined, undefined, ignore);
  }

  /** Closes the connection. */
  close(): void {
    if (!this.#isClosed) this.#webSocket.close(NORMAL_CLOSURE);
    this.#end();
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.destroySoon();
    this.#listener.onClosed();
  }

  #receive(data: Buffer, { isBinary }: { readonly isBinary: boolean }): void {
    if (this.#isClosed) return;
    if (isBinary) this.#end();
    else this.#listener.onText(data.toString("utf8"));
  }

  #count(bytes: number): void {
    this.#receivedAtMs = this.#clock.monotonicMs();
    if (this.#receivedAtMs - this.#windowSinceMs >= WINDOW_MS) {
      this.#windowSinceMs = this.#receivedAtMs;
      this.#windowBytes = 0;
    }
    this.#windowBytes += bytes;
    if (this.#windowBytes > WINDOW_BYTES_MAX || this.#socket.writableLength > UNSENT_BYTES_MAX) this.#end();
  }
}

function ignore(): void {
  // Errors of sending are followed by `close`.
}
