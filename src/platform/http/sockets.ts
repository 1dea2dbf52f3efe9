/**
 * Streams over WebSocket (RFC 6455): one text frame per message. What many listen to is published once and fanned out
 * by the library. The token came with the handshake, or comes with the first message; a later message with a newer
 * token of the same subject prolongs the stream.
 */
import { formatSubject, type Principal } from "../auth/principal.js";
import type { Clock } from "../clock.js";
import type {
  OpenStream,
  StreamChannel,
  StreamEnd,
  StreamMessage,
  StreamSink,
  StreamSource,
} from "../contract/stream.js";
import { AppError } from "../errors.js";
import type { CompiledRoute } from "./request/exchange.js";
import type { Streams } from "./response/streams.js";
import type { RawSocket, SocketOptions, SocketSession } from "./uws.js";

/** Named to clients; a browser refuses a connection whose offered subprotocols are all ignored. */
export const STREAM_PROTOCOL = "proofwright.events.v1";
const TOKEN_PROTOCOL = /^bearer\.([A-Za-z0-9._~-]+)$/;

export const SOCKET_LIMITS: Omit<SocketOptions, "paths"> = {
  /** A token of 2 KiB and 32 filters of 256 characters. */
  messageBytesMax: 16 * 1024,
  /** Some three long events, or hundreds of ordinary ones. */
  backlogBytesMax: 256 * 1024,
  idleSec: 60,
};
const FIRST_MESSAGE_MS = 10_000;
/** Sockets that have not said who they are. */
const NAMELESS_MAX = 1024;
/** Between two messages of one client. */
const MESSAGE_INTERVAL_MS = 200;

const CLOSE_CODES: Readonly<Record<StreamEnd, number>> = {
  token_expired: 4401,
  token_revoked: 4401,
  forbidden: 4403,
  slow_consumer: 4408,
  shutting_down: 1012,
  failed: 1011,
};
const CLOSE_UNSUPPORTED = 1003;
const CLOSE_LATER = 1013;

/** A stream that was admitted. */
export interface AdmittedStream {
  readonly principal: Principal;
  readonly token: string;
  readonly source: StreamSource;
}

/** What the first message asks for. */
export interface FirstMessage {
  readonly token: string;
  /** As the query of a request would have it. */
  readonly query: string;
}

export interface SocketsDependencies {
  readonly publish: (topic: string, message: string) => void;
  readonly streams: Streams;
  readonly clock: Clock;
}

export interface SocketInit {
  readonly compiled: CompiledRoute;
  /** Undefined: the token comes with the first message. */
  readonly admitted: AdmittedStream | undefined;
  /** Admits by the first message. Rejects with an AppError. */
  readonly admitLate: (request: FirstMessage) => Promise<AdmittedStream>;
  /** Checks a newer token. */
  readonly authenticate: (token: string) => Principal | Promise<Principal>;
}

/** The WebSockets of one server. */
export class Sockets {
  readonly #dependencies: SocketsDependencies;
  /** With the position at which each of them stands. */
  readonly #dropped = new Map<StreamSocket, number>();
  readonly nameless = new Set<StreamSocket>();
  readonly channel: StreamChannel;

  constructor(dependencies: SocketsDependencies) {
    this.#dependencies = dependencies;
    this.channel = {
      publish: (topic, message) => {
        // Before anything else is sent: whoever missed a message must not get the one after it.
        this.#holdDropped();
        dependencies.publish(topic, message.json);
      },
    };
  }

  get streams(): Streams {
    return this.#dependencies.streams;
  }

  get clock(): Clock {
    return this.#dependencies.clock;
  }

  session(init: SocketInit): SocketSession {
    return new StreamSocket(init, this);
  }

  /** Holds the socket as soon as the library is done with what it is sending. */
  noteDropped(socket: StreamSocket, position: number): void {
    if (this.#dropped.has(socket)) return;
    this.#dropped.set(socket, position);
    setImmediate(() => {
      this.#holdDropped();
    });
  }

  /** Ends those that no stream is open on yet. */
  endNameless(): void {
    for (const socket of [...this.nameless]) socket.end("shutting_down");
  }

  #holdDropped(): void {
    for (const [socket, position] of [...this.#dropped]) {
      this.#dropped.delete(socket);
      socket.hold(position);
    }
  }
}

class StreamSocket implements SocketSession, StreamSink {
  readonly #init: SocketInit;
  readonly #sockets: Sockets;
  #socket: RawSocket | undefined;
  #stream: OpenStream | undefined;
  #principal: Principal | undefined;
  #release: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastMessageAtMs = -Infinity;
  #isBusy = false;

  constructor(init: SocketInit, sockets: Sockets) {
    this.#init = init;
    this.#sockets = sockets;
  }

  get channel(): StreamChannel {
    return this.#sockets.channel;
  }

  opened(socket: RawSocket): void {
    this.#socket = socket;
    if (this.#init.admitted !== undefined) {
      this.#begin(this.#init.admitted);
      return;
    }
    this.#sockets.nameless.add(this);
    if (this.#sockets.nameless.size > NAMELESS_MAX)
      this.#close(CLOSE_LATER, "too many connections wait for their token");
    else
      this.#timer = setTimeout(() => {
        this.#close(4401, "no token came");
      }, FIRST_MESSAGE_MS).unref();
  }

