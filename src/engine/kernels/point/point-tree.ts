/**
 * Sums of many lists of points at once: neighbours in a list are added, then neighbours among the sums, until each list
 * has one item. All additions of a round are independent, as point-batch.ts requires; the time depends on the number of
 * points alone, not on how they are spread over the lists.
 */
import { LIST_ENTRY_BYTES } from "./batch-layout.js";
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
}

/**
 * Points that the trees of one group of buckets start with: enough additions to pay for an inversion, few enough for
 * the second-level cache. Measured on 2^16 points: 2,048 254 ms, 4,096 and 8,192 249 ms, 16,384 268 ms.
 */
export const GROUP_ITEMS = 8192;

/** Addresses of what the additions of a group need. */
interface GroupRoom {
  readonly list: number;
  readonly temporary: number;
  readonly scratch: number;
}

/** Returns the bytes that `PointTrees.sum` takes for a tree over so many items, whatever their buckets. */
export function treeRoomBytes(layout: GroupLayout, items: number): number {
  // A bucket has one slice more than it fills, and only one that fills a slice is cut.
  const slices = 2 * Math.ceil(items / GROUP_ITEMS);
  return groupRoom(layout).reduce((sum, bytes) => sum + bytes, slices * (layout.pointBytes + 3 * 64));
}

/** Bytes of a list of additions, of sums that are no results, and of the additions' scratch. */
function groupRoom(layout: GroupLayout): readonly [number, number, number] {
  const entriesMax = GROUP_ITEMS / 2 + layout.entriesPerStep;
  return [
    entriesMax * LIST_ENTRY_BYTES,
    (GROUP_ITEMS + 1) * layout.pointBytes,
    scratchBytesFor(layout.batchScratch, entriesMax),
  ];
}

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

  /** Takes room for a tree of `size` buckets over the words at `items`; the caller fills `starts` and `counts`. */
  create(size: number, items: number): PointTree {
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
    };
  }

  /** Sums every bucket: afterwards each one that was not empty has one item. */
  sum(tree: PointTree): void {
    const arena = this.#arena;
    arena.scoped(() => {
      const [list, temporary, scratch] = groupRoom(this.#layout).map((bytes) => arena.take(bytes)) as [
        number,
        number,
        number,
      ];
      this.#sumBuckets(tree, { list, temporary, scratch });
    });
  }

  #sumBuckets(tree: PointTree, room: GroupRoom): void {
    for (let from = 0; from < tree.size;) {
      let to = from;
      let items = 0;
      while (to < tree.size && items + (tree.counts[to] ?? 0) <= GROUP_ITEMS) {
        items += tree.counts[to] ?? 0;
        to += 1;
      }
      if (to === from) {
        this.#sumSlices(tree, from, room);
        to += 1;
      }
      this.#sumGroup(tree, { from, to }, room);
      from = to;
    }
  }

  /** Leaves a bucket that is larger than a group with the sums of slices of it, which have places of their own. */
  #sumSlices(tree: PointTree, bucket: number, room: GroupRoom): void {
    const [first, count] = [tree.starts[bucket] ?? 0, tree.counts[bucket] ?? 0];
    const slices = this.create(Math.ceil(count / GROUP_ITEMS), tree.items + 4 * first);
    for (let slice = 0; slice < slices.size; slice += 1) {
      slices.starts[slice] = slice * GROUP_ITEMS;
      slices.counts[slice] = Math.min(GROUP_ITEMS, count - slice * GROUP_ITEMS);
    }
    this.#sumBuckets(slices, room);
    const words = this.#kernels.words(slices.items, slices.size);
    words.set(Array.from(words, (_, slice) => this.resultWord(slices, slice)));
    tree.counts[bucket] = slices.size;
  }

  /** Sums the buckets `from` to `to` - 1, which have the items of a group at most. */
  #sumGroup(tree: PointTree, { from, to }: { readonly from: number; readonly to: number }, room: GroupRoom): void {
    const kernels = this.#kernels;
    const { pointBytes } = this.#layout;
    let free = room.temporary;
    for (;;) {
      const end = kernels.callOne(
        "pair_round",
        tree.items,
        tree.startsAddress,
        tree.countsAddress,
        from,
        to,
        room.list,
        free,
        tree.results,
        pointBytes,
      );
      const entries = (end - room.list) / LIST_ENTRY_BYTES;
      if (entries === 0) break;
      kernels.addBatch(this.#group, room.list, entries, room.scratch);
      free += entries * pointBytes;
    }
  }

  /** Returns the point word of a summed bucket, or 0 when it is empty. */
  resultWord(tree: PointTree, bucket: number): number {
    return tree.counts[bucket] === 0 ? 0 : this.#kernels.word(tree.items + 4 * (tree.starts[bucket] ?? 0));
  }
}
