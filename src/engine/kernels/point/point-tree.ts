/**
 * Sums of many lists of points at once: neighbours in a list are added, then neighbours among the sums, until each list
 * has one item. All additions of a round are independent, as point-batch.ts requires; the time depends on the number of
 * points alone, not on how they are spread over the lists.
 */
import { LIST_ENTRY_BYTES } from "./point-batch.js";
import { scratchBytesFor } from "../wasm/scratch-bytes.js";
import type { Arena } from "../wasm/arena.js";
import type { GroupLayout } from "../kernel-module.js";
import type { Kernels } from "../kernels.js";

/** Lists ("buckets") of point words, and the place of their sums. Numbers are addresses unless said otherwise. */
export interface PointTree {
  /** Number of buckets. */
  readonly size: number;
  /** The words; bucket b has counts[b] of them, from the word starts[b] on. */
  readonly items: number;
  readonly startsAddress: number;
  readonly countsAddress: number;
  readonly starts: Uint32Array;
  readonly counts: Uint32Array;
  readonly results: number;
  /** Number of items of the largest group of buckets that is handled at once. */
  readonly itemsMax: number;
}

/**
 * Points that the trees of one group of buckets start with: enough additions to pay for an inversion, few enough for
 * the second-level cache. Measured on 2^16 points: 2,048 254 ms, 4,096 and 8,192 249 ms, 16,384 268 ms.
 */
export const GROUP_ITEMS = 8192;

/** Sums trees of one group in a kernel memory. */
export class PointTrees {
  readonly #kernels: Kernels;
  readonly #group: "g1" | "g2";
  readonly #layout: GroupLayout;
  readonly #arena: Arena;

  constructor(kernels: Kernels, group: "g1" | "g2", arena: Arena) {
    this.#kernels = kernels;
    this.#group = group;
    this.#layout = kernels[group];
    this.#arena = arena;
  }

  /**
   * Takes room for a tree of `size` buckets over the point words at `items`; the caller fills `starts` and `counts`.
   * @param largestBucket bound of every count.
   */
  create(size: number, items: number, largestBucket: number): PointTree {
    const arena = this.#arena;
    const kernels = this.#kernels;
    const layout = this.#layout;
    const startsAddress = arena.take(4 * size);
    const countsAddress = arena.take(4 * size);
    return {
      size,
      items,
      startsAddress,
      countsAddress,
      starts: kernels.words(startsAddress, size),
      counts: kernels.words(countsAddress, size),
      results: arena.take(layout.pointBytes * size),
      itemsMax: Math.max(GROUP_ITEMS, largestBucket),
    };
  }

  /** Sums every bucket: afterwards each one that was not empty has one item. */
  sum(tree: PointTree): void {
    const arena = this.#arena;
    const kernels = this.#kernels;
    const layout = this.#layout;
    arena.scoped(() => {
      const entriesMax = Math.ceil(tree.itemsMax / 2) + layout.entriesPerStep;
      const list = arena.take(entriesMax * LIST_ENTRY_BYTES);
      const temporary = arena.take((tree.itemsMax + 1) * layout.pointBytes);
      const scratch = arena.take(scratchBytesFor(layout.batchScratch, entriesMax));
      for (let from = 0; from < tree.size;) {
        let to = from;
        let items = 0;
        while (to < tree.size && (to === from || items + (tree.counts[to] ?? 0) <= GROUP_ITEMS)) {
          items += tree.counts[to] ?? 0;
          to += 1;
        }
        let free = temporary;
        for (;;) {
          const end = kernels.callOne(
            "pair_round",
            tree.items,
            tree.startsAddress,
            tree.countsAddress,
            from,
            to,
            list,
            free,
            tree.results,
            layout.pointBytes,
          );
          const entries = (end - list) / LIST_ENTRY_BYTES;
          if (entries === 0) break;
          kernels.addBatch(this.#group, list, entries, scratch);
          free += entries * layout.pointBytes;
        }
        from = to;
      }
    });
  }

  /** Returns the point word of a summed bucket, or 0 when it is empty. */
  resultWord(tree: PointTree, bucket: number): number {
    return tree.counts[bucket] === 0 ? 0 : this.#kernels.word(tree.items + 4 * (tree.starts[bucket] ?? 0));
  }
}
