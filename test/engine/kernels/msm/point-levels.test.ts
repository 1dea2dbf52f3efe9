/** Sums with multiples of their points beside them, against noble. */
import { describe, expect, it } from "vitest";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import { Msm } from "../../../../src/engine/kernels/msm/msm.js";
import { msmListBytes, msmScratchBytes, takeMsmLists } from "../../../../src/engine/kernels/msm/msm-lists.js";
import { levelScratchBytes, levelSteps, writeLevel } from "../../../../src/engine/kernels/msm/point-levels.js";
import { ONE_LEVEL, cheapestLevels } from "../../../../src/engine/kernels/msm/window-plan.js";
import { Arena } from "../../../../src/engine/kernels/wasm/arena.js";
import {
  KERNEL_KINDS,
  bigBelow,
  kernelSetup,
  nobleMultiple,
  readPoint,
  writeMultiples,
} from "../../../support/kernels.js";
import type { Group } from "../../../support/kernels.js";
import { seededRandom } from "../../../support/seeded.js";

const random = seededRandom();
const r = BN254.r;
const GROUPS: readonly Group[] = ["g1", "g2"];
/** Few distinct points, so that they repeat, with opposite ones among them. */
const POOL = [1n, 2n, 3n, r - 1n, r - 3n, ...Array.from({ length: 8 }, () => 1n + bigBelow(random, r - 1n))];
const SCALARS: Readonly<Record<string, (i: number) => bigint>> = {
  random: () => bigBelow(random, r),
  zeros: () => 0n,
  "ones and minus ones": (i) => (i % 2 === 0 ? 1n : r - 1n),
  "around half the order": (i) => r / 2n + BigInt(i % 5) - 2n,
  "powers of two": (i) => 1n << BigInt(i % 253),
  mixed: (i) => (i % 4 === 0 ? bigBelow(random, r) : BigInt(i % 3)),
};

/** Little-endian, 32 bytes each. */
function scalarBytes(scalars: readonly bigint[]): Uint8Array {
  return Buffer.concat(scalars.map((scalar) => Buffer.from(scalar.toString(16).padStart(64, "0"), "hex").reverse()));
}

describe("the levels of a sum", () => {
  it("are as many as there is memory for, and the points alone where more do not pay", () => {
    for (const count of [1, 10, 1000, 10_000]) {
      expect(cheapestLevels(r, count, 1)).toEqual(ONE_LEVEL);
      for (const most of [2, 3, 8, 100]) {
        const { count: levels } = cheapestLevels(r, count, most);
        expect(levels).toBeGreaterThan(1);
        expect(levels).toBeLessThanOrEqual(Math.min(most, 8));
      }
    }
    expect(cheapestLevels(r, 16_384, 8).count).toBeGreaterThan(1);
    expect(cheapestLevels(r, 16_385, 8)).toEqual(ONE_LEVEL);
  });
});

describe.each(KERNEL_KINDS.flatMap((kind) => GROUPS.map((group) => ({ kind, group }))))(
  "a sum with levels in $group, $kind, seed " + String(random.seed),
  ({ kind, group }) => {
    it.each([1, 2, 17, 64, ...(group === "g1" ? [1025, 1500] : [300])])(
      "of %i points is right for every kind of scalars",
      (count) => {
        const setup = kernelSetup(kind, 1280);
        const { kernels, arena } = setup;
        const { pointBytes } = kernels[group];
        const logs = Array.from({ length: count }, () => random.pick(POOL));
        const levels = cheapestLevels(r, count, 8);
        const base = writeMultiples(setup, group, logs);
        const points = arena.take(count * levels.count * pointBytes);
        kernels.bytes(points, count * pointBytes).set(kernels.bytes(base, count * pointBytes));
        const of = { points, count, levels };
        const room = arena.take(levelScratchBytes(kernels, group));
        const scratch = new Arena(room, room + levelScratchBytes(kernels, group));
        for (const step of levelSteps(of)) writeLevel(kernels, group, { of, step }, scratch);
        const last = (levels.count - 1) * count + random.below(count);
        const factor = 1n << BigInt(levels.bits * (levels.count - 1));
        expect(readPoint(setup, group, points + last * pointBytes)).toEqual(
          nobleMultiple(group, (logs[last % count]! * factor) % r),
        );
        const target = arena.take(pointBytes);
        const scalarsAt = arena.take(32 * count);
        // Just the workspace that is foreseen.
        const workspace = msmListBytes(kernels, group, count, levels) + msmScratchBytes(kernels, group, count, levels);
        const start = arena.take(workspace);
        for (const [name, scalarOf] of Object.entries(SCALARS)) {
          const scalars = logs.map((_, i) => scalarOf(i));
          const sum = scalars.reduce((total, scalar, i) => total + scalar * logs[i]!, 0n);
          const expected = nobleMultiple(group, sum);
          kernels.bytes(scalarsAt, 32 * count).set(scalarBytes(scalars));
          for (const hasLevels of [true, false]) {
            const work = new Arena(start, start + workspace);
            const lists = takeMsmLists(kernels, group, work, { count, levels });
            const msm = new Msm(kernels, group, work);
            msm.prepare({ points, indices: 0, count, hasLevels, scalars: scalarsAt }, lists);
            for (let part = 0; part < msm.partCount(lists); part += 1) msm.runPart(lists, part);
            msm.finish(lists, target);
            expect(readPoint(setup, group, target), `${name}, ${String(hasLevels)}`).toEqual(expected);
          }
        }
      },
    );
  },
);
