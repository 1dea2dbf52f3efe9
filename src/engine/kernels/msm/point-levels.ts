/**
 * Writes the multiples of points that let windows of a sum share their buckets (window-plan.ts): each level is the one
 * before, doubled again and again. All points take the same steps, so that every step is one batch.
 */
import { align } from "../wasm/arena.js";
import type { Arena } from "../wasm/arena.js";
import type { Kernels } from "../kernels.js";
import { LIST_ENTRY_BYTES } from "../point/batch-layout.js";
import { scratchBytesFor } from "../wasm/scratch-bytes.js";
import type { PointLevels } from "./window-plan.js";

/** Points that go through together: enough to pay for the inversions, few enough for the second-level cache. */
const POINTS_AT_ONCE = 1024;

/** Finite points in a kernel memory, with room for all their levels behind them. */
export interface LevelledPoints {
  readonly points: number;
  readonly count: number;
  readonly levels: PointLevels;
}

/** A run of points of one level: some milliseconds of work in G1, some ten in G2. */
export interface LevelStep {
  readonly level: number;
  /** Number of the run's first point. */
  readonly from: number;
}

/** Doubles a run of points, at most POINTS_AT_ONCE, so many times. */
type Doubler = (source: number, target: number, count: number) => void;

/** Returns the steps that write all levels above the first, in an order in which they may be taken. */
export function levelSteps({ count, levels }: Omit<LevelledPoints, "points">): LevelStep[] {
  const runs = Array.from({ length: Math.ceil(count / POINTS_AT_ONCE) }, (_, i) => i * POINTS_AT_ONCE);
  return runs.flatMap((from) => Array.from({ length: levels.count - 1 }, (_, i) => ({ from, level: i + 1 })));
}

/** Returns the bytes of scratch that a step takes. */
export function levelScratchBytes(kernels: Kernels, group: "g1" | "g2"): number {
  return scratchSizes(kernels, group).reduce((sum, bytes) => sum + align(bytes), 0);
}

/**
 * Writes what one step names.
 * @param scratch with `levelScratchBytes`
 */
export function writeLevel(
  kernels: Kernels,
  group: "g1" | "g2",
  { of: { points, count, levels }, step: { level, from } }: { readonly of: LevelledPoints; readonly step: LevelStep },
  scratch: Arena,
): void {
  const { pointBytes } = kernels[group];
  scratch.scoped(() => {
    const double = group === "g1" ? byRows(kernels, levels.bits, scratch) : byLists(kernels, levels.bits, scratch);
    const target = points + (level * count + from) * pointBytes;
    double(target - count * pointBytes, target, Math.min(POINTS_AT_ONCE, count - from));
  });
}

/** By the steps that multiply points by one number (point/point-multiples.ts). */
function byRows(kernels: Kernels, bits: number, scratch: Arena): Doubler {
  const { pointBytes } = kernels.g1;
  const { itemsPerStep } = kernels.rows.scratch;
  const [affine, x, y, room] = takeScratch(kernels, "g1", scratch);
  const copy = (target: number, source: number, count: number): void => {
    kernels.bytes(target, count * pointBytes).set(kernels.bytes(source, count * pointBytes));
  };
  return (source, target, count) => {
    copy(affine, source, count);
    const padded = Math.ceil(count / itemsPerStep) * itemsPerStep;
    for (let i = count; i < padded; i += 1) copy(affine + i * pointBytes, source, 1);
    const bytes = (padded * pointBytes) / 2;
    kernels.call("g1_row_from_points", affine, x, y, bytes);
    for (let bit = 0; bit < bits; bit += 1) kernels.call("g1_row_double", x, y, bytes, room);
    kernels.call("g1_row_to_points", affine, x, y, bytes, 0);
    copy(target, affine, count);
  };
}

/** By lists of additions, of each point to itself. */
function byLists(kernels: Kernels, bits: number, scratch: Arena): Doubler {
  const { pointBytes } = kernels.g2;
  const [list, room] = takeScratch(kernels, "g2", scratch);
  return (source, target, count) => {
    kernels.bytes(target, count * pointBytes).set(kernels.bytes(source, count * pointBytes));
    const words = kernels.words(list, (count * LIST_ENTRY_BYTES) / Uint32Array.BYTES_PER_ELEMENT);
    for (let i = 0; i < count; i += 1) words.fill(target + i * pointBytes, 3 * i, 3 * i + 3);
    for (let bit = 0; bit < bits; bit += 1) kernels.addBatch("g2", list, count, room);
  };
}

/** Affine points, their coordinates in rows and the rows' scratch; or a list and the scratch of its additions. */
function scratchSizes(kernels: Kernels, group: "g1" | "g2"): number[] {
  if (group === "g2") {
    const { batchScratch, entriesPerStep } = kernels.g2;
    const entries = POINTS_AT_ONCE + entriesPerStep;
    return [entries * LIST_ENTRY_BYTES, scratchBytesFor(batchScratch, entries)];
  }
  const items = POINTS_AT_ONCE + kernels.rows.scratch.itemsPerStep;
  const points = items * kernels.g1.pointBytes;
  return [points, points / 2, points / 2, scratchBytesFor(kernels.rows.scratch, items)];
}

function takeScratch(kernels: Kernels, group: "g1" | "g2", scratch: Arena): [number, number, number, number] {
  const [first = 0, second = 0, third = 0, fourth = 0] = scratchSizes(kernels, group).map((bytes) =>
    scratch.take(bytes),
  );
  return [first, second, third, fourth];
}
