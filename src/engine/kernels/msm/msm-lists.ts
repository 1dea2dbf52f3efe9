/**
 * The memory of one multi-scalar multiplication: sorted scalars, digits, and the sum of each part. Any number of
 * threads may work on one sum; they agree on the addresses because each computes them from the same count in the same
 * order. The work itself is in msm.ts.
 */
import { GROUP_ITEMS, treeRoomBytes } from "../point/point-tree.js";
import { BATCH_ITEMS, cheapestPlan, windowPlans } from "./window-plan.js";
import type { Arena } from "../wasm/arena.js";
import type { Kernels } from "../kernels.js";

/** Addresses of the lists. `Msm.prepare` writes them, every part reads them. */
export interface MsmLists {
  /** Number of kept scalars u32 || number of scalars that are one or minus one u32. */
  readonly header: number;
  /** Index of each kept scalar, and the word of its point. */
  readonly kept: number;
  readonly sources: number;
  /** Words of the points whose scalar is one or minus one. */
  readonly ones: number;
  /** Signed digits of the kept scalars, window by window (buckets.ts). */
  readonly digits: number;
  /** Projective points: the sum of every window, then of every run of ones. */
  readonly values: number;
}

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
export function takeMsmLists(kernels: Kernels, group: "g1" | "g2", arena: Arena, count: number): MsmLists {
  const [header, kept, sources, ones, digits, values] = listSizes(kernels, group, count).map((bytes) =>
    arena.take(bytes),
  ) as [number, number, number, number, number, number];
  return { header, kept, sources, ones, digits, values };
}

/** Returns the bytes of the lists, with alignment. */
export function msmListBytes(kernels: Kernels, group: "g1" | "g2", count: number): number {
  const sizes = listSizes(kernels, group, count);
  return sizes.reduce((sum, bytes) => sum + bytes, 64 * sizes.length);
}

/** Returns the bytes of scratch that a thread needs while it works on a part. */
export function msmScratchBytes(kernels: Kernels, group: "g1" | "g2", count: number): number {
  const layout = kernels[group];
  const items = Math.max(BATCH_ITEMS, count);
  return (
    treeRoomBytes(layout, items) +
    4 * items +
    bucketsMax(kernels, count) * (layout.pointBytes + layout.projectiveBytes + 16) +
    FIXED_SCRATCH_BYTES
  );
}

/** Returns the bytes of workspace of a whole sum of up to `count` points on one thread, for any scalars. */
export function msmWorkspaceBytes(kernels: Kernels, group: "g1" | "g2", count: number): number {
  return msmListBytes(kernels, group, count) + msmScratchBytes(kernels, group, count);
}

/** Bound of the buckets of all trees that exist at the same time; fewer scalars take no wider windows. */
function bucketsMax(kernels: Kernels, count: number): number {
  const { windowBits } = cheapestPlan(windowPlans(kernels.curve.r), Math.max(1, count));
  return TREES_AT_ONCE << (Math.max(windowBits, BATCHED_WINDOW_BITS) - 1);
}

function listSizes(kernels: Kernels, group: "g1" | "g2", count: number): number[] {
  const words = 4 * Math.max(1, count);
  const { windows } = cheapestPlan(windowPlans(kernels.curve.r), Math.max(1, count));
  // Fewer scalars may mean narrower windows, and so more digits than the full count has: half as many again covers
  // every step.
  const digits = 3 * count * windows;
  const values = (WINDOWS_MAX + Math.ceil(count / ONES_PER_PART)) * kernels[group].projectiveBytes;
  return [8, words, words, words, digits, values];
}
