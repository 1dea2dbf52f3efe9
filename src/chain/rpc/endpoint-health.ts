/** How one JSON-RPC URL fares: its state, how fast it answers, what failed, and when it may be asked again. */
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { AppError, ErrorCode } from "../../platform/errors.js";

/** `mismatch`: the node is of another chain. */
export type EndpointState = "untried" | "up" | "down" | "mismatch";

export interface EndpointHealth {
  readonly url: string;
  readonly state: EndpointState;
  /** Moving mean; null before the first answer. */
  readonly latencyMs: number | null;
  readonly requests: number;
  readonly failures: number;
  readonly lastError: { readonly code: ErrorCode; readonly message: string; readonly at: string } | null;
}

/** A change of an endpoint's state, in words. */
export interface EndpointNote {
  readonly timestamp: string;
  readonly message: string;
}

/** An endpoint began to fail, fails in another way, or answers again. */
export interface EndpointChange {
  readonly state: Exclude<EndpointState, "untried">;
  /** Why it fails. */
  readonly code?: ErrorCode;
}

/** Pause after the first failure, doubled after each further one. */
const FIRST_PAUSE_MS = 1_000;
const PAUSE_MAX_MS = 30_000;
/** Weight of the newest answer in the mean latency. */
const LATENCY_WEIGHT = 0.2;
const NOTES_MAX = 200;

export class EndpointHealthRecord {
  readonly #clock: Clock;
  readonly #onChange: (change: EndpointChange) => void;
  #state: EndpointState = "untried";
  #failuresInARow = 0;
  #readyAtMs = 0;
  #latencyMs: number | null = null;
  #requests = 0;
  #failures = 0;
  #lastError: EndpointHealth["lastError"] = null;
  readonly #notes: EndpointNote[] = [];

  constructor(onChange: (change: EndpointChange) => void, { clock }: { readonly clock: Clock }) {
    this.#onChange = onChange;
    this.#clock = clock;
  }

  /** False during the pause after a failure. */
  get isReady(): boolean {
    return this.#clock.monotonicMs() >= this.#readyAtMs;
  }

  get failuresInARow(): number {
    return this.#failuresInARow;
  }

  /** Oldest first. */
  get notes(): readonly EndpointNote[] {
    return this.#notes;
  }

  /** Returns the figures as they are now. */
  read(url: string): EndpointHealth {
    return {
      url,
      state: this.#state,
      latencyMs: this.#latencyMs,
      requests: this.#requests,
      failures: this.#failures,
      lastError: this.#lastError,
    };
  }

  /** Counts a request that is about to be sent. */
  countRequest(): void {
    this.#requests += 1;
  }

  /** Takes the duration of an answered request into the mean latency. */
  addLatency(ms: number): void {
    this.#latencyMs = this.#latencyMs === null ? ms : this.#latencyMs + LATENCY_WEIGHT * (ms - this.#latencyMs);
  }

  /** Records that the node answered as the right chain. */
  recover(chainId: number): void {
    const before = this.#state;
    this.#state = "up";
    this.#failuresInARow = 0;
    this.#readyAtMs = 0;
    if (before !== "up") this.addNote(`answers as chain ${String(chainId)}`);
    if (before === "down" || before === "mismatch") this.#onChange({ state: "up" });
  }

  /** Records a failure and begins a pause. */
  fail(error: AppError, state: "down" | "mismatch"): void {
    this.#failures += 1;
    this.#failuresInARow += 1;
    const before = this.#state;
    this.#state = state;
    if (before !== state) {
      this.addNote(error.message);
      this.#onChange({ state, code: error.code });
    }
    this.#lastError = { code: error.code, message: error.message, at: isoTimestamp(this.#clock.nowMs()) };
    const pauseMs = Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#failuresInARow - 1, 10));
    this.#readyAtMs = this.#clock.monotonicMs() + pauseMs;
  }

  /** Adds a note; the oldest is dropped when there are too many. */
  addNote(message: string): void {
    this.#notes.push({ timestamp: isoTimestamp(this.#clock.nowMs()), message });
    if (this.#notes.length > NOTES_MAX) this.#notes.shift();
  }
}
