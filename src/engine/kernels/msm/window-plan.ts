/** Chooses the window of Pippenger's method by estimated cost. */
import { WINDOW_BITS_MAX } from "./buckets.js";

/**
 * Windows are handled together until they have this many points between them, so that small sums fill their batches
 * too.
 */
export const BATCH_ITEMS = 32_768;
/** Sets of at most this many buckets are summed one by one, without further folding. */
export const TAIL_SIZE = 16;
/**
 * Cost of a batch beside its additions (the inversion and the call), measured in additions. Only the window size
 * depends on it.
 */
const INVERSION_COST = 30;

export interface WindowPlan {
  readonly windowBits: number;
  /** Number of windows that hold every scalar up to half the order once the offset of `recode` is added. */
  readonly windows: number;
  readonly offset: bigint;
}

/** Returns the plans of all window sizes, for scalars of a group of this order. */
export function windowPlans(order: bigint): WindowPlan[] {
  const plans: WindowPlan[] = [];
  for (let windowBits = 2; windowBits <= WINDOW_BITS_MAX; windowBits += 1) {
    let windows = Math.floor(order.toString(2).length / windowBits) - 1;
    let offset: bigint;
    do {
      windows += 1;
      // 2^(windowBits - 1) in every window is half of (2^(windowBits * windows) - 1) / (2^windowBits - 1) digits 1.
      offset =
        (((1n << BigInt(windowBits * windows)) - 1n) / ((1n << BigInt(windowBits)) - 1n)) << BigInt(windowBits - 1);
    } while (order / 2n + offset >= 1n << BigInt(windowBits * windows));
    plans.push({ windowBits, windows, offset });
  }
  return plans;
}

/** Returns the plan of least estimated cost, in batched additions, for `count` scalars. */
export function cheapestPlan(plans: readonly WindowPlan[], count: number): WindowPlan {
  const costs = plans.map(({ windowBits, windows }) => {
    const buckets = 2 ** (windowBits - 1);
    const perBatch = Math.max(1, Math.floor(BATCH_ITEMS / count));
    const rounds = Math.log2(1 + count / buckets) + (buckets <= TAIL_SIZE ? 2 * buckets : 2 * TAIL_SIZE + windowBits);
    // Trees over the points take one addition less than there are points in each bucket; folding takes two per bucket.
    return windows * (count + buckets) + INVERSION_COST * rounds * Math.ceil(windows / perBatch);
  });
  const best = plans[costs.indexOf(Math.min(...costs))];
  if (best === undefined) throw new Error("there is no window plan");
  return best;
}
