/**
 * Streams over WebSocket (RFC 6455): one text frame per message. A message for many readers is published once, and the
 * library fans it out. The token comes with the handshake or with the first message; a later message with a newer token
 * of the same subject prolongs the stream.
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
import type { CompiledRoute } from "./compiled-route.js";
import type { Streams } from "./response/streams.js";
import { MESSAGE_FORM, readFirstMessage, type FirstMessage } from "./socket-messages.js";
import type { RawSocket, SocketOptions, SocketSession } from "./drivers/driver.js";

export const SOCKET_LIMITS: Omit<SocketOptions, "paths"> = {
  /** A token of 2 KiB and 32 filters of 256 characters. */
  messageBytesMax: 16 * 1024,
  /** About three events of the greatest length, or hundreds of ordinary ones. */
  backlogBytesMax: 256 * 1024,
  idleSec: 60,
};
/** Time in which the first message has to bring the token. */
const FIRST_MESSAGE_MS = 10_000;
/** Open sockets whose token has not come yet. */
const UNAUTHENTICATED_MAX = 1024;
/** Least time between two messages of one client. */
const MESSAGE_INTERVAL_MS = 200;

const CLOSE_CODES: Readonly<Record<StreamEnd, number>> = {
  token_expired: 4401,
  token_revoked: 4401,
  forbidden: 4403,
  slow_consumer: 4408,
  shutting_down: 1012,
  failed: 1011,
};
/** RFC 6455, section 7.4.1, and the registry of close codes at IANA. */
const CLOSE_UNSUPPORTED = 1003;
const CLOSE_TRY_LATER = 1013;
/** Private codes are 4000 plus the HTTP status of the same failure. */
const CLOSE_PRIVATE = 4000;
const CLOSE_NO_TOKEN = CLOSE_PRIVATE + 401;
const CLOSE_MALFORMED = CLOSE_PRIVATE + 422;
const CLOSE_TOO_MANY = CLOSE_PRIVATE + 429;

/** A stream that was admitted. */
export interface AdmittedStream {
  readonly principal: Principal;
  readonly token: string;
  readonly source: StreamSource;
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
  /** Checks the token and the query of the first message. Rejects with an AppError. */
  readonly admitByMessage: (request: FirstMessage) => Promise<AdmittedStream>;
  /** Checks a newer token. */
  readonly authenticate: (token: string) => Principal | Promise<Principal>;
}

/** The WebSockets of one server, and the channel by which they are published to. */
export class Sockets {
  readonly #dependencies: SocketsDependencies;
  /** Sockets that missed a published message, each with the number of the last event that it has. */
  readonly #dropped = new Map<StreamSocket, number>();
  readonly unauthenticated = new Set<StreamSocket>();
  readonly channel: StreamChannel;

  constructor(dependencies: SocketsDependencies) {
    this.#dependencies = dependencies;
    this.channel = {
      publish: (topic, message) => {
        // A socket that missed a message must not get the next one, so it is held before anything else is sent.
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

  /** Makes the session of a connection that is about to become a WebSocket. */
  session(init: SocketInit): SocketSession {
    return new StreamSocket(init, this);
  }

  /** Holds the socket as soon as the library has finished its current round of sending. */
  noteDropped(socket: StreamSocket, position: number): void {
    if (this.#dropped.has(socket)) return;
    this.#dropped.set(socket, position);
    setImmediate(() => {
      this.#holdDropped();
    });
  }

  /** Ends the sockets on which no stream is open yet. */
  endUnauthenticated(): void {
    for (const socket of [...this.unauthenticated]) socket.end("shutting_down");
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
  #isHandling = false;

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
    this.#sockets.unauthenticated.add(this);
    if (this.#sockets.unauthenticated.size > UNAUTHENTICATED_MAX)
      this.#close(CLOSE_TRY_LATER, "too many connections are waiting for their token");
    else
      this.#timer = setTimeout(() => {
        this.#close(CLOSE_NO_TOKEN, "no token came");
      }, FIRST_MESSAGE_MS).unref();
  }

  message(text: string | undefined): void {
    const nowMs = this.#sockets.clock.monotonicMs();
    if (this.#isHandling || nowMs - this.#lastMessageAtMs < MESSAGE_INTERVAL_MS) {
      this.#close(CLOSE_TOO_MANY, "too many messages");
      return;
    }
    this.#lastMessageAtMs = nowMs;
    const request = text === undefined ? undefined : readFirstMessage(text);
    if (request === undefined) {
      this.#close(text === undefined ? CLOSE_UNSUPPORTED : CLOSE_MALFORMED, MESSAGE_FORM);
      return;
    }
    this.#isHandling = true;
    void this.#handle(request).finally(() => {
      this.#isHandling = false;
    });
  }

  drained(): void {
    this.#stream?.writable();
  }

  dropped(message: string): void {
    const [, id, isAboutStream] = /^\{"id":(\d+)(,"type")?/.exec(message) ?? [];
    // A heartbeat carries nothing but the position.
    this.#sockets.noteDropped(this, Number(id ?? 0) - (isAboutStream === undefined ? 1 : 0));
  }

  hold(position: number): void {
    this.#stream?.dropped(position);
    // The backlog may have drained meanwhile; then no `drained` call follows.
    if (this.#socket?.getBufferedAmount() === 0) this.#stream?.writable();
  }

  closed(): void {
    this.#socket = undefined;
    clearTimeout(this.#timer);
    this.#sockets.unauthenticated.delete(this);
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
    // The library calls the session's `closed` before `end` returns.
    this.#socket?.end(code, reason);
  }

  #begin({ principal, token, source }: AdmittedStream): void {
    clearTimeout(this.#timer);
    this.#sockets.unauthenticated.delete(this);
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

  async #handle(request: FirstMessage): Promise<void> {
    try {
      if (this.#principal === undefined) {
        const admitted = await this.#init.admitByMessage(request);
        if (this.#socket !== undefined) this.#begin(admitted);
      } else {
        await this.#prolong(request, this.#principal);
      }
    } catch (error) {
      if (error instanceof AppError)
        this.#close(error.status >= 500 ? CLOSE_TRY_LATER : CLOSE_PRIVATE + error.status, error.code);
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
