/**
 * Multi-scalar multiplication: sum of scalar_i * point_i over one curve group, by Pippenger's method on signed digits. Buckets are summed
 * by trees of batched affine additions, so that equal, opposite and infinite points, and any distribution of scalars, are as good as random.
 *
 * The sum over weighted buckets, sum of d * B_d, is folded: with d = hi * 2^b + lo it is 2^b * sum(hi * row_hi) + sum(lo * column_lo), and
 * rows and columns are again plain sums for the same trees.
 */
import { WINDOW_BITS_MAX, recodeScratchBytes } from "./buckets.js";
import { LIST_ENTRY_BYTES } from "./point-batch.js";
import { GROUP_ITEMS, PointTrees } from "./point-tree.js";
import { BATCH_ITEMS, TAIL_SIZE, cheapestPlan, windowPlans } from "./window-plan.js";
import type { Arena } from "./arena.js";
import type { GroupLayout } from "./kernel-module.js";
import type { Kernels } from "./kernels.js";
import type { PointTree } from "./point-tree.js";
import type { WindowPlan } from "./window-plan.js";

export interface MsmInput {
  /** Address of the points, `layout.pointBytes` apart. */
  readonly points: number;
  /** Address of the scalars: little-endian integers below the order, `frBytes` each. */
  readonly scalars: number;
  /** Address of 32-bit scalar indices, one per point; 0 when scalar i belongs to point i. */
  readonly indices: number;
  readonly count: number;
}

/** Buckets of all trees that live at the same time, at most. */
const BUCKETS_MAX = 3 << (WINDOW_BITS_MAX - 1);
/** Alignment, offsets, and the projective points of the windows. */
const FIXED_WORKSPACE_BYTES = 1 << 20;
/** One group's arithmetic in a kernel memory, with its workspace. */
export class Msm {
  private readonly kernels: Kernels;
  private readonly group: "g1" | "g2";
  private readonly layout: GroupLayout;
  private readonly arena: Arena;
  private readonly plans: readonly WindowPlan[];
  private readonly trees: PointTrees;

  constructor(kernels: Kernels, group: "g1" | "g2", arena: Arena) {
    this.kernels = kernels;
    this.group = group;
    this.layout = kernels[group];
    this.arena = arena;
    this.plans = windowPlans(kernels.curve.fr);
    this.trees = new PointTrees(kernels, group, arena);
  }

  /** Writes the affine sum (infinity as a marked point) to `target`. Cost: see bench/subjects/kernels.ts. */
  run(input: MsmInput, target: number): void {
    this.arena.scoped(() => {
      const { kernels, layout } = this;
      const sum = this.arena.take(layout.projectiveBytes);
      const kept = this.arena.take(4 * input.count);
      const sources = this.arena.take(4 * input.count);
      const ones = this.arena.take(4 * input.count);
      const { scalars, indices, points, count } = input;
      const [keptCount, onesCount] = kernels.callPair("classify", scalars, indices, points, layout.pointBytes, count, kept, sources, ones);
      this.setInfinity(sum);
      if (keptCount > 0) this.addWindows(sum, { scalars, kept, sources, count: keptCount });
      if (onesCount > 0) this.addPlainSum(sum, ones, onesCount);
      kernels.call(`${this.group}_to_affine`, target, sum, this.arena.take(layout.affineScratchBytes));
    });
  }

  /** sum := sum + the points whose words are listed. */
  private addPlainSum(sum: number, words: number, count: number): void {
    this.arena.scoped(() => {
      // Cut into buckets of a group's size, and those sums added one by one: they are few.
      const bucketCount = Math.ceil(count / GROUP_ITEMS);
      const tree = this.trees.create(bucketCount, words, Math.min(count, GROUP_ITEMS));
      for (let b = 0; b < bucketCount; b += 1) {
        tree.starts[b] = b * GROUP_ITEMS;
        tree.counts[b] = Math.min(GROUP_ITEMS, count - b * GROUP_ITEMS);
      }
      this.trees.sum(tree);
      const single = this.arena.take(this.layout.projectiveBytes);
      for (let b = 0; b < bucketCount; b += 1) this.addWord(sum, this.trees.resultWord(tree, b), single);
    });
  }

