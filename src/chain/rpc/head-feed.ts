/**
 * Receives a hint from a node when its chain has a new block (`eth_subscribe`, newHeads) over a WebSocket. The messages
 * are not read, let alone trusted: each is a hint that it is time to ask. Listeners must also work without hints,
 * because a feed may be silent or wrong.
 */
import type { Clock } from "../../platform/clock.js";
import type { Egress } from "../../platform/net/egress.js";
import { findJsonFault, parseJson } from "../../platform/json/json-scan.js";
import { openWebSocket, type WebSocketConnection } from "./web-socket.js";

export interface HeadFeedOptions {
  /** `wss:`, or `ws:` to a host that the operator allowed. */
  readonly url: string;
  /** Pause after the first failure, doubled after each further one. 1,000 unless given. */
  readonly pauseMs?: number;
  /** Interval of pings; a node that is silent for two of them is disconnected. 20,000 unless given. */
  readonly pingMs?: number;
}

export interface HeadFeedDependencies {
  readonly egress: Egress;
  readonly clock: Clock;
  /** Called when there may be a new block; at most once in HINT_INTERVAL_MS. */
  readonly onHint: () => void;
}

const PAUSE_MS = 1_000;
const PAUSE_MAX_MS = 60_000;
/** A node that does not have the method will hardly have it soon. */
const REFUSED_PAUSE_MS = 600_000;
const PING_MS = 20_000;
/** A connection that held this long is no failure. One that is lost sooner again and again is opened less often. */
const STEADY_MS = 60_000;
/** Hints of faster chains are combined, so that a feed that never stops cannot keep the server busy. */
const HINT_INTERVAL_MS = 100;
const SUBSCRIBE = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newHeads"] });
const JSON_LIMITS = { depthMax: 8, tokensMax: 1_000, keyBytesMax: 256, numberBytesMax: 80 };

/**
 * How a connection ended: `refused` by the node, which knows no such subscription, `lost` after it had begun, or
 * `failed` before.
 */
type SessionEnd = "refused" | "lost" | "failed";

export class HeadFeed {
  readonly url: string;
  readonly #pauseMs: number;
  readonly #pingMs: number;
  readonly #dependencies: HeadFeedDependencies;
  #connection: WebSocketConnection | undefined;
  #failures = 0;
  #reconnectTimer: NodeJS.Timeout | undefined;
  #hintTimer: NodeJS.Timeout | undefined;
  #hintedAtMs = -Infinity;
  #isClosed = false;

  /** Connects at once. */
  constructor({ url, pauseMs = PAUSE_MS, pingMs = PING_MS }: HeadFeedOptions, dependencies: HeadFeedDependencies) {
    this.url = url;
    this.#pauseMs = pauseMs;
    this.#pingMs = pingMs;
    this.#dependencies = dependencies;
    void this.#run();
  }

  /** Ends the feed; no hint comes after this. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#reconnectTimer);
    clearTimeout(this.#hintTimer);
    this.#connection?.close();
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { clock } = this.#dependencies;
    const begunAtMs = clock.monotonicMs();
    const end = await this.#session().catch((): SessionEnd => "failed");
    if (this.#isClosed) return;
    this.#failures = end === "lost" && clock.monotonicMs() - begunAtMs >= STEADY_MS ? 1 : this.#failures + 1;
    const pauseMs =
      end === "refused"
        ? REFUSED_PAUSE_MS
        : Math.min(PAUSE_MAX_MS, this.#pauseMs * 2 ** Math.min(this.#failures - 1, 10));
    this.#reconnectTimer = setTimeout(() => {
      void this.#run();
    }, pauseMs).unref();
  }

  /** Opens one connection and waits until it is over. Rejects when it cannot be opened. */
  async #session(): Promise<SessionEnd> {
    const { egress, clock } = this.#dependencies;
    let end: SessionEnd = "failed";
    let resolveClosed = (): void => undefined;
    const closed = new Promise<void>((resolve) => {
      resolveClosed = resolve;
    });
    const connection = await openWebSocket(
      this.url,
      {
        onText: (text) => {
          if (end === "failed") {
            end = isRefusal(text) ? "refused" : "lost";
            if (end === "refused") connection.close();
          }
          if (end === "lost") this.#onMessage();
        },
        onClosed: () => {
          resolveClosed();
        },
      },
      { egress, clock },
    );
    this.#connection = connection;
    // The feed was closed while the connection was opened.
    if (this.#isClosed) connection.close();
    const timer = setInterval(() => {
      if (clock.monotonicMs() - connection.receivedAtMs >= 2 * this.#pingMs) connection.close();
      else connection.ping();
    }, this.#pingMs).unref();
    connection.send(SUBSCRIBE);
    await closed;
    clearInterval(timer);
    this.#connection = undefined;
    return end;
  }

  #onMessage(): void {
    if (this.#isClosed || this.#hintTimer !== undefined) return;
    const waitMs = this.#hintedAtMs + HINT_INTERVAL_MS - this.#dependencies.clock.monotonicMs();
    if (waitMs <= 0) {
      this.#callBack();
      return;
    }
    this.#hintTimer = setTimeout(() => {
      this.#hintTimer = undefined;
      this.#callBack();
    }, Math.ceil(waitMs)).unref();
  }

  #callBack(): void {
    this.#hintedAtMs = this.#dependencies.clock.monotonicMs();
    this.#dependencies.onHint();
  }
}

/** True when the first answer does not confirm the subscription. */
function isRefusal(text: string): boolean {
  const bytes = Buffer.from(text, "utf8");
  if (findJsonFault(bytes, JSON_LIMITS) !== undefined) return true;
  const reply = parseJson(bytes);
  return typeof reply !== "object" || reply === null || !("result" in reply) || typeof reply.result !== "string";
}
