/** WebSockets of the driver over Node's http, by npm ws, with the topics and the backlog that uWebSockets.js has. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";
import type { RawSocket, SocketOptions, SocketSession, UpgradeOffer } from "./driver.js";

/** Results of sending; see RawSocket. */
const SENT = 1;
const WAITING = 0;
const DROPPED = 2;
/** Time for the other side to answer a close frame. */
const CLOSE_MS = 2000;

export class NodeSockets {
  readonly #options: SocketOptions;
  readonly #server: WebSocketServer;
  /** The subprotocol of each handshake that is being answered. */
  readonly #protocols = new WeakMap<IncomingMessage, string>();
  readonly #topics = new Map<string, Set<NodeSocket>>();
  readonly #open = new Set<NodeSocket>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SocketOptions) {
    this.#options = options;
    // A variable, because the declarations lack `closeTimeout`.
    const settings = {
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: options.messageBytesMax,
      closeTimeout: CLOSE_MS,
    };
    this.#server = new WebSocketServer(settings);
    this.#server.on("headers", (headers, request) => {
      const protocol = this.#protocols.get(request) ?? "";
      if (protocol !== "") headers.push(`Sec-WebSocket-Protocol: ${protocol}`);
    });
  }

  /** Returns the offer of a handshake that ws accepts; see `offersWebSocket`. */
  offer(request: IncomingMessage, socket: Duplex, head: Buffer): UpgradeOffer {
    const protocols = request.headers["sec-websocket-protocol"] ?? "";
    return {
      protocols,
      accept: (session, protocol) => {
        // The front has chosen: ws must not read the list itself, and refuse one that it finds malformed.
        delete request.headers["sec-websocket-protocol"];
        this.#protocols.set(request, protocol);
        this.#server.handleUpgrade(request, socket, head, (accepted) => {
          this.#opened(accepted, session);
        });
      },
    };
  }

  /** Sends a text message to every socket of the topic. */
  publish(topic: string, message: string): void {
    const sockets = this.#topics.get(topic);
    if (sockets === undefined) return;
    const bytes = Buffer.from(message, "utf8");
    for (const socket of sockets) socket.deliver(bytes, message);
  }

  /** Closes every socket without a close frame. */
  close(): void {
    clearInterval(this.#timer);
    for (const socket of [...this.#open]) socket.terminate();
  }

  /** Adds a socket to a topic. */
  join(socket: NodeSocket, topic: string): void {
    const sockets = this.#topics.get(topic) ?? new Set();
    this.#topics.set(topic, sockets);
    sockets.add(socket);
  }

  /** Takes a socket out of a topic. */
  leave(socket: NodeSocket, topic: string): void {
    const sockets = this.#topics.get(topic);
    if (sockets?.delete(socket) === true && sockets.size === 0) this.#topics.delete(topic);
  }

  /** Forgets a socket that is closed. */
  remove(socket: NodeSocket): void {
    this.#open.delete(socket);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #opened(accepted: WebSocket, session: SocketSession): void {
    const socket = new NodeSocket(accepted, session, { ...this.#options, sockets: this });
    this.#open.add(socket);
    const checkMs = (this.#options.idleSec * 1000) / 4;
    this.#timer ??= setInterval(() => {
      const nowMs = performance.now();
      for (const open of [...this.#open]) open.checkIdle(nowMs);
    }, checkMs).unref();
    session.opened(socket);
  }
}

class NodeSocket implements RawSocket {
  readonly #socket: WebSocket;
  readonly #session: SocketSession;
  readonly #options: SocketOptions & { readonly sockets: NodeSockets };
  readonly #topics = new Set<string>();
  #heardAtMs = performance.now();
  /** Something waits in memory since the last `drained`. */
  #isHeld = false;
  #isClosed = false;

  constructor(socket: WebSocket, session: SocketSession, options: SocketOptions & { readonly sockets: NodeSockets }) {
    this.#socket = socket;
    this.#session = session;
    this.#options = options;
    socket.on("message", (data, isBinary) => {
      this.#heard();
      if (!this.#isClosed) session.message(isBinary ? undefined : (data as Buffer).toString("utf8"));
    });
    for (const event of ["ping", "pong"]) {
      socket.on(event, () => {
        this.#heard();
      });
    }
    // A frame that breaks the protocol: ws answers with a close frame of its code. The session hears of it now, because
    // `close` waits for the connection to end, which the other side may see first.
    socket.on("error", () => {
      this.#closed();
    });
    socket.on("close", () => {
      this.#closed();
    });
  }

  /** See RawSocket. */
  send(message: string): number {
    return this.#send(message);
  }

  /** Sends a published message, or tells the session that it was dropped. */
  deliver(bytes: Buffer, message: string): void {
    if (!this.#isClosed && this.#send(bytes) === DROPPED) this.#session.dropped(message);
  }

  /** See RawSocket. */
  getBufferedAmount(): number {
    return this.#socket.bufferedAmount;
  }

  /** See RawSocket. */
  subscribe(topic: string): void {
    this.#topics.add(topic);
    this.#options.sockets.join(this, topic);
  }

  /** See RawSocket. */
  unsubscribe(topic: string): void {
    this.#topics.delete(topic);
    this.#options.sockets.leave(this, topic);
  }

  /** See RawSocket. */
  end(code: number, reason: string): void {
    this.#closed();
    this.#socket.close(code, reason);
  }

  /** Closes the connection at once. */
  terminate(): void {
    this.#socket.terminate();
    this.#closed();
  }

  /** Asks a silent peer whether it is there, and disconnects one that has not answered. */
  checkIdle(nowMs: number): void {
    const silentMs = nowMs - this.#heardAtMs;
    const idleMs = this.#options.idleSec * 1000;
    if (silentMs > idleMs) this.terminate();
    else if (silentMs > idleMs / 2 && this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
  }

  #send(message: string | Buffer): number {
    // A socket that the other side is closing: `closed` will tell.
    if (this.#isClosed || this.#socket.readyState !== this.#socket.OPEN) return SENT;
    if (this.#socket.bufferedAmount > this.#options.backlogBytesMax) return DROPPED;
    this.#socket.send(message, { binary: false }, this.#onSent);
    if (this.#socket.bufferedAmount === 0) return SENT;
    this.#isHeld = true;
    return WAITING;
  }

  readonly #onSent = (): void => {
    if (!this.#isHeld || this.#isClosed || this.#socket.bufferedAmount > 0) return;
    this.#isHeld = false;
    this.#session.drained();
  };

  #heard(): void {
    this.#heardAtMs = performance.now();
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const topic of this.#topics) this.#options.sockets.leave(this, topic);
    this.#session.closed();
    this.#options.sockets.remove(this);
  }
}
