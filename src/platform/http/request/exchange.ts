/**
 * One request and its answer, from the first byte to the last. Guards the response: once it is answered or the client
 * is gone, nothing touches it again (the library ends the process for less).
 */
import type { BoundRoute } from "../../contract/route.js";
import type { RouteValidator } from "../../contract/validate.js";
import type { Principal } from "../../auth/principal.js";
import type { JsonLimits } from "../../json/json-scan.js";
import type { RequestHead } from "./request-head.js";
import type { RawResponse, UpgradeOffer } from "../uws.js";

/** A route with everything that can be worked out before the first request. */
export interface CompiledRoute extends BoundRoute {
  readonly validator: RouteValidator;
  /** Throws `forbidden`; absent on public routes. */
  readonly check?: (principal: Principal) => void;
  readonly bodyBytesMax: number;
  readonly jsonLimits: JsonLimits;
  readonly deadlineMs: number;
  /** Answers must not be kept by caches: they belong to the vault or to identity. */
  readonly noStore: boolean;
}

/**
 * `open`: no answer yet. `sending`: its head is out, its body is on the way. `done`: answered, or the client is gone.
 */
type ExchangeState = "open" | "sending" | "done";

export interface ExchangeOptions {
  readonly response: RawResponse;
  readonly head: RequestHead;
  readonly requestId: string;
  readonly address: string;
  readonly startedMs: number;
  readonly deadlineAtMs: number;
  /** The request may become a WebSocket. */
  readonly upgrade?: UpgradeOffer | undefined;
  /** Called once, when the exchange is done. */
  readonly onDone: (exchange: Exchange) => void;
}

export class Exchange {
  readonly response: RawResponse;
  readonly head: RequestHead;
  readonly requestId: string;
  readonly address: string;
  readonly startedMs: number;
  readonly upgrade: UpgradeOffer | undefined;
  deadlineAtMs: number;
  /** When the reader of a long answer last took something. */
  progressAtMs = 0;
  route: CompiledRoute | undefined;
  principal: Principal | undefined;
  /** `user:<uuid>` for the log. */
  subject: string | undefined;
  /** Where it stands among those in flight, while it is. */
  slot: number | undefined;
  /** Status of the answer; 0 when the client left before there was one. */
  status = 0;
  #state: ExchangeState = "open";
  #abort: AbortController | undefined;
  #aborted = false;
  #onClosed: (() => void) | undefined;
  readonly #onDone: (exchange: Exchange) => void;

  constructor(options: ExchangeOptions) {
    this.response = options.response;
    this.head = options.head;
    this.requestId = options.requestId;
    this.address = options.address;
    this.startedMs = options.startedMs;
    this.deadlineAtMs = options.deadlineAtMs;
    this.upgrade = options.upgrade;
    this.#onDone = options.onDone;
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  get isSending(): boolean {
    return this.#state === "sending";
  }

  get isHead(): boolean {
    return this.head.method === "HEAD";
  }

  /** Made on first use: most handlers never look. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#aborted) this.#abort.abort();
    return this.#abort.signal;
  }

  /** The answer's head goes out now; its body follows in pieces. */
  startSending(status: number, nowMs: number): void {
    this.status = status;
    this.progressAtMs = nowMs;
    this.#state = "sending";
  }

  /**
   * Runs the callback at the end of the exchange, whichever way it ends. One at a time: first whoever waits for the
   * request's body, later whoever sends the answer's.
   */
  whenClosed(callback: () => void): void {
    this.#onClosed = callback;
  }

  /** The last byte of the answer was handed to the socket. */
  finish(status: number): void {
    this.status = status;
    this.#end();
  }

  /** Nobody waits for the work any more. */
  abort(): void {
    this.#aborted = true;
    this.#abort?.abort();
  }

  /** The connection is closed; the response is void from here on. */
  clientGone(): void {
    this.#end();
    this.abort();
  }

  #end(): void {
    if (this.#state === "done") return;
    this.#state = "done";
    this.#onClosed?.();
    this.#onDone(this);
  }
}
