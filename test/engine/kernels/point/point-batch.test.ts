import { describe, expect, it } from "vitest";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import { LIST_ENTRY_BYTES } from "../../../../src/engine/kernels/point/batch-layout.js";
import { scratchBytesFor } from "../../../../src/engine/kernels/wasm/scratch-bytes.js";
import { KERNEL_KINDS, kernelSetup, nobleMultiple, readPoint, writeMultiples } from "../../../support/kernels.js";
import type { Group, KernelSetup } from "../../../support/kernels.js";
import { seededRandom } from "../../../support/seeded.js";

interface Pair {
  readonly left: number;
  readonly isLeftNegative: boolean;
  readonly right: number;
  readonly isRightNegative: boolean;
}

const random = seededRandom();
const GROUPS: readonly Group[] = ["g1", "g2"];

describe.each(KERNEL_KINDS.flatMap((kind) => GROUPS.map((group) => ({ kind, group }))))(
  "batched additions in $group, $kind, seed " + String(random.seed),
  ({ kind, group }) => {
    const setup = kernelSetup(kind, 64);
    // Infinity, neighbours, and numbers that repeat under other names.
    const logs = [0n, ...Array.from({ length: 20 }, (_, i) => BigInt(i + 1)), BN254.r - 1n, BN254.r - 3n, 5n, 5n, 0n];
    const points = writeMultiples(setup, group, logs);
    const all: Pair[] = logs.flatMap((_, left) =>
      logs.flatMap((_unused, right) => [
        { left, right, isLeftNegative: false, isRightNegative: false },
        { left, right, isLeftNegative: true, isRightNegative: false },
        { left, right, isLeftNegative: random.chance(0.5), isRightNegative: true },
      ]),
    );

    it("is right for every pair: equal, opposite, infinite, repeated", () => {
      expect(addAll(setup, group, points, all)).toEqual(all.map((pair) => expected(group, logs, pair)));
    });

    it.each([1, 2, 3, 4, 5, 7, 8, 9])("is right for a batch of %i", (count) => {
      const some = Array.from({ length: count }, () => random.pick(all));
      expect(addAll(setup, group, points, some)).toEqual(some.map((pair) => expected(group, logs, pair)));
    });

    it("may write a sum over an operand of the same entry", () => {
      const { kernels, arena } = setup;
      const own = writeMultiples(setup, group, [3n, 4n, 3n]);
      const { pointBytes } = kernels[group];
      arena.scoped(() => {
        const list = arena.take(8 * LIST_ENTRY_BYTES);
        kernels
          .words(list, 9)
          .set([
            own,
            points + pointBytes,
            own,
            own + pointBytes,
            own + pointBytes,
            own + pointBytes,
            points + 3 * pointBytes,
            own + 2 * pointBytes,
            own + 2 * pointBytes,
          ]);
        kernels.addBatch(group, list, 3, arena.take(scratchBytesFor(kernels[group].batchScratch, 8)));
      });
      expect([0, 1, 2].map((i) => readPoint(setup, group, own + i * pointBytes))).toEqual(
        [4n, 8n, 6n].map((log) => nobleMultiple(group, log)),
      );
    });

    it("adds and doubles single points, infinity among them", () => {
      const { kernels, arena } = setup;
      const { pointBytes, projectiveBytes, affineScratchBytes } = kernels[group];
      arena.scoped(() => {
        const [a, b, sum, affine] = [projectiveBytes, projectiveBytes, projectiveBytes, pointBytes].map((bytes) =>
          arena.take(bytes),
        ) as [number, number, number, number];
        const scratch = arena.take(affineScratchBytes);
        for (const pair of Array.from({ length: 60 }, () => random.pick(all))) {
          kernels.call(`${group}_to_projective`, a, wordOf(points, pointBytes, pair.left, pair.isLeftNegative));
          kernels.call(`${group}_to_projective`, b, wordOf(points, pointBytes, pair.right, pair.isRightNegative));
          kernels.call(`${group}_add_points`, sum, a, b);
          kernels.call(`${group}_to_affine`, affine, sum, scratch);
          expect(readPoint(setup, group, affine)).toEqual(expected(group, logs, pair));
          kernels.call(`${group}_double_point`, a, 3);
          kernels.call(`${group}_to_affine`, affine, a, scratch);
          expect(readPoint(setup, group, affine)).toEqual(
            nobleMultiple(group, 8n * signed(logs[pair.left]!, pair.isLeftNegative)),
          );
        }
      });
    });
  },
);

const cache = new Map<string, bigint[] | undefined>();

function expected(group: Group, logs: readonly bigint[], pair: Pair): bigint[] | undefined {
  const log = signed(logs[pair.left]!, pair.isLeftNegative) + signed(logs[pair.right]!, pair.isRightNegative);
  const key = `${group} ${String(((log % BN254.r) + BN254.r) % BN254.r)}`;
  if (!cache.has(key)) cache.set(key, nobleMultiple(group, log));
  return cache.get(key);
}

function signed(value: bigint, isNegative: boolean): bigint {
  return isNegative ? -value : value;
}

function wordOf(points: number, pointBytes: number, index: number, isNegative: boolean): number {
  return (points + index * pointBytes) | Number(isNegative);
}

function addAll(setup: KernelSetup, group: Group, points: number, pairs: readonly Pair[]): (bigint[] | undefined)[] {
  const { kernels, arena } = setup;
  const { pointBytes } = kernels[group];
  return arena.scoped(() => {
    const list = arena.take((pairs.length + 8) * LIST_ENTRY_BYTES);
    const results = arena.take(pairs.length * pointBytes);
    for (const [i, pair] of pairs.entries()) {
      kernels
        .words(list + i * LIST_ENTRY_BYTES, 3)
        .set([
          wordOf(points, pointBytes, pair.left, pair.isLeftNegative),
          wordOf(points, pointBytes, pair.right, pair.isRightNegative),
          results + i * pointBytes,
        ]);
    }
    kernels.addBatch(
      group,
      list,
      pairs.length,
      arena.take(scratchBytesFor(kernels[group].batchScratch, pairs.length + 8)),
    );
    return pairs.map((_, i) => readPoint(setup, group, results + i * pointBytes));
  });
}
