/**
 * The memory of one multi-scalar multiplication: sorted scalars, digits, and the sum of each part. Any number of
 * threads may work on one sum; they agree on the addresses because each computes them from the same count in the same
 * order. The work itself is in msm.ts.
 */
import { GROUP_ITEMS, treeRoomBytes } from "../point/point-tree.js";
import { BATCH_ITEMS, ONE_LEVEL, cheapestPlan, windowPlans } from "./window-plan.js";
import type { PointLevels, WindowPlan } from "./window-plan.js";
import type { Arena } from "../wasm/arena.js";
import type { Kernels } from "../kernels.js";

/** Addresses of the lists. `Msm.prepare` writes them, every part reads them. */
export interface MsmLists {
  /** Three words: kept scalars, scalars that are one or minus one, and 1 if the sum uses levels above the first. */
  readonly header: number;
  /** The levels of points that there is room for; a sum uses all or only the first, as its header says. */
  readonly levels: PointLevels;
  /** Index of each kept scalar, and the word of its point, level by level. */
  readonly kept: number;
  readonly sources: number;
  /** Words of the points whose scalar is one or minus one. */
  readonly ones: number;
  /** Signed digits of the kept scalars, window by window (buckets.ts). */
  readonly digits: number;
  /** Projective points: the sum of every window, then of every run of ones. */
  readonly values: number;
}

/** Of the header, for sums that share all lists but this one. */
export const MSM_HEADER_BYTES = 3 * Uint32Array.BYTES_PER_ELEMENT;
/** Points with scalar one or minus one that make a part: some ten milliseconds of work. */
export const ONES_PER_PART = 4 * GROUP_ITEMS;
/** Trees of this many windows exist at the same time: one and the two that fold it. */
const TREES_AT_ONCE = 3;
/** Narrower windows are handled several at a time, with as many buckets between them. */
const BATCHED_WINDOW_BITS = 15;
/** The narrowest window has two bits, and a scalar at most 256. */
const WINDOWS_MAX = 130;
/** Alignment, offsets, and the projective points of folded windows. */
const FIXED_SCRATCH_BYTES = 1 << 20;

/** Takes the lists of a sum of up to `count` points. */
export function takeMsmLists(
  kernels: Kernels,
  group: "g1" | "g2",
  arena: Arena,
  { count, levels = ONE_LEVEL }: { readonly count: number; readonly levels?: PointLevels },
): MsmLists {
  const [header, kept, sources, ones, digits, values] = listSizes(kernels, group, count, levels).map((bytes) =>
    arena.take(bytes),
  ) as [number, number, number, number, number, number];
  return { header, levels, kept, sources, ones, digits, values };
}

/** Returns the bytes of the lists, with alignment. */
export function msmListBytes(
  kernels: Kernels,
  group: "g1" | "g2",
  count: number,
  levels: PointLevels = ONE_LEVEL,
): number {
  const sizes = listSizes(kernels, group, count, levels);
  return sizes.reduce((sum, bytes) => sum + bytes, 64 * sizes.length);
}

/** Returns the bytes of scratch that a thread needs while it works on a part. */
export function msmScratchBytes(
  kernels: Kernels,
  group: "g1" | "g2",
  count: number,
  levels: PointLevels = ONE_LEVEL,
): number {
  const layout = kernels[group];
  const items = Math.max(BATCH_ITEMS, count * levels.count);
  return (
    treeRoomBytes(layout, items) +
    4 * items +
    bucketsMax(kernels, count, levels) * (layout.pointBytes + layout.projectiveBytes + 16) +
    FIXED_SCRATCH_BYTES
  );
}

/** Returns the bytes of workspace of a whole sum of up to `count` points on one thread, for any scalars. */
export function msmWorkspaceBytes(kernels: Kernels, group: "g1" | "g2", count: number): number {
  return msmListBytes(kernels, group, count) + msmScratchBytes(kernels, group, count);
}

/** Bound of the buckets of all trees that exist at the same time; fewer scalars take no wider windows. */
function bucketsMax(kernels: Kernels, count: number, levels: PointLevels): number {
  const widest = Math.max(...bestPlans(kernels, count, levels).map(({ windowBits }) => windowBits));
  return TREES_AT_ONCE << (Math.max(widest, BATCHED_WINDOW_BITS) - 1);
}

/** The plans of the full count with the first level alone and with all: fewer scalars may take either way. */
function bestPlans({ curve }: Kernels, count: number, levels: PointLevels): WindowPlan[] {
  return [ONE_LEVEL, levels].map((each) => cheapestPlan(windowPlans(curve.r, each), Math.max(1, count)));
}

function listSizes(kernels: Kernels, group: "g1" | "g2", count: number, levels: PointLevels): number[] {
  const words = 4 * Math.max(1, count);
  const windows = Math.max(...bestPlans(kernels, count, levels).map((plan) => plan.windows));
  // Fewer scalars may mean narrower windows, and so more digits than the full count has: half as many again covers
  // every step.
  const digits = 3 * count * windows;
  const values = (WINDOWS_MAX + Math.ceil(count / ONES_PER_PART)) * kernels[group].projectiveBytes;
  return [MSM_HEADER_BYTES, words, words * levels.count, words, digits, values];
}
