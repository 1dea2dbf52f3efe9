import { describe, expect, it } from "vitest";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import { FixedBase } from "../../../../src/engine/kernels/msm/fixed-base.js";
import { Msm } from "../../../../src/engine/kernels/msm/msm.js";
import { msmWorkspaceBytes } from "../../../../src/engine/kernels/msm/msm-lists.js";
import { Arena } from "../../../../src/engine/kernels/wasm/arena.js";
import {
  KERNEL_KINDS,
  bigBelow,
  kernelSetup,
  nobleMultiple,
  readPoint,
  writeMultiples,
  writeScalars,
} from "../../../support/kernels.js";
import type { Group } from "../../../support/kernels.js";
import { seededRandom } from "../../../support/seeded.js";

const random = seededRandom();
const r = BN254.r;
const GROUPS: readonly Group[] = ["g1", "g2"];
/** Few distinct points, so that they repeat, with opposite and infinite ones among them. */
const POOL = [
  ...Array.from({ length: 24 }, (_, i) => BigInt(i + 1)),
  r - 1n,
  r - 2n,
  0n,
  ...Array.from({ length: 5 }, () => bigBelow(random, r)),
];

const SCALARS: Readonly<Record<string, (i: number) => bigint>> = {
  random: () => bigBelow(random, r),
  zeros: () => 0n,
  ones: () => 1n,
  "minus ones": () => r - 1n,
  bits: (i) => BigInt(i % 2),
  small: (i) => BigInt(i % 9),
  "around half the order": (i) => r / 2n + BigInt(i % 5) - 2n,
  "powers of two": (i) => 1n << BigInt(i % 253),
  "one value": () => 0x123456789abcdef0123456789abcdef0n,
  mixed: (i) => (i % 4 === 0 ? bigBelow(random, r) : BigInt(i % 3)),
};

describe.each(KERNEL_KINDS.flatMap((kind) => GROUPS.map((group) => ({ kind, group }))))(
  "multi-scalar multiplication in $group, $kind, seed " + String(random.seed),
  ({ kind, group }) => {
    const lengths = [
      0,
      1,
      2,
      3,
      4,
      5,
      7,
      8,
      9,
      15,
      16,
      17,
      31,
      32,
      33,
      63,
      64,
      65,
      127,
      129,
      255,
      257,
      ...(group === "g1" ? [1023, 1025, 4095] : [511]),
    ];

    it.each(lengths)("sums %i points for every kind of scalars", (count) => {
      const setup = kernelSetup(kind, 640);
      const { kernels, arena } = setup;
      const logs = Array.from({ length: count }, () => random.pick(POOL));
      const points = writeMultiples(setup, group, logs);
      const target = arena.take(kernels[group].pointBytes);
      for (const [name, scalarOf] of Object.entries(SCALARS)) {
        const scalars = logs.map((_, i) => scalarOf(i));
        const sum = scalars.reduce((total, scalar, i) => total + scalar * logs[i]!, 0n);
        arena.scoped(() => {
          new Msm(kernels, group, arena).run(
            { points, scalars: writeScalars(setup, scalars), indices: 0, count },
            target,
          );
        });
        expect(readPoint(setup, group, target), name).toEqual(nobleMultiple(group, sum));
      }
    });

    it("takes scalars by index, one of them for several points", () => {
      const setup = kernelSetup(kind, 640);
      const { kernels, arena } = setup;
      const logs = Array.from({ length: 100 }, () => random.pick(POOL));
      const scalars = Array.from({ length: 10 }, () => bigBelow(random, r));
      const indices = logs.map(() => random.below(scalars.length));
      const indicesAddress = arena.take(4 * indices.length);
      kernels.words(indicesAddress, indices.length).set(indices);
      const input = {
        points: writeMultiples(setup, group, logs),
        scalars: writeScalars(setup, scalars),
        indices: indicesAddress,
        count: logs.length,
      };
      const target = arena.take(kernels[group].pointBytes);
      new Msm(kernels, group, arena).run(input, target);
      expect(readPoint(setup, group, target)).toEqual(
        nobleMultiple(
          group,
          logs.reduce((sum, log, i) => sum + log * scalars[indices[i]!]!, 0n),
        ),
      );
    });

    it("keeps to its stated workspace, and throws when that is not there", () => {
      const count = 600;
      const setup = kernelSetup(kind, 640);
      const { kernels, arena } = setup;
      const points = writeMultiples(
        setup,
        group,
        Array.from({ length: count }, () => 7n),
      );
      const scalars = writeScalars(
        setup,
        Array.from({ length: count }, () => 0x1_2345_6789n),
      );
      const target = arena.take(kernels[group].pointBytes);
      const start = arena.take(0);
      const run = (bytes: number): void => {
        new Msm(kernels, group, new Arena(start, start + bytes)).run({ points, scalars, indices: 0, count }, target);
      };
      run(msmWorkspaceBytes(kernels, group, count));
      expect(readPoint(setup, group, target)).toEqual(nobleMultiple(group, 7n * 0x1_2345_6789n * BigInt(count)));
      expect(() => {
        run(20_000);
      }).toThrow(RangeError);
    });

    it("multiplies a fixed point by many scalars", () => {
      const setup = kernelSetup(kind, 640);
      const { kernels, arena } = setup;
      const scalars = [
        0n,
        1n,
        r - 1n,
        2n,
        r - 2n,
        r / 2n,
        r / 2n + 1n,
        1n << 253n,
        ...Array.from({ length: 30 }, () => bigBelow(random, r)),
      ];
      const point = writeMultiples(setup, group, [3n]);
      const bytes = kernels.bytes(writeScalars(setup, scalars), scalars.length * 32).slice();
      const rawBytes = group === "g1" ? 64 : 128;
      const output = new Uint8Array(scalars.length * rawBytes);
      new FixedBase(kernels, group, arena, { point, expectedCount: scalars.length }).multiply(bytes, output);
      const expected = scalars.flatMap((scalar) =>
        (nobleMultiple(group, 3n * scalar) ?? Array.from({ length: rawBytes / 32 }, () => 0n)).map(
          (coordinate) => (coordinate << 256n) % BN254.q,
        ),
      );
      const words = Array.from({ length: output.length / 32 }, (_, i) =>
        BigInt(`0x${Buffer.from(output.slice(32 * i, 32 * i + 32).reverse()).toString("hex")}`),
      );
      expect(words).toEqual(expected);
    });
  },
);
