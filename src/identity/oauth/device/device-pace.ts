/**
 * How often a waiting device may ask (RFC 8628 section 3.5). A limit of this process that spares it work: with several
 * nodes a device could ask each of them that often, which harms nothing.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../platform/clock.js";
import { AppError } from "../../../platform/errors.js";

interface Pace {
  intervalMs: number;
  nextAtMs: number;
}

/** Seconds between two questions, as the device is told; also the default of the standard. */
export const DEVICE_INTERVAL_SEC = 5;
/** Seconds by which each question that comes too soon makes the interval longer. */
const SLOWER_BY_SEC = 5;
/** A network may hold a request back and let the next one through at once. */
const EARLY_TOLERANCE_MS = 500;
/** About 200 bytes each, so 2 MB. */
const DEVICES_MAX = 10_000;

export class DevicePace {
  readonly #clock: Clock;
  readonly #paces = new LRUCache<string, Pace>({ max: DEVICES_MAX });

  constructor(dependencies: { readonly clock: Clock }) {
    this.#clock = dependencies.clock;
  }

  /**
   * Counts one question of a device.
   * @param hash of its code
   * @throws slow_down when it came too soon; the interval is five seconds longer from then on
   */
  step(hash: string): void {
    const nowMs = this.#clock.nowMs();
    const pace = this.#paces.get(hash) ?? { intervalMs: DEVICE_INTERVAL_SEC * 1000, nextAtMs: -Infinity };
    const isTooSoon = nowMs < pace.nextAtMs - EARLY_TOLERANCE_MS;
    if (isTooSoon) pace.intervalMs += SLOWER_BY_SEC * 1000;
    pace.nextAtMs = nowMs + pace.intervalMs;
    this.#paces.set(hash, pace);
    if (isTooSoon)
      throw new AppError("slow_down", {
        message: `wait ${String(pace.intervalMs / 1000)} seconds between two questions`,
      });
  }
}
