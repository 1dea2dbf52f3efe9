/** Many sums of a few multiples at once, against the reference; the point of number i is i + 1 times the generator. */
import { beforeAll, describe, expect, it } from "vitest";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import { encodeG1, encodeG2 } from "../../../../src/engine/curves/points.js";
import type { CurveKernels } from "../../../../src/engine/curves/curve-kernels.js";
import { writeBigIntLE } from "../../../../src/engine/field/bytes.js";
import { PointRowSums, ROW_TERMS_MAX } from "../../../../src/engine/kernels/msm/point-rows.js";
import type { PointRows } from "../../../../src/engine/kernels/msm/point-rows.js";
import { loadReferenceKernels } from "../../../../src/engine/reference/reference-kernels.js";
import { bigBelow } from "../../../support/kernels.js";
import { seededRandom } from "../../../support/seeded.js";

const { r } = BN254;
const POINTS = 12;
type Term = readonly [point: number, scalar: bigint];

describe("sums of rows of points", () => {
  let kernels: CurveKernels;
  const sums = new PointRowSums(BN254);

  beforeAll(async () => {
    kernels = await loadReferenceKernels(BN254);
  });

  /** The point after the last is infinity. */
  const rowsOf = (group: "g1" | "g2", rows: readonly (readonly Term[])[]): PointRows => {
    const points = Array.from({ length: POINTS }, (_, i) => point(group, BigInt(i + 1)));
    const terms = rows.flat();
    const scalars = new Uint8Array(terms.length * 32);
    for (const [i, [, scalar]] of terms.entries()) writeBigIntLE(scalar, scalars, 32 * i);
    let end = 0;
    return {
      group,
      points: Buffer.concat([...points, new Uint8Array(points[0]!.length)]),
      starts: Uint32Array.from([0, ...rows.map((row) => (end += row.length))]),
      pointOf: Uint32Array.from(terms.map(([i]) => i)),
      scalarOf: Uint32Array.from(terms.keys()),
      scalars,
    };
  };
  const point = (group: "g1" | "g2", logarithm: bigint): Uint8Array => {
    const bytes = group === "g1" ? 64 : 128;
    if (logarithm % r === 0n) return new Uint8Array(bytes);
    if (group === "g1")
      return encodeG1(kernels.combineG1([{ point: BN254.generatorG1, scalar: logarithm % r }])!, BN254);
    return encodeG2(kernels.combineG2([{ point: BN254.generatorG2, scalar: logarithm % r }])!, BN254);
  };
  const sumOf = (rows: PointRows, range: { first: number; count: number }): Buffer => {
    const output = new Uint8Array(range.count * (rows.group === "g1" ? 64 : 128));
    sums.sum(rows, range, output);
    return Buffer.from(output);
  };
  const expected = (group: "g1" | "g2", rows: readonly (readonly Term[])[]): Buffer =>
    Buffer.concat(
      rows.map((row) =>
        point(
          group,
          row.reduce((sum, [i, scalar]) => sum + (i === POINTS ? 0n : BigInt(i + 1) * scalar), 0n),
        ),
      ),
    );

  it.each(["g1", "g2"] as const)("are those of the reference, at every edge of the scalars, in %s", (group) => {
    const edges = [0n, 1n, 2n, 7n, 8n, 9n, 15n, 16n, 2n ** 128n, (r - 1n) / 2n, (r + 1n) / 2n, r - 2n, r - 1n];
    const rows: Term[][] = [
      [],
      ...edges.map((edge): Term[] => [[3, edge]]),
      [
        [0, r - 2n],
        [1, 1n],
      ],
      [
        [2, 5n],
        [2, 5n],
        [2, r - 5n],
      ],
      [
        [POINTS, 77n],
        [4, 1n],
      ],
      [[POINTS, r - 1n]],
      [
        [0, 4n],
        [3, 1n],
      ],
    ];
    const matrix = rowsOf(group, rows);
    expect(sumOf(matrix, { first: 0, count: rows.length })).toEqual(expected(group, rows));
    expect(sumOf(matrix, { first: 3, count: 4 })).toEqual(expected(group, rows.slice(3, 7)));
  });

  it.each(["g1", "g2"] as const)("are those of the reference for random rows in %s", (group) => {
    const random = seededRandom();
    const rows = Array.from({ length: 24 }, () =>
      Array.from({ length: random.below(6) }, (): Term => {
        const scalar = random.chance(0.5) ? BigInt(random.below(20)) : bigBelow(random, r);
        return [random.below(POINTS + 1), random.chance(0.3) ? (r - scalar) % r : scalar];
      }),
    );
    expect(sumOf(rowsOf(group, rows), { first: 0, count: rows.length }), `seed ${random.seed}`).toEqual(
      expected(group, rows),
    );
  });

  it("takes one row with as many terms as a call may have, and no more", () => {
    const row = Array.from({ length: ROW_TERMS_MAX }, (_, i): Term => [i % POINTS, BigInt(i)]);
    expect(sumOf(rowsOf("g1", [row]), { first: 0, count: 1 })).toEqual(expected("g1", [row]));
    const longer = rowsOf("g1", [[...row, [0, 1n]]]);
    expect(() => sumOf(longer, { first: 0, count: 1 })).toThrow("too many");
  });
});
