/** Token buckets: how often one caller may ask. Pure but for the clock that it is given. */
import type { Clock } from "../../clock.js";

export type RateKind = "read" | "write";

export interface RateLimiterOptions {
  readonly readsPerSec: number;
  readonly writesPerSec: number;
  /** Callers remembered at once; past it the longest idle is forgotten, which gives it a full bucket. */
  readonly callersMax?: number;
}

/** A pause lets this many seconds' worth of requests come at once. */
const BURST_SEC = 2;
/** About 100 bytes each. */
const CALLERS_MAX = 100_000;

interface Bucket {
  tokens: number;
  atMs: number;
}

export class RateLimiter {
  readonly #perSec: Readonly<Record<RateKind, number>>;
  readonly #callersMax: number;
  readonly #clock: Clock;
  /** In order of last use: the first is the longest idle. */
  readonly #buckets: Readonly<Record<RateKind, Map<string, Bucket>>> = { read: new Map(), write: new Map() };

  constructor(options: RateLimiterOptions, dependencies: { clock: Clock }) {
    this.#perSec = { read: options.readsPerSec, write: options.writesPerSec };
    this.#callersMax = options.callersMax ?? CALLERS_MAX;
    this.#clock = dependencies.clock;
  }

  /** 0 when the caller may go on, else the seconds until it may. */
  take(caller: string, kind: RateKind): number {
    const perSec = this.#perSec[kind];
    const buckets = this.#buckets[kind];
    const nowMs = this.#clock.monotonicMs();
    const bucket = buckets.get(caller) ?? { tokens: perSec * BURST_SEC, atMs: nowMs };
    const earned = (Math.max(0, nowMs - bucket.atMs) / 1000) * perSec;
    bucket.tokens = Math.min(perSec * BURST_SEC, bucket.tokens + earned);
    bucket.atMs = nowMs;
    buckets.delete(caller);
    buckets.set(caller, bucket);
    if (buckets.size > this.#callersMax) this.#forgetOldest(buckets);
    if (bucket.tokens < 1) return (1 - bucket.tokens) / perSec;
    bucket.tokens -= 1;
    return 0;
  }

  #forgetOldest(buckets: Map<string, Bucket>): void {
    for (const caller of buckets.keys()) {
      buckets.delete(caller);
      return;
    }
  }
}
