/** Chooses the window of Pippenger's method by estimated cost, and the levels of points that are worth their memory. */
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
/** More levels save little, and each takes the memory of all points. */
const LEVELS_MAX = 8;
/** The points of larger sums leave the caches, which costs what their levels save (src/DECISIONS.md). */
export const LEVELLED_POINTS_MAX = 16_384;

/**
 * Points with their multiples beside them: level l has the points times 2^(l * bits), so that windows whose places
 * differ by a multiple of `bits` share their buckets (E. Brickell, D. Gordon, K. McCurley, D. Wilson, "Fast
 * Exponentiation with Precomputation", EUROCRYPT 1992).
 */
export interface PointLevels {
  readonly count: number;
  readonly bits: number;
}

/** The points alone. */
export const ONE_LEVEL: PointLevels = { count: 1, bits: 0 };

export interface WindowPlan {
  readonly windowBits: number;
  /** Number of windows that hold every scalar up to half the order once the offset of `recode` is added. */
  readonly windows: number;
  readonly offset: bigint;
  /** Sets of buckets: window w goes to set w mod `sets`, with the points of level w div `sets`. */
  readonly sets: number;
  /** Levels that windows use. */
  readonly levels: number;
}

/**
 * Returns the plans of all window sizes, for scalars of a group of this order and points with these levels. Those that
 * use the first level alone are always among them.
 */
export function windowPlans(order: bigint, levels: PointLevels = ONE_LEVEL): readonly WindowPlan[] {
  const ofOrder = knownPlans.get(order) ?? new Map<number, readonly WindowPlan[]>();
  knownPlans.set(order, ofOrder);
  const form = levels.bits * (LEVELS_MAX + 1) + levels.count;
  const plans = ofOrder.get(form) ?? makePlans(order, levels);
  ofOrder.set(form, plans);
  return plans;
}

/** What this thread has made, by the order and the form of the levels: a few hundred at most. */
const knownPlans = new Map<bigint, Map<number, readonly WindowPlan[]>>();

function makePlans(order: bigint, levels: PointLevels): WindowPlan[] {
  const plain = Array.from({ length: WINDOW_BITS_MAX - 1 }, (_, i) => plainPlan(order, i + 2));
  const levelled = plain.flatMap((plan) => {
    const sets = levels.bits / plan.windowBits;
    const used = Math.ceil(plan.windows / sets);
    return Number.isInteger(sets) && sets > 0 && used <= levels.count ? [{ ...plan, sets, levels: used }] : [];
  });
  return [...plain, ...levelled];
}

/** Returns the plan of least estimated cost, in batched additions, for `count` scalars. */
export function cheapestPlan(plans: readonly WindowPlan[], count: number): WindowPlan {
  const costs = plans.map((plan) => costOf(plan, count));
  const best = plans[costs.indexOf(Math.min(...costs))];
  if (best === undefined) throw new Error("there is no window plan");
  return best;
}

/**
 * Returns the levels with which sums of `count` points are cheapest.
 * @param levelsMax as many as there is memory for
 */
export function cheapestLevels(order: bigint, count: number, levelsMax: number): PointLevels {
  let best: { readonly levels: PointLevels; readonly cost: number } | undefined;
  const plain = windowPlans(order);
  for (let levels = 1; levels <= Math.min(levelsMax, LEVELS_MAX); levels += 1) {
    for (const plan of levels > 1 && count > LEVELLED_POINTS_MAX ? [] : plain) {
      const sets = Math.ceil(plan.windows / levels);
      const used = Math.ceil(plan.windows / sets);
      const cost = costOf({ ...plan, sets, levels: used }, count);
      if (cost < (best?.cost ?? Infinity))
        best = { cost, levels: used === 1 ? ONE_LEVEL : { count: used, bits: sets * plan.windowBits } };
    }
  }
  return best?.levels ?? ONE_LEVEL;
}

function plainPlan(order: bigint, windowBits: number): WindowPlan {
  let windows = Math.floor(order.toString(2).length / windowBits) - 1;
  let offset: bigint;
  do {
    windows += 1;
    // 2^(windowBits - 1) in every window is half of (2^(windowBits * windows) - 1) / (2^windowBits - 1) digits 1.
    offset =
      (((1n << BigInt(windowBits * windows)) - 1n) / ((1n << BigInt(windowBits)) - 1n)) << BigInt(windowBits - 1);
  } while (order / 2n + offset >= 1n << BigInt(windowBits * windows));
  return { windowBits, windows, offset, sets: windows, levels: 1 };
}

function costOf({ windowBits, windows, sets, levels }: WindowPlan, count: number): number {
  const buckets = 2 ** (windowBits - 1);
  const items = count * levels;
  const perBatch = Math.max(1, Math.floor(BATCH_ITEMS / items));
  const rounds = Math.log2(1 + items / buckets) + (buckets <= TAIL_SIZE ? 2 * buckets : 2 * TAIL_SIZE + windowBits);
  // Trees over the points take one addition less than there are points in each bucket; folding takes two per bucket.
  return windows * count + sets * buckets + INVERSION_COST * rounds * Math.ceil(sets / perBatch);
}