  message(text: string | undefined): void {
    const nowMs = this.#sockets.clock.monotonicMs();
    if (this.#isBusy || nowMs - this.#lastMessageAtMs < MESSAGE_INTERVAL_MS) {
      this.#close(4429, "too many messages");
      return;
    }
    this.#lastMessageAtMs = nowMs;
    const request = text === undefined ? undefined : readRequest(text);
    if (request === undefined) {
      this.#close(
        text === undefined ? CLOSE_UNSUPPORTED : 4422,
        'messages are {"token", "subject"?, "last_event_id"?}',
      );
      return;
    }
    this.#isBusy = true;
    void this.#take(request).finally(() => {
      this.#isBusy = false;
    });
  }

  drained(): void {
    this.#stream?.writable();
  }

  dropped(message: string): void {
    const [, id, isAboutStream] = /^\{"id":(\d+)(,"type")?/.exec(message) ?? [];
    // Of a heartbeat nothing is missed but the position.
    this.#sockets.noteDropped(this, Number(id ?? 0) - (isAboutStream === undefined ? 1 : 0));
  }

  hold(position: number): void {
    this.#stream?.dropped(position);
    // What was held back may have gone out meanwhile; then nothing tells of it any more.
    if (this.#socket?.getBufferedAmount() === 0) this.#stream?.writable();
  }

  closed(): void {
    this.#socket = undefined;
    clearTimeout(this.#timer);
    this.#sockets.nameless.delete(this);
    this.#release?.();
    this.#stream?.closed();
  }

  send(message: StreamMessage): boolean {
    const status = this.#socket?.send(message.json);
    if (status === 2) this.dropped(message.json);
    return status === 1;
  }

  join(topic: string): void {
    this.#socket?.subscribe(topic);
  }

  leave(topic: string): void {
    this.#socket?.unsubscribe(topic);
  }

  end(reason: StreamEnd): void {
    this.#close(CLOSE_CODES[reason], reason);
  }

  #close(code: number, reason: string): void {
    // The session's `closed` comes before `end` returns.
    this.#socket?.end(code, reason);
  }

  #begin({ principal, token, source }: AdmittedStream): void {
    clearTimeout(this.#timer);
    this.#sockets.nameless.delete(this);
    this.#watch(principal, token);
    this.#stream = source.open(this);
  }

  #watch(principal: Principal, token: string): void {
    const { compiled } = this.#init;
    this.#principal = principal;
    this.#release?.();
    this.#release = this.#sockets.streams.add({
      token,
      principal,
      area: compiled.route.area,
      check: (current) => {
        compiled.check?.(current);
      },
      end: (reason) => {
        this.end(reason);
      },
    });
  }

  async #take(request: FirstMessage): Promise<void> {
    try {
      if (this.#principal === undefined) {
        const admitted = await this.#init.admitLate(request);
        if (this.#socket !== undefined) this.#begin(admitted);
      } else {
        await this.#prolong(request, this.#principal);
      }
    } catch (error) {
      if (error instanceof AppError) this.#close(error.status >= 500 ? CLOSE_LATER : 4000 + error.status, error.code);
      else this.#close(CLOSE_CODES.failed, "failed");
    }
  }

  async #prolong(request: FirstMessage, present: Principal): Promise<void> {
    if (request.query !== "") throw new AppError("invalid_request", { message: "an open stream keeps its filters" });
    const principal = await this.#init.authenticate(request.token);
    this.#init.compiled.check?.(principal);
    const isSame =
      formatSubject(principal.subject) === formatSubject(present.subject) &&
      (principal.limitedTo ?? []).join(" ") === (present.limitedTo ?? []).join(" ");
    if (!isSame) throw new AppError("forbidden", { message: "a stream is prolonged by a token of the same subject" });
    if (this.#socket !== undefined) this.#watch(principal, request.token);
  }
}

/** The subprotocol to answer and the token among those offered. */
export function readProtocols(offered: string): { readonly protocol: string; readonly token: string | undefined } {
  const names = offered.split(",").map((name) => name.trim());
  const token = names.flatMap((name) => TOKEN_PROTOCOL.exec(name)?.[1] ?? [])[0];
  return { protocol: names.includes(STREAM_PROTOCOL) ? STREAM_PROTOCOL : "", token };
}

function readRequest(text: string): FirstMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const { token, subject = [], last_event_id: lastEventId, ...rest } = value as { readonly [member: string]: unknown };
  const subjects: readonly unknown[] = Array.isArray(subject) ? subject : [subject];
  if (typeof token !== "string" || Object.keys(rest).length > 0 || !subjects.every((name) => typeof name === "string"))
    return undefined;
  if (lastEventId !== undefined && typeof lastEventId !== "number") return undefined;
  const query = new URLSearchParams(subjects.map((name): [string, string] => ["subject", String(name)]));
  if (lastEventId !== undefined) query.append("last_event_id", String(lastEventId));
  return { token, query: query.toString() };
}
