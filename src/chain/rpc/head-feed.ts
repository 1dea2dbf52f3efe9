/**
 * Hears from a node when its chain has a new block (`eth_subscribe`, newHeads) over a WebSocket. Nothing that comes is
 * read, let alone believed: each message is a hint that it is time to ask. Whoever listens must do without it, for a
 * feed may be silent, or lie.
 */
import type { Clock } from "../../platform/clock.js";
import type { Egress } from "../../platform/net/egress.js";
import { findJsonFault, parseJson } from "../../platform/json/json-scan.js";
import { openWebSocket, type WebSocketConnection } from "./web-socket.js";

export interface HeadFeedOptions {
  /** `wss:`, or `ws:` to a place that the operator listed. */
  readonly url: string;
  /** Pause after the first failure, doubled after each further one. 1,000 unless given. */
  readonly pauseMs?: number;
  /** Between two looks whether the node is still there. 20,000 unless given. */
  readonly pingMs?: number;
}

export interface HeadFeedDependencies {
  readonly egress: Egress;
  readonly clock: Clock;
  /** There may be a new block; at most once in HINTS_APART_MS. */
  readonly onHint: () => void;
}

const PAUSE_MS = 1_000;
const PAUSE_MAX_MS = 60_000;
/** A node that does not know the method will not learn it soon. */
const REFUSED_PAUSE_MS = 600_000;
const PING_MS = 20_000;
/**
 * A connection that held this long is no failure; one that is lost sooner, again and again, is opened less and less
 * often.
 */
const STEADY_MS = 60_000;
/** Faster chains are looked at in this step: a feed that never stops must not keep us busy. */
const HINTS_APART_MS = 100;
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
  readonly #with: HeadFeedDependencies;
  #connection: WebSocketConnection | undefined;
  #failures = 0;
  #pause: NodeJS.Timeout | undefined;
  #hint: NodeJS.Timeout | undefined;
  #hintedAtMs = -Infinity;
  #isClosed = false;

  /** Begins at once. */
  constructor({ url, pauseMs = PAUSE_MS, pingMs = PING_MS }: HeadFeedOptions, dependencies: HeadFeedDependencies) {
    this.url = url;
    this.#pauseMs = pauseMs;
    this.#pingMs = pingMs;
    this.#with = dependencies;
    void this.#run();
  }

  /** No hint comes after this. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#pause);
    clearTimeout(this.#hint);
    this.#connection?.close();
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { clock } = this.#with;
    const begunAtMs = clock.monotonicMs();
    const end = await this.#session().catch((): SessionEnd => "failed");
    if (this.#isClosed) return;
    this.#failures = end === "lost" && clock.monotonicMs() - begunAtMs >= STEADY_MS ? 1 : this.#failures + 1;
    const pauseMs =
      end === "refused"
        ? REFUSED_PAUSE_MS
        : Math.min(PAUSE_MAX_MS, this.#pauseMs * 2 ** Math.min(this.#failures - 1, 10));
    this.#pause = setTimeout(() => {
      void this.#run();
    }, pauseMs).unref();
  }

  /** One connection, until it is over. Rejects when it cannot be opened. */
  async #session(): Promise<SessionEnd> {
    const { egress, clock } = this.#with;
    let end: SessionEnd = "failed";
    let ended = (): void => undefined;
    const closed = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const connection = await openWebSocket(
      this.url,
      {
        onText: (text) => {
          if (end === "failed") {
            end = isRefusal(text) ? "refused" : "lost";
            if (end === "refused") connection.close();
          }
          if (end === "lost") this.#hinted();
        },
        onClosed: () => {
          ended();
        },
      },
      { egress, clock },
    );
    this.#connection = connection;
    // Closed while it was opened.
    if (this.#isClosed) connection.close();
    const timer = setInterval(() => {
      if (clock.monotonicMs() - connection.heardAtMs >= 2 * this.#pingMs) connection.close();
      else connection.ping();
    }, this.#pingMs).unref();
    connection.send(SUBSCRIBE);
    await closed;
    clearInterval(timer);
    this.#connection = undefined;
    return end;
  }

  #hinted(): void {
    if (this.#isClosed || this.#hint !== undefined) return;
    const waitMs = this.#hintedAtMs + HINTS_APART_MS - this.#with.clock.monotonicMs();
    if (waitMs <= 0) {
      this.#tell();
      return;
    }
    this.#hint = setTimeout(() => {
      this.#hint = undefined;
      this.#tell();
    }, Math.ceil(waitMs)).unref();
  }

  #tell(): void {
    this.#hintedAtMs = this.#with.clock.monotonicMs();
    this.#with.onHint();
  }
}

/** Whether the first answer is anything but that the subscription was made. */
function isRefusal(text: string): boolean {
  const bytes = Buffer.from(text, "utf8");
  if (findJsonFault(bytes, JSON_LIMITS) !== undefined) return true;
  const reply = parseJson(bytes);
  return typeof reply !== "object" || reply === null || !("result" in reply) || typeof reply.result !== "string";
}
