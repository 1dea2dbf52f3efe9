/** Token buckets: limits how often one caller may send requests. */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../clock.js";
import type { Nodes } from "../../nodes/nodes.js";

export type RateKind = "read" | "write";

export interface RateLimiterOptions {
  readonly readsPerSec: number;
  readonly writesPerSec: number;
  /** Callers remembered at once, per kind; the longest idle one is evicted, and starts again with a full bucket. */
  readonly callersMax?: number;
}

/** An idle caller may send this many seconds' worth of requests at once. */
const BURST_SEC = 2;
/** About 100 bytes each. An attacker needs as many addresses or subjects to evict one that is still throttled. */
const CALLERS_MAX = 100_000;

interface Bucket {
  tokens: number;
  atMs: number;
}

export class RateLimiter {
  readonly #perSec: Readonly<Record<RateKind, number>>;
  readonly #clock: Clock;
  readonly #buckets: Readonly<Record<RateKind, LRUCache<string, Bucket>>>;

  readonly #nodes: Pick<Nodes, "serving">;

  constructor(
    options: RateLimiterOptions,
    dependencies: { readonly clock: Clock; readonly nodes?: Pick<Nodes, "serving"> },
  ) {
    const max = options.callersMax ?? CALLERS_MAX;
    this.#perSec = { read: options.readsPerSec, write: options.writesPerSec };
    this.#clock = dependencies.clock;
    this.#nodes = dependencies.nodes ?? { serving: 1 };
    // Bounded by size, not by `max`, which would take memory for all callers at the start.
    const bound = { maxSize: max, sizeCalculation: () => 1 };
    this.#buckets = { read: new LRUCache(bound), write: new LRUCache(bound) };
  }

  /** Counts a request. Returns 0 when the caller may go on, otherwise the seconds to wait. */
  take(caller: string, kind: RateKind): number {
    const perSec = this.#shareOf(kind);
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#bucketOf(caller, kind, nowMs);
    const earned = (Math.max(0, nowMs - bucket.atMs) / 1000) * perSec;
    bucket.tokens = Math.min(perSec * BURST_SEC, bucket.tokens + earned);
    bucket.atMs = nowMs;
    if (bucket.tokens < 1) return (1 - bucket.tokens) / perSec;
    bucket.tokens -= 1;
    return 0;
  }

  /** The nodes of a cluster share what a caller may do; each allows one request a second at least. */
  #shareOf(kind: RateKind): number {
    return Math.max(Math.min(1, this.#perSec[kind]), this.#perSec[kind] / this.#nodes.serving);
  }

  #bucketOf(caller: string, kind: RateKind, nowMs: number): Bucket {
    const buckets = this.#buckets[kind];
    const known = buckets.get(caller);
    if (known !== undefined) return known;
    const full: Bucket = { tokens: this.#shareOf(kind) * BURST_SEC, atMs: nowMs };
    buckets.set(caller, full);
    return full;
  }
}
