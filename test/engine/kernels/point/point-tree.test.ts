import { describe, expect, it } from "vitest";
import { GROUP_ITEMS, PointTrees, treeRoomBytes } from "../../../../src/engine/kernels/point/point-tree.js";
import { Arena } from "../../../../src/engine/kernels/wasm/arena.js";
import { KERNEL_KINDS, kernelSetup, nobleMultiple, readPoint, writeMultiples } from "../../../support/kernels.js";
import { seededRandom } from "../../../support/seeded.js";

const random = seededRandom();
const LOGS = [1n, 2n, 3n, 5n, 8n, 0n];

describe.each(KERNEL_KINDS)("trees of points, %s, seed " + String(random.seed), (kind) => {
  it("sum buckets of any size within the room that they tell", () => {
    const { kernels, arena } = kernelSetup(kind, 256);
    const points = writeMultiples({ kernels, arena }, "g1", LOGS);
    const counts = [0, 1, 2, GROUP_ITEMS - 1, GROUP_ITEMS, GROUP_ITEMS + 1, 3 * GROUP_ITEMS + 5, 0, 2 * GROUP_ITEMS, 7];
    const total = counts.reduce((sum, count) => sum + count, 0);
    const { pointBytes } = kernels.g1;
    const items = arena.take(4 * total);
    const picks = Array.from({ length: total }, () => ({ index: random.below(LOGS.length), sign: random.below(2) }));
    kernels.words(items, total).set(picks.map(({ index, sign }) => (points + index * pointBytes) | sign));
    const own = arena.take(counts.length * (pointBytes + 2 * 64));
    const room = arena.take(treeRoomBytes(kernels.g1, total));
    const tree = new PointTrees(kernels, "g1", new Arena(own, room)).create(counts.length, items);
    tree.counts.set(counts);
    tree.starts.set(counts.map((_, i) => counts.slice(0, i).reduce((sum, count) => sum + count, 0)));
    const starts = [...tree.starts];
    const trees = new PointTrees(kernels, "g1", new Arena(room, room + treeRoomBytes(kernels.g1, total)));
    trees.sum(tree);
    const words = counts.map((_, bucket) => trees.resultWord(tree, bucket));
    const sums = words.map((word) => (word === 0 ? undefined : readPoint({ kernels, arena }, "g1", word & -2)));
    const logs = counts.map((count, i) =>
      picks
        .slice(starts[i], (starts[i] ?? 0) + count)
        .reduce((sum, { index, sign }) => sum + (sign === 1 ? -1n : 1n) * (LOGS[index] ?? 0n), 0n),
    );
    // A bucket of one item still has its sign.
    expect(sums).toEqual(logs.map((log, i) => nobleMultiple("g1", ((words[i] ?? 0) & 1) === 1 ? -log : log)));
  });
});
