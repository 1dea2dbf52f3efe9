/**
 * Sums of points by tables and by weights against the library's, at the edges of scalars and digits, and where equal or
 * opposite points meet.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  addAffine,
  affineSums,
  MultiplesTable,
  weightedSum,
  type AffinePoint,
  type PointSum,
} from "../../../src/crypto/secp256k1/tables.js";

const { Point } = secp256k1;
const ORDER = Point.Fn.ORDER;
const Q = Point.BASE.multiply(0x1234567890abcdef1234567890abcdefn);
const base = new MultiplesTable(Point.BASE);
const other = new MultiplesTable(Q);

const part = (point: typeof Q, k: bigint): typeof Q => (k === 0n ? Point.ZERO : point.multiplyUnsafe(k));
const scalar = (name: string): bigint => BigInt(`0x${createHash("sha256").update(name).digest("hex")}`) % ORDER;
const affine = (sum: PointSum): AffinePoint | undefined => affineSums([sum])[0];
const sumByTables = (...terms: readonly [table: MultiplesTable, k: bigint][]): AffinePoint | undefined =>
  affine(terms.reduce<PointSum>((sum, [table, k]) => table.addMultiple(sum, k), undefined));

function coordinates(point: typeof Q): AffinePoint | undefined {
  if (point.is0()) return undefined;
  const { x, y } = point.toAffine();
  return { x, y };
}

function expected(u1: bigint, u2: bigint): AffinePoint | undefined {
  return coordinates(part(Point.BASE, u1).add(part(Q, u2)));
}

describe("secp256k1 sums by tables", () => {
  it("equal the library's for scalars at the edges of digits and of the order", () => {
    const edges = [
      1n,
      31n,
      32n,
      33n,
      63n,
      64n,
      65n,
      32n * 64n + 32n,
      33n * 64n ** 41n,
      BigInt(`0x${"82".repeat(32)}`) % ORDER,
      (1n << 255n) + 33n,
      ORDER >> 1n,
      ORDER - 1n,
    ];
    for (const u1 of [0n, ...edges])
      for (const u2 of edges)
        expect(sumByTables([base, u1], [other, u2]), `${String(u1)}, ${String(u2)}`).toEqual(expected(u1, u2));
  });

  it("equal the library's for scalars without a pattern", () => {
    for (let i = 0; i < 40; i += 1) {
      const [u1, u2] = [scalar(`u1 ${String(i)}`), scalar(`u2 ${String(i)}`)];
      expect(sumByTables([base, u1], [other, u2])).toEqual(expected(u1, u2));
    }
  });

  it("hold where nothing is added, and where equal or opposite points meet", () => {
    expect(sumByTables([base, 0n], [other, 0n])).toBeUndefined();
    expect(sumByTables([base, 5n], [base, 5n])).toEqual(expected(10n, 0n));
    expect(sumByTables([base, 5n], [base, ORDER - 5n])).toBeUndefined();
    expect(sumByTables([base, 5n], [base, ORDER - 5n], [other, 7n])).toEqual(expected(0n, 7n));
  });

  it("become affine together, also beside the point at infinity", () => {
    const sums = [7n, 0n, 9n].map((k) => base.addMultiple(undefined, k));
    expect(affineSums(sums)).toEqual([expected(7n, 0n), undefined, expected(9n, 0n)]);
    expect(affineSums([])).toEqual([]);
  });
});

describe("secp256k1 sums by weights", () => {
  const points = Array.from({ length: 6 }, (_, at) => Point.BASE.multiply(scalar(`point ${String(at)}`)));
  const sumByWeights = (weights: readonly bigint[], of = points): AffinePoint | undefined =>
    affine(
      weightedSum(
        of.slice(0, weights.length).map((point) => coordinates(point)!),
        weights,
      ),
    );

  it("equal the library's for weights of all lengths", () => {
    for (const weights of [
      [1n],
      [2n],
      [3n],
      [(1n << 64n) - 1n],
      [1n, 1n],
      [1n, 2n, 3n, 4n, 5n, 6n],
      points.map((_, at) => scalar(`weight ${String(at)}`) >> 192n),
      points.map((_, at) => scalar(`weight ${String(at)}`) >> BigInt(40 * at)),
    ]) {
      expect(sumByWeights(weights), weights.join()).toEqual(
        coordinates(weights.reduce((sum, weight, at) => sum.add(points[at]!.multiplyUnsafe(weight)), Point.ZERO)),
      );
    }
  });

  it("hold where equal and opposite points meet", () => {
    const [one] = points as [typeof Q];
    expect(sumByWeights([3n, 5n], [one, one])).toEqual(coordinates(one.multiplyUnsafe(8n)));
    expect(sumByWeights([3n, 5n], [one, one.negate()])).toEqual(coordinates(one.multiplyUnsafe(2n).negate()));
    expect(sumByWeights([3n, 3n], [one, one.negate()])).toBeUndefined();
    expect(weightedSum([], [])).toBeUndefined();
  });

  it("start from any sum", () => {
    const { x, y } = coordinates(Q)!;
    expect(affine(addAffine(base.addMultiple(undefined, 3n), x, y))).toEqual(expected(3n, 1n));
    expect(addAffine(other.addMultiple(undefined, 1n), x, -y)).toBeUndefined();
  });
});