  private addWindows(sum: number, scalars: { scalars: number; kept: number; sources: number; count: number }): void {
    const { kernels, arena, layout } = this;
    const { count } = scalars;
    const { windowBits, windows, offset: offsetValue } = cheapestPlan(this.plans, count);
    const buckets = 1 << (windowBits - 1);
    const digits = arena.take(2 * count * windows);
    const offset = arena.take(kernels.fr.bytes + 8);
    kernels.writeInteger(offset, offsetValue, kernels.fr.bytes + 8);
    kernels.call("recode", scalars.scalars, scalars.kept, count, digits, windowBits, windows, offset, arena.take(recodeScratchBytes(kernels.fr.bytes)));
    const perBatch = Math.min(windows, Math.max(1, Math.floor(BATCH_ITEMS / count)));
    const values = Array.from({ length: windows }, () => arena.take(layout.projectiveBytes));
    for (let first = 0; first < windows; first += perBatch) {
      const batch = Math.min(perBatch, windows - first);
      arena.scoped(() => {
        const items = arena.take(4 * count * batch);
        const tree = this.trees.create(buckets * batch, items, count);
        this.fillBuckets(tree, { digits: digits + 2 * count * first, sources: scalars.sources, count, batch, buckets });
        this.trees.sum(tree);
        const sets = Array.from({ length: batch }, (_, w) => Uint32Array.from({ length: buckets }, (_unused, d) => this.trees.resultWord(tree, w * buckets + d)));
        this.weightedSums(sets, values.slice(first, first + batch));
      });
    }
    for (const value of values.reverse()) {
      this.double(sum, windowBits);
      this.kernels.call(`${this.group}_add_points`, sum, sum, value);
    }
  }

  private fillBuckets(tree: PointTree, source: { digits: number; sources: number; count: number; batch: number; buckets: number }): void {
    const { kernels, arena } = this;
    const { count, batch, buckets } = source;
    arena.scoped(() => {
      tree.counts.fill(0);
      for (let w = 0; w < batch; w += 1) kernels.call("count_digits", tree.countsAddress + 4 * w * buckets, source.digits + 2 * count * w, count);
      const cursorsAddress = arena.take(4 * tree.size);
      let next = 0;
      for (let b = 0; b < tree.size; b += 1) {
        tree.starts[b] = next;
        next += tree.counts[b] ?? 0;
      }
      kernels.words(cursorsAddress, tree.size).set(tree.starts);
      for (let w = 0; w < batch; w += 1) {
        kernels.call("scatter", tree.items, cursorsAddress + 4 * w * buckets, source.digits + 2 * count * w, source.sources, count);
      }
    });
  }

  /** values[i] := sum over d of (d + 1) * sets[i][d]; sets hold point words, 0 for an empty bucket, and are of one size. */
  private weightedSums(sets: readonly Uint32Array[], values: readonly number[]): void {
    const size = sets[0]?.length ?? 0;
    if (size <= TAIL_SIZE) {
      this.weightedTails(sets, values);
      return;
    }
    this.arena.scoped(() => {
      const foldBits = Math.ceil(Math.log2(size) / 2);
      const tree = this.foldSets(sets, foldBits);
      this.trees.sum(tree);
      const width = 1 << foldBits;
      const folded = Array.from({ length: 2 * sets.length }, (_, s) => Uint32Array.from({ length: width }, (_unused, d) => this.trees.resultWord(tree, s * width + d)));
      const parts = folded.map(() => this.arena.take(this.layout.projectiveBytes));
      this.weightedSums(folded, parts);
      for (const [i, value] of values.entries()) {
        const rows = parts[2 * i] ?? 0;
        this.double(rows, foldBits);
        this.kernels.call(`${this.group}_add_points`, value, rows, parts[2 * i + 1] ?? 0);
      }
    });
  }

