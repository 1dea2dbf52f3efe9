/**
 * Multi-scalar multiplication: sum of scalar_i * point_i over one curve group, by Pippenger's method on signed digits.
 * Buckets are summed by trees of batched affine additions, so that equal, opposite and infinite points, and scalars of
 * any distribution, take no longer than random ones.
 *
 * Where the points' multiples stand beside them (window-plan.ts), several windows share a set of buckets.
 *
 * The sum over weighted buckets, sum of d * B_d, is folded: with d = hi * 2^b + lo it is 2^b * sum(hi * row_hi) +
 * sum(lo * column_lo), and rows and columns are again plain sums for the same trees.
 */
import { recodeScratchBytes } from "./buckets.js";
import { ONES_PER_PART, takeMsmLists } from "./msm-lists.js";
import { LIST_ENTRY_BYTES } from "../point/batch-layout.js";
import { GROUP_ITEMS, PointTrees } from "../point/point-tree.js";
import { BATCH_ITEMS, ONE_LEVEL, TAIL_SIZE, cheapestPlan, windowPlans } from "./window-plan.js";
import { scratchBytesFor } from "../wasm/scratch-bytes.js";
import type { Arena } from "../wasm/arena.js";
import type { GroupLayout } from "../kernel-module.js";
import type { Kernels } from "../kernels.js";
import type { MsmLists } from "./msm-lists.js";
import type { PointTree } from "../point/point-tree.js";
import type { WindowPlan } from "./window-plan.js";

interface MsmInput {
  /** Address of the points, `layout.pointBytes` apart, level by level. */
  readonly points: number;
  /** Address of the scalars: little-endian integers below the order, `frBytes` each. */
  readonly scalars: number;
  /** Address of 32-bit scalar indices, one per point; 0 when scalar i belongs to point i. */
  readonly indices: number;
  readonly count: number;
  /** Whether the multiples that the lists have room for are written. */
  readonly hasLevels?: boolean;
}

/** How a prepared sum is cut into parts; every thread computes it from the header of the lists. */
interface Parts {
  readonly plan: WindowPlan | undefined;
  readonly keptCount: number;
  readonly onesCount: number;
  /** Sets of buckets that are summed together. */
  readonly setsPerPart: number;
  readonly setParts: number;
  readonly onesParts: number;
}

/**
 * Multi-scalar multiplication in one group. `run` does a sum on one thread; prepare, runPart and finish spread it over
 * several.
 */
export class Msm {
  readonly #kernels: Kernels;
  readonly #group: "g1" | "g2";
  readonly #layout: GroupLayout;
  readonly #arena: Arena;
  readonly #trees: PointTrees;

  constructor(kernels: Kernels, group: "g1" | "g2", arena: Arena) {
    this.#kernels = kernels;
    this.#group = group;
    this.#layout = kernels[group];
    this.#arena = arena;
    this.#trees = new PointTrees(kernels, group, arena);
  }

