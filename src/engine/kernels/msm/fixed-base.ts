/**
 * Multiples of one fixed point by many scalars, with a table of signed windows: most of the work of a trusted setup.
 * Each product is a list of table points, and the lists are summed by the trees of point/point-tree.ts. Its time
 * depends on the scalars: run it only where its time cannot be measured by others.
 */
import { recodeScratchBytes } from "./buckets.js";
import { LIST_ENTRY_BYTES } from "../point/batch-layout.js";
import { GROUP_ITEMS, PointTrees } from "../point/point-tree.js";
import { windowPlans } from "./window-plan.js";
import { scratchBytesFor } from "../wasm/scratch-bytes.js";
import type { Arena } from "../wasm/arena.js";
import type { GroupLayout } from "../kernel-module.js";
import type { Kernels } from "../kernels.js";
import type { WindowPlan } from "./window-plan.js";

/** Scalars handled together: their lists fill several groups of a tree. */
const CHUNK_SCALARS = 4096;
/** A table of half-windows beyond this leaves the caches and gains nothing. */
const HALF_WINDOW_MAX = 4096;
/** Alignment, the offset and single points. */
const FIXED_BYTES = 1 << 16;

/** A table of multiples of one point, in an arena of the kernels' memory. */
export class FixedBase {
  readonly #kernels: Kernels;
  readonly #group: "g1" | "g2";
  readonly #layout: GroupLayout;
  readonly #arena: Arena;
  readonly #plan: WindowPlan;
  /** Entry d - 1 of window w is d * 2^(windowBits * w) * point. */
  readonly #table: number;

  /**
   * Takes room for the table in the arena and fills it.
   * @param point address of the affine point, finite.
   * @param expectedCount number of scalars that the table will be used for; it decides the width of the windows.
   */
  constructor(
    kernels: Kernels,
    group: "g1" | "g2",
    arena: Arena,
    options: { readonly point: number; readonly expectedCount: number },
  ) {
    this.#kernels = kernels;
    this.#group = group;
    this.#layout = kernels[group];
    this.#arena = arena;
    this.#plan = tablePlan(kernels.curve.r, options.expectedCount);
    this.#table = arena.take(this.#plan.windows * this.#half * this.#layout.pointBytes);
    this.#fillTable(options.point);
  }

