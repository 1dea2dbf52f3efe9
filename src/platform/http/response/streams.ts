/**
 * The open streams of a server, over both transports: checks their tokens again and again, so that a stream ends soon
 * after its token expired or was revoked, and ends all streams when the server stops.
 */
import type { Principal } from "../../auth/principal.js";
import type { Clock } from "../../clock.js";
import type { Area } from "../../contract/route.js";
import type { StreamEnd } from "../../contract/stream.js";
import { AppError } from "../../errors.js";
import type { Authenticate } from "../request/caller.js";

export interface WatchedStream {
  readonly token: string;
  readonly area: Area;
  readonly principal: Principal;
  /** Throws `forbidden` when the principal may no longer listen. */
  readonly check: (principal: Principal) => void;
  readonly end: (reason: StreamEnd) => void;
}

export interface StreamsDependencies {
  readonly authenticate: Authenticate;
  readonly clock: Clock;
}

interface Watched {
  readonly streams: Set<WatchedStream>;
}

/** Each token is checked once in this time, the checks spread evenly over it; one takes 8 us. */
const CHECK_EVERY_MS = 4000;
const TICK_MS = 200;

export class Streams {
  readonly #dependencies: StreamsDependencies;
  /** By token, so that a thousand streams with one token need one check. */
  readonly #watched = new Map<string, Watched>();
  #remaining: Iterator<[string, Watched]> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;

  constructor(dependencies: StreamsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Watches a stream until the returned function is called. Ends it at once when the server is stopping. */
  add(stream: WatchedStream): () => void {
    const watched = this.#watched.get(stream.token) ?? { streams: new Set() };
    this.#watched.set(stream.token, watched);
    watched.streams.add(stream);
    this.#timer ??= setInterval(() => {
      this.#tick();
    }, TICK_MS).unref();
    if (this.#hasEnded)
      setImmediate(() => {
        stream.end("shutting_down");
      });
    return () => {
      watched.streams.delete(stream);
      if (watched.streams.size === 0 && this.#watched.get(stream.token) === watched) this.#watched.delete(stream.token);
      if (this.#watched.size === 0) this.#stopTimer();
    };
  }

  /** Ends every stream, and each that is added from now on. Returns how many there were. */
  endAll(): number {
    this.#hasEnded = true;
    this.#stopTimer();
    const open = [...this.#watched.values()].flatMap(({ streams }) => [...streams]);
    for (const stream of open) stream.end("shutting_down");
    return open.length;
  }

  #stopTimer(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#remaining = undefined;
  }

  #tick(): void {
    for (let left = Math.ceil((this.#watched.size * TICK_MS) / CHECK_EVERY_MS); left > 0; left -= 1) {
      this.#remaining ??= this.#watched.entries();
      const next = this.#remaining.next();
      if (next.done === true) {
        this.#remaining = undefined;
        return;
      }
      const [token, { streams }] = next.value;
      void this.#check(token, streams);
    }
  }

  async #check(token: string, streams: ReadonlySet<WatchedStream>): Promise<void> {
    const [first] = streams;
    if (first === undefined) return;
    try {
      const principal = await this.#dependencies.authenticate(token, first.area);
      first.check(principal);
    } catch (error) {
      for (const stream of [...streams]) stream.end(this.#reasonOf(error, stream.principal));
    }
  }

  #reasonOf(error: unknown, principal: Principal): StreamEnd {
    if (!(error instanceof AppError)) return "failed";
    if (error.code === "forbidden") return "forbidden";
    if (error.code !== "unauthorized") return "failed";
    return this.#dependencies.clock.nowMs() >= principal.expiresAtSec * 1000 ? "token_expired" : "token_revoked";
  }
}