  /** Writes the affine sum (infinity as a marked point) to `target`. For its cost see bench/subjects/kernels.ts. */
  run(input: MsmInput, target: number): void {
    this.#arena.scoped(() => {
      const lists = takeMsmLists(this.#kernels, this.#group, this.#arena, { count: input.count });
      this.prepare(input, lists);
      const parts = this.partCount(lists);
      for (let part = 0; part < parts; part += 1) this.runPart(lists, part);
      this.finish(lists, target);
    });
  }

  /** Sorts the scalars and writes their digits. After it, the parts may run in any order and on any threads. */
  prepare({ scalars, indices, points, count, hasLevels = false }: MsmInput, lists: MsmLists): void {
    const kernels = this.#kernels;
    const arena = this.#arena;
    const layout = this.#layout;
    const [keptCount, onesCount] = kernels.callPair(
      "classify",
      scalars,
      indices,
      points,
      layout.pointBytes,
      count,
      lists.kept,
      lists.sources,
      lists.ones,
    );
    kernels.words(lists.header, 3).set([keptCount, onesCount, Number(hasLevels)]);
    const { plan } = this.#partsOf(lists);
    if (plan === undefined) return;
    this.#writeSources(lists, { keptCount, levels: plan.levels, levelBytes: count * layout.pointBytes });
    arena.scoped(() => {
      const offset = arena.take(kernels.fr.bytes + 8);
      kernels.writeInteger(offset, plan.offset, kernels.fr.bytes + 8);
      kernels.call(
        "recode",
        scalars,
        lists.kept,
        keptCount,
        lists.digits,
        plan.windowBits,
        plan.windows,
        offset,
        arena.take(recodeScratchBytes(kernels.fr.bytes)),
      );
    });
  }

  /** Returns the number of parts of a prepared sum. */
  partCount(lists: MsmLists): number {
    const { setParts, onesParts } = this.#partsOf(lists);
    return setParts + onesParts;
  }

  /** Computes one part into the lists' values. */
  runPart(lists: MsmLists, part: number): void {
    const parts = this.#partsOf(lists);
    if (part < parts.setParts) this.#sumSets(lists, parts, part * parts.setsPerPart);
    else this.#sumOnes(lists, parts, part - parts.setParts);
  }

  /** Adds up the parts, when all are done, and writes the affine sum to `target`. */
  finish(lists: MsmLists, target: number): void {
    const kernels = this.#kernels;
    const arena = this.#arena;
    const layout = this.#layout;
    const group = this.#group;
    const { plan, onesParts } = this.#partsOf(lists);
    arena.scoped(() => {
      const sum = arena.take(layout.projectiveBytes);
      kernels.call(`${group}_to_projective`, sum, kernels.infinity[group]);
      const sets = plan?.sets ?? 0;
      for (let set = sets - 1; set >= 0; set -= 1) {
        this.#double(sum, plan?.windowBits ?? 0);
        kernels.call(`${group}_add_points`, sum, sum, this.#valueAt(lists, set));
      }
      for (let i = 0; i < onesParts; i += 1)
        kernels.call(`${group}_add_points`, sum, sum, this.#valueAt(lists, sets + i));
      kernels.call(`${group}_to_affine`, target, sum, arena.take(layout.affineScratchBytes));
    });
  }

  /**
   * Writes the affine sum of every window of a sum whose parts are done, to one address each: sum over the points of
   * digit w of the scalar, without the window's power of two.
   * @param targets as many addresses as `windowsOf` tells
   */
  windowSums(lists: MsmLists, targets: readonly number[]): void {
    const arena = this.#arena;
    arena.scoped(() => {
      const scratch = arena.take(this.#layout.affineScratchBytes);
      for (const [w, target] of targets.entries())
        this.#kernels.call(`${this.#group}_to_affine`, target, this.#valueAt(lists, w), scratch);
    });
  }

  /** Returns the bits of a window of a prepared sum, and how many there are. */
  windowsOf(lists: MsmLists): { readonly windowBits: number; readonly windows: number } {
    const { plan } = this.#partsOf(lists);
    return { windowBits: plan?.windowBits ?? 0, windows: plan?.windows ?? 0 };
  }

  #partsOf(lists: MsmLists): Parts {
    const [keptCount = 0, onesCount = 0, hasLevels] = this.#kernels.words(lists.header, 3);
    const onesParts = Math.ceil(onesCount / ONES_PER_PART);
    if (keptCount === 0) return { plan: undefined, keptCount, onesCount, setsPerPart: 1, setParts: 0, onesParts };
    const plans = windowPlans(this.#kernels.curve.r, hasLevels === 1 ? lists.levels : ONE_LEVEL);
    const plan = cheapestPlan(plans, keptCount);
    const setsPerPart = Math.min(plan.sets, Math.max(1, Math.floor(BATCH_ITEMS / (keptCount * plan.levels))));
    return { plan, keptCount, onesCount, setsPerPart, setParts: Math.ceil(plan.sets / setsPerPart), onesParts };
  }

  /** Writes the words of the kept points' higher levels behind those of the first. */
  #writeSources(
    { sources }: MsmLists,
    { keptCount, levels, levelBytes }: { keptCount: number; levels: number; levelBytes: number },
  ): void {
    const words = this.#kernels.words(sources, keptCount * levels);
    for (let at = keptCount; at < words.length; at += 1) words[at] = (words[at - keptCount] ?? 0) + levelBytes;
  }

  #valueAt(lists: MsmLists, index: number): number {
    return lists.values + index * this.#layout.projectiveBytes;
  }

  /**
   * Sums a run of points with scalar one or minus one, cut into buckets of a group's size whose few sums are added one
   * by one.
   */
  #sumOnes(lists: MsmLists, parts: Parts, run: number): void {
    const arena = this.#arena;
    const kernels = this.#kernels;
    const layout = this.#layout;
    const first = run * ONES_PER_PART;
    const count = Math.min(ONES_PER_PART, parts.onesCount - first);
    arena.scoped(() => {
      const sum = this.#valueAt(lists, (parts.plan?.sets ?? 0) + run);
      kernels.call(`${this.#group}_to_projective`, sum, kernels.infinity[this.#group]);
      const bucketCount = Math.ceil(count / GROUP_ITEMS);
      const tree = this.#trees.create(bucketCount, lists.ones + 4 * first);
      for (let b = 0; b < bucketCount; b += 1) {
        tree.starts[b] = b * GROUP_ITEMS;
        tree.counts[b] = Math.min(GROUP_ITEMS, count - b * GROUP_ITEMS);
      }
      this.#trees.sum(tree);
      const single = arena.take(layout.projectiveBytes);
      for (let b = 0; b < bucketCount; b += 1) this.#addWord(sum, this.#trees.resultWord(tree, b), single);
    });
  }

  /** Sums the sets of one part, all together, so that small sums fill their batches too. */
  #sumSets(lists: MsmLists, parts: Parts, first: number): void {
    const { plan, keptCount: count, setsPerPart } = parts;
    if (plan === undefined) return;
    const arena = this.#arena;
    const batch = Math.min(setsPerPart, plan.sets - first);
    arena.scoped(() => {
      const items = arena.take(4 * count * plan.levels * batch);
      const tree = this.#trees.create((1 << (plan.windowBits - 1)) * batch, items);
      this.#fillBuckets(tree, lists, { plan, count, first, batch });
      this.#weightedSums(
        tree,
        Array.from({ length: batch }, (_, w) => this.#valueAt(lists, first + w)),
      );
    });
  }

  /** Puts the points of each set's windows into its buckets, with the points of the window's level. */
  #fillBuckets(
    tree: PointTree,
    lists: MsmLists,
    { plan, count, first, batch }: { plan: WindowPlan; count: number; first: number; batch: number },
  ): void {
    const kernels = this.#kernels;
    const arena = this.#arena;
    const setBytes = 4 * (tree.size / batch);
    const windows = Array.from({ length: batch }, (_, i) => i).flatMap((i) =>
      Array.from({ length: plan.levels }, (_, level) => ({ i, level, window: level * plan.sets + first + i })).filter(
        ({ window }) => window < plan.windows,
      ),
    );
    arena.scoped(() => {
      tree.counts.fill(0);
      for (const { i, window } of windows)
        kernels.call("count_digits", tree.countsAddress + i * setBytes, lists.digits + 2 * count * window, count);
      const cursors = arena.take(4 * tree.size);
      kernels.call("start_buckets", tree.countsAddress, tree.startsAddress, cursors, tree.size);
      for (const { i, level, window } of windows) {
        const [digits, sources] = [lists.digits + 2 * count * window, lists.sources + 4 * count * level];
        kernels.call("scatter", tree.items, cursors + i * setBytes, digits, sources, count);
      }
    });
  }

  /**
   * Sums the tree, whose buckets are sets of one size, one after the other: values[i] := sum over d of (d + 1) times
   * bucket d of set i.
   */
  #weightedSums(tree: PointTree, values: readonly number[]): void {
    this.#trees.sum(tree);
    const size = tree.size / values.length;
    if (size <= TAIL_SIZE) {
      const sets = values.map((_, i) =>
        Uint32Array.from({ length: size }, (_unused, d) => this.#trees.resultWord(tree, i * size + d)),
      );
      this.#weightedTails(sets, values);
      return;
    }
    this.#arena.scoped(() => {
      const foldBits = Math.ceil(Math.log2(size) / 2);
      const parts = Array.from({ length: 2 * values.length }, () => this.#arena.take(this.#layout.projectiveBytes));
      this.#weightedSums(this.#fold(tree, values.length, foldBits), parts);
      for (const [i, value] of values.entries()) {
        const rows = parts[2 * i] ?? 0;
        this.#double(rows, foldBits);
        this.#kernels.call(`${this.#group}_add_points`, value, rows, parts[2 * i + 1] ?? 0);
      }
    });
  }

  /** For each set of a summed tree 2^foldBits rows (row hi at place hi - 1, row 0 weighs nothing), as many columns. */
  #fold(tree: PointTree, setCount: number, foldBits: number): PointTree {
    const size = tree.size / setCount;
    const width = 1 << foldBits;
    // Every bucket but those of row 0 is in a row and in a column.
    const items = this.#arena.take(4 * (2 * tree.size));
    const folded = this.#trees.create(2 * width * setCount, items);
    let next = 0;
    for (let set = 0; set < setCount; set += 1) {
      const [from, to] = [4 * set * size, 4 * set * 2 * width];
      next = this.#kernels.callOne(
        "fold_buckets",
        tree.items,
        tree.startsAddress + from,
        tree.countsAddress + from,
        size,
        foldBits,
        items,
        next,
        folded.startsAddress + to,
        folded.countsAddress + to,
      );
    }
    return folded;
  }

  /** values[i] := sum of (d + 1) * sets[i][d] by running sums from the top, all sets side by side. */
  #weightedTails(sets: readonly Uint32Array[], values: readonly number[]): void {
    const arena = this.#arena;
    const kernels = this.#kernels;
    const layout = this.#layout;
    arena.scoped(() => {
      const entriesMax = sets.length + layout.entriesPerStep;
      const list = arena.take(entriesMax * LIST_ENTRY_BYTES);
      const scratch = arena.take(scratchBytesFor(layout.batchScratch, entriesMax));
      const running = sets.map(() => arena.take(layout.pointBytes));
      const totals = sets.map(() => arena.take(layout.pointBytes));
      const words = kernels.words(list, (entriesMax * LIST_ENTRY_BYTES) / Uint32Array.BYTES_PER_ELEMENT);
      /** Adds to each set's point the word that is named for it, if any. */
      const add = (into: readonly number[], wordOf: (set: number) => number): void => {
        let at = 0;
        for (const [i, point] of into.entries()) {
          const word = wordOf(i);
          if (word === 0) continue;
          words[at] = words[at + 2] = point;
          words[at + 1] = word;
          at += 3;
        }
        if (at > 0) kernels.addBatch(this.#group, list, at / 3, scratch);
      };
      for (const point of [...running, ...totals]) kernels.call(`${this.#group}_mark`, point);
      const started = sets.map(() => false);
      for (let d = (sets[0]?.length ?? 0) - 1; d >= 0; d -= 1) {
        for (const [i, set] of sets.entries()) started[i] ||= set[d] !== 0;
        add(running, (i) => sets[i]?.[d] ?? 0);
        add(totals, (i) => (started[i] === true ? (running[i] ?? 0) : 0));
      }
      for (const [i, value] of values.entries()) kernels.call(`${this.#group}_to_projective`, value, totals[i] ?? 0);
    });
  }

  #addWord(sum: number, word: number, scratch: number): void {
    if (word === 0) return;
    this.#kernels.call(`${this.#group}_to_projective`, scratch, word);
    this.#kernels.call(`${this.#group}_add_points`, sum, sum, scratch);
  }

  #double(point: number, times: number): void {
    this.#kernels.call(`${this.#group}_double_point`, point, times);
  }
}