  /**
   * Writes scalar_i * point in the form of zkey files: affine, Montgomery form, little-endian, infinity as zeros. Wipes
   * the scalars and their digits from the memory.
   * @param scalars little-endian, `frBytes` each, below the order.
   */
  multiply(scalars: Uint8Array, output: Uint8Array): void {
    const scalarBytes = this.#kernels.fr.bytes;
    const pointBytes = this.#coordinates * this.#kernels.fq.bytes;
    const count = scalars.length / scalarBytes;
    if (!Number.isInteger(count) || output.length !== count * pointBytes)
      throw new RangeError("scalars and output differ in number");
    for (let from = 0; from < count; from += CHUNK_SCALARS) {
      const size = Math.min(CHUNK_SCALARS, count - from);
      this.#multiplyChunk(
        scalars.subarray(from * scalarBytes, (from + size) * scalarBytes),
        output.subarray(from * pointBytes, (from + size) * pointBytes),
      );
    }
  }

  #multiplyChunk(scalars: Uint8Array, output: Uint8Array): void {
    const kernels = this.#kernels;
    const arena = this.#arena;
    const layout = this.#layout;
    const count = scalars.length / kernels.fr.bytes;
    arena.scoped(() => {
      const scalarsAddress = arena.take(scalars.length);
      const [kept, sources, ones] = [0, 0, 0].map(() => arena.take(4 * count)) as [number, number, number];
      const results = arena.take(count * layout.pointBytes);
      try {
        kernels.bytes(scalarsAddress, scalars.length).set(scalars);
        // With "points" two bytes apart from address 0, a point word is twice the number of the scalar, plus its sign.
        const [keptCount, onesCount] = kernels.callPair(
          "classify",
          scalarsAddress,
          0,
          0,
          2,
          count,
          kept,
          sources,
          ones,
        );
        for (let i = 0; i < count; i += 1) this.#copyResult(results, i, 0);
        for (const word of kernels.words(ones, onesCount))
          this.#copyResult(results, word >>> 1, this.#table | (word & 1));
        if (keptCount > 0) this.#multiplyKept(results, { scalars: scalarsAddress, kept, sources, count: keptCount });
        const bytes = arena.take(output.length);
        kernels.call("fq_export_foreign", bytes, results, count * this.#coordinates);
        output.set(kernels.bytes(bytes, output.length));
      } finally {
        kernels.bytes(scalarsAddress, scalars.length).fill(0);
      }
    });
  }

  #multiplyKept(results: number, input: { scalars: number; kept: number; sources: number; count: number }): void {
    const kernels = this.#kernels;
    const arena = this.#arena;
    const plan = this.#plan;
    const layout = this.#layout;
    const { count } = input;
    const digitsAddress = arena.take(2 * count * plan.windows);
    const offset = arena.take(kernels.fr.bytes + 8);
    kernels.writeInteger(offset, plan.offset, kernels.fr.bytes + 8);
    const scratchBytes = recodeScratchBytes(kernels.fr.bytes);
    const scratch = arena.take(scratchBytes);
    kernels.call(
      "recode",
      input.scalars,
      input.kept,
      count,
      digitsAddress,
      plan.windowBits,
      plan.windows,
      offset,
      scratch,
    );
    const digits = new Int16Array(kernels.memory.buffer, digitsAddress, count * plan.windows);
    const sources = kernels.words(input.sources, count);
    const items = arena.take(4 * count * plan.windows);
    const trees = new PointTrees(kernels, this.#group, arena);
    const tree = trees.create(count, items);
    const words = kernels.words(items, count * plan.windows);
    let next = 0;
    for (let i = 0; i < count; i += 1) {
      const sign = (sources[i] ?? 0) & 1;
      tree.starts[i] = next;
      for (let w = 0; w < plan.windows; w += 1) {
        const digit = digits[w * count + i] ?? 0;
        if (digit === 0) continue;
        const entry = this.#table + (w * this.#half + Math.abs(digit) - 1) * layout.pointBytes;
        words[next] = entry | ((digit < 0 ? 1 : 0) ^ sign);
        next += 1;
      }
      tree.counts[i] = next - (tree.starts[i] ?? 0);
    }
    trees.sum(tree);
    for (let i = 0; i < count; i += 1) this.#copyResult(results, (sources[i] ?? 0) >>> 1, trees.resultWord(tree, i));
    digits.fill(0);
    kernels.bytes(scratch, scratchBytes).fill(0);
  }

  #copyResult(results: number, index: number, word: number): void {
    this.#kernels.call(`${this.#group}_copy_for_export`, results + index * this.#layout.pointBytes, word);
  }

  /**
   * First entries by doubling, then each row from its own beginning: entry n + i is entry n plus entry i, all rows side
   * by side.
   */
  #fillTable(point: number): void {
    const kernels = this.#kernels;
    const arena = this.#arena;
    const plan = this.#plan;
    const layout = this.#layout;
    const half = this.#half;
    const entry = (w: number, d: number): number => this.#table + (w * half + d - 1) * layout.pointBytes;
    arena.scoped(() => {
      const base = arena.take(layout.projectiveBytes);
      const affineScratch = arena.take(layout.affineScratchBytes);
      kernels.call(`${this.#group}_to_projective`, base, point);
      for (let w = 0; w < plan.windows; w += 1) {
        kernels.call(`${this.#group}_to_affine`, entry(w, 1), base, affineScratch);
        kernels.call(`${this.#group}_double_point`, base, plan.windowBits);
      }
      const entriesMax = Math.max(1, half / 2) + layout.entriesPerStep;
      const list = arena.take(entriesMax * LIST_ENTRY_BYTES);
      const scratch = arena.take(scratchBytesFor(layout.batchScratch, entriesMax));
      for (let n = 1; n < half; n *= 2) {
        for (let w = 0; w < plan.windows; w += 1) {
          const words = kernels.words(list, 3 * n);
          for (let i = 1; i <= n; i += 1) words.set([entry(w, n), entry(w, i), entry(w, n + i)], 3 * (i - 1));
          kernels.addBatch(this.#group, list, n, scratch);
        }
      }
    });
  }

  get #half(): number {
    return 2 ** (this.#plan.windowBits - 1);
  }

  get #coordinates(): number {
    return this.#group === "g1" ? 2 : 4;
  }
}

/** Returns the bytes of a table for `expectedCount` scalars and of what `multiply` needs beside it. */
export function fixedBaseBytes(kernels: Kernels, group: "g1" | "g2", expectedCount: number): number {
  const points = kernels[group];
  const { pointBytes } = points;
  const { windows, windowBits } = tablePlan(kernels.curve.r, expectedCount);
  const half = 2 ** (windowBits - 1);
  const entriesMax = Math.max(half, GROUP_ITEMS) / 2 + points.entriesPerStep;
  const batch = entriesMax * LIST_ENTRY_BYTES + scratchBytesFor(points.batchScratch, entriesMax);
  // Per scalar: itself, its place in three lists and in a tree, its sum, its result and that result's bytes; per window
  // a digit and a point word.
  const perScalar = kernels.fr.bytes + 5 * 4 + 3 * pointBytes + 6 * windows;
  return windows * half * pointBytes + CHUNK_SCALARS * perScalar + (GROUP_ITEMS + 1) * pointBytes + batch + FIXED_BYTES;
}

function tablePlan(order: bigint, expectedCount: number): WindowPlan {
  const plans = windowPlans(order).filter(({ windowBits }) => 2 ** (windowBits - 1) <= HALF_WINDOW_MAX);
  const costs = plans.map(({ windowBits, windows }) => windows * (expectedCount + 2 ** (windowBits - 1)));
  const best = plans[costs.indexOf(Math.min(...costs))];
  if (best === undefined) throw new Error("there is no window plan");
  return best;
}
