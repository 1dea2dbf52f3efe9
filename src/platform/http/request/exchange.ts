/**
 * One request and its answer, from the first byte to the last. Guards the response: touching it after the answer or
 * after the client left can make the library end the process.
 */
import type { Principal } from "../../auth/principal.js";
import type { RouteSpec } from "../../contract/route.js";
import type { CompiledRoute } from "../compiled-route.js";
import type { RequestHead } from "./request-head.js";
import type { RawResponse, UpgradeOffer } from "../drivers/driver.js";

/**
 * `open`: no answer yet. `sending`: its head is out, its body is on the way. `done`: answered, or the client is gone.
 */
type ExchangeState = "open" | "sending" | "done";

/** A request's body while it comes in. */
export interface IncomingBody {
  /** Its last byte has come: the next byte of the connection is the next request's. */
  readonly isRead: boolean;
  /** True when its sender is too slow. */
  isStalled(nowMs: number): boolean;
  /** Gives up collecting it. */
  abandon(): void;
}

export interface ExchangeOptions {
  readonly response: RawResponse;
  readonly head: RequestHead;
  readonly requestId: string;
  readonly address: string;
  readonly startedMs: number;
  readonly deadlineAtMs: number;
  /** The request may become a WebSocket. */
  readonly upgrade?: UpgradeOffer | undefined;
  /** See Exchange. */
  readonly position?: (() => number) | undefined;
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
  /** Collects the request's body, where there is one and its route is known. */
  body: IncomingBody | undefined;
  /** Its answer is the last one of the connection, which is closed behind it. */
  endsConnection: boolean;
  /** Monotonic time at which the reader of a long answer last took something. */
  progressAtMs = 0;
  route: CompiledRoute | undefined;
  /** Members that a refusal carries without a route: those of the route that its malformed path was meant for. */
  errorMembers: RouteSpec["errorMembers"];
  principal: Principal | undefined;
  /** In a node of a cluster: number of the last commit that the answer has seen. */
  readonly position: (() => number) | undefined;
  /** `user:<uuid>` for the log. */
  subject: string | undefined;
  /** Called at the end, where the request is traced. */
  endTrace: (() => void) | undefined;
  /** Index in the list of requests in flight, while it is one of them. */
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
    this.position = options.position;
    this.endsConnection = options.head.endsConnection;
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

  /** Aborted when the work is no longer wanted. Created on first use: most handlers never read it. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#aborted) this.#abort.abort();
    return this.#abort.signal;
  }

  /** Notes that the answer's head goes out now and its body follows in pieces. */
  startSending(status: number, nowMs: number): void {
    this.status = status;
    this.progressAtMs = nowMs;
    this.#state = "sending";
  }

  /** Runs the callback at the end of the exchange, whichever way it ends. A later callback replaces the earlier one. */
  whenClosed(callback: () => void): void {
    this.#onClosed = callback;
  }

  /** Ends the exchange: the last byte of the answer was handed to the socket. */
  finish(status: number): void {
    this.status = status;
    this.#end();
  }

  /** Aborts the work: no answer of it will be sent. */
  abort(): void {
    this.#aborted = true;
    this.#abort?.abort();
  }

  /** Ends the exchange because the connection is closed; the response must not be touched from here on. */
  clientGone(): void {
    if (this.#state === "done") return;
    this.#end();
    this.abort();
  }

  /** Ends the exchange and its connection: the last byte of the last answer was handed to the socket. */
  finishAndClose(): void {
    if (this.#state === "done") return;
    this.finish(this.status);
    this.response.close();
  }

  /** Closes the connection, cutting a body short, unless the exchange is done. */
  closeUnlessDone(): void {
    if (this.#state !== "done") this.response.close();
  }

  #end(): void {
    if (this.#state === "done") return;
    this.#state = "done";
    this.body?.abandon();
    this.#onClosed?.();
    this.#onDone(this);
  }
}
