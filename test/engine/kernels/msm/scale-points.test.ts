/** Many points times one number, against noble, on both kinds of kernels and both curves. */
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { bn254 } from "@noble/curves/bn254.js";
import { describe, expect, it } from "vitest";
import { BLS12_381 } from "../../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import { decodeG1, encodeG1 } from "../../../../src/engine/curves/points.js";
import type { G1Point } from "../../../../src/engine/curves/points.js";
import { PointScaler } from "../../../../src/engine/kernels/msm/scale-points.js";
import { seededRandom } from "../../../support/seeded.js";

const random = seededRandom();

function below(order: bigint): bigint {
  let value = 0n;
  for (let i = 0; i < 9; i += 1) value = (value << 32n) | BigInt(random.below(2 ** 32));
  return 1n + (value % (order - 1n));
}

describe.each([
  ["fma", BN254, bn254.G1.Point],
  ["integer", BN254, bn254.G1.Point],
  ["fma", BLS12_381, bls12_381.G1.Point],
  ["integer", BLS12_381, bls12_381.G1.Point],
] as const)("points times one number, %s", (kind, curve, Point) => {
  const bytes = 2 * curve.fqBytes;
  const toNoble = ({ x, y }: G1Point) => Point.fromAffine({ x, y });
  const some = Array.from({ length: 11 }, (_, i) =>
    // Equal points, opposite ones and infinity among others.
    i === 4 ? undefined : toNoble(curve.generatorG1).multiply(i === 5 ? 9n : BigInt(2 * i + 1)),
  );
  const points = new Uint8Array(some.length * bytes);
  for (const [i, point] of some.entries())
    if (point !== undefined) points.set(encodeG1(point.toAffine(), curve), i * bytes);

  it(`agrees with noble on ${curve.name}`, () => {
    const { r, endomorphismScalar: lambda } = curve;
    const small = [lambda + 1n, 2n * lambda + 1n, r - 3n * lambda - 16n, 16n * lambda + 31n].map(
      (value) => (value + 3n * r) % r,
    );
    // Halves of either sign, as long as they come, and one alone.
    const half = 1n << BigInt(Math.floor(r.toString(2).length / 2) - 1);
    const halves = [half + half * lambda, half - half * lambda, -half - half * lambda, half, -half, half * lambda].map(
      (value) => ((value % r) + r) % r,
    );
    const ends = [1n, 2n, 3n, 16n, r - 1n, r - 2n, lambda, r - lambda, r >> 1n, (r >> 1n) + 1n];
    for (const scalar of [...ends, ...small, ...halves, below(r), below(r), below(r)]) {
      const output = new Uint8Array(points.length);
      const scaler = new PointScaler(curve, scalar, kind);
      scaler.scale(points, output);
      for (const [i, point] of some.entries()) {
        const own = output.subarray(i * bytes, (i + 1) * bytes);
        if (point === undefined) expect(own.every((byte) => byte === 0)).toBe(true);
        else
          expect(decodeG1(own, 0, curve), `seed ${random.seed}, ${scalar}`).toEqual(point.multiply(scalar).toAffine());
      }
      scaler.wipe();
    }
  });

  it(`works in place, over more points than one pass takes, on ${curve.name}`, () => {
    const scalar = below(curve.r);
    const count = 2048 + 3;
    const many = new Uint8Array(count * bytes);
    for (let i = 0; i < count; i += 1)
      many.set(points.subarray((i % some.length) * bytes, ((i % some.length) + 1) * bytes), i * bytes);
    const expected = new Uint8Array(points.length);
    const scaler = new PointScaler(curve, scalar, kind);
    scaler.scale(points, expected);
    scaler.scale(many, many);
    for (const i of [0, 4, 11, 2047, 2048, count - 1])
      expect(Buffer.from(many.subarray(i * bytes, (i + 1) * bytes)), `seed ${random.seed}, ${i}`).toEqual(
        Buffer.from(expected.subarray((i % some.length) * bytes, ((i % some.length) + 1) * bytes)),
      );
  });

  it(`refuses points that are not on ${curve.name}, of which small multiples would tell the number`, () => {
    const scaler = new PointScaler(curve, below(curve.r), kind);
    for (const at of [0, 1, some.length - 1]) {
      const wrong = points.slice();
      const place = at * bytes + curve.fqBytes;
      wrong[place] = (wrong[place] ?? 0) ^ 1;
      expect(scaler.scale(wrong, new Uint8Array(points.length)), `point ${at}`).toBe(false);
    }
    expect(scaler.scale(points, new Uint8Array(points.length))).toBe(true);
  });

  it(`refuses numbers that have no inverse on ${curve.name}`, () => {
    for (const scalar of [0n, -1n, curve.r, curve.r + 1n])
      expect(() => new PointScaler(curve, scalar, kind)).toThrow(RangeError);
  });
});