  /** For each set a tree of 2^foldBits rows (row hi at place hi - 1; row 0 weighs nothing) and as many columns. */
  private foldSets(sets: readonly Uint32Array[], foldBits: number): PointTree {
    const width = 1 << foldBits;
    const size = sets[0]?.length ?? 0;
    const items: number[] = [];
    const starts: number[] = [];
    for (const set of sets) {
      for (let row = 1; row <= width; row += 1) {
        starts.push(items.length);
        for (let d = row * width; d < Math.min(size, (row + 1) * width); d += 1) if (set[d] !== 0) items.push(set[d] ?? 0);
      }
      for (let column = 0; column < width; column += 1) {
        starts.push(items.length);
        for (let d = column; d < size; d += width) if (set[d] !== 0) items.push(set[d] ?? 0);
      }
    }
    const itemsAddress = this.arena.take(4 * items.length);
    this.kernels.words(itemsAddress, items.length).set(items);
    const tree = this.trees.create(starts.length, itemsAddress, width);
    tree.starts.set(starts);
    for (let b = 0; b < starts.length; b += 1) tree.counts[b] = (starts[b + 1] ?? items.length) - (starts[b] ?? 0);
    return tree;
  }

  /** values[i] := sum of (d + 1) * sets[i][d] by running sums from the top, all sets side by side. */
  private weightedTails(sets: readonly Uint32Array[], values: readonly number[]): void {
    const { arena, kernels, layout } = this;
    arena.scoped(() => {
      const entriesMax = sets.length + layout.entriesPerStep;
      const list = arena.take(entriesMax * LIST_ENTRY_BYTES);
      const scratch = arena.take(layout.batchScratchBytes(entriesMax));
      const running = sets.map(() => arena.take(layout.pointBytes));
      const totals = sets.map(() => arena.take(layout.pointBytes));
      const add = (pairs: readonly (readonly [into: number, word: number])[]): void => {
        for (const [i, [into, word]] of pairs.entries()) kernels.words(list + i * LIST_ENTRY_BYTES, 3).set([into, word, into]);
        if (pairs.length > 0) kernels.addBatch(this.group, list, pairs.length, scratch);
      };
      for (const point of [...running, ...totals]) kernels.call(`${this.group}_mark`, point);
      const started = sets.map(() => false);
      for (let d = (sets[0]?.length ?? 0) - 1; d >= 0; d -= 1) {
        for (const [i, set] of sets.entries()) started[i] = started[i] === true || set[d] !== 0;
        add(sets.flatMap((set, i) => (set[d] === 0 ? [] : [[running[i] ?? 0, set[d] ?? 0] as const])));
        add(sets.flatMap((_, i) => (started[i] === true ? [[totals[i] ?? 0, running[i] ?? 0] as const] : [])));
      }
      for (const [i, value] of values.entries()) kernels.call(`${this.group}_to_projective`, value, totals[i] ?? 0);
    });
  }

  private addWord(sum: number, word: number, scratch: number): void {
    if (word === 0) return;
    this.kernels.call(`${this.group}_to_projective`, scratch, word);
    this.kernels.call(`${this.group}_add_points`, sum, sum, scratch);
  }

  private setInfinity(target: number): void {
    this.kernels.call(`${this.group}_to_projective`, target, this.kernels.infinity[this.group]);
  }

  private double(point: number, times: number): void {
    this.kernels.call(`${this.group}_double_point`, point, times);
  }
}

/** Workspace that an MSM of up to `count` points needs, whatever the scalars. Little of it is touched unless all fall into few buckets. */
export function msmWorkspaceBytes(kernels: Kernels, group: "g1" | "g2", count: number): number {
  const layout = kernels[group];
  const itemsMax = Math.max(GROUP_ITEMS, count);
  const tree = itemsMax * (layout.pointBytes + LIST_ENTRY_BYTES) + layout.batchScratchBytes(itemsMax / 2 + layout.entriesPerStep);
  // Fewer scalars may mean narrower windows, and so more digits than the full count has: half as many again covers every step.
  const { windows } = cheapestPlan(windowPlans(kernels.curve.fr), Math.max(1, count));
  const lists = 12 * count + 3 * count * windows + 4 * Math.max(BATCH_ITEMS, count);
  return tree + lists + BUCKETS_MAX * (layout.pointBytes + layout.projectiveBytes + 16) + FIXED_WORKSPACE_BYTES;
}
