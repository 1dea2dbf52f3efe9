import { bn254 } from "@noble/curves/bn254.js";
import { beforeAll, describe, expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import type { CurveKernels } from "../../../src/engine/curves/curve-kernels.js";
import { rootOfUnity } from "../../../src/engine/curves/curve-parameters.js";
import { encodeG1, isOnTwist, negateG1 } from "../../../src/engine/curves/points.js";
import type { G1Point, G2Point } from "../../../src/engine/curves/points.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { addFq2, multiplyFq2, power, squareRootFq2 } from "../../../src/engine/field/prime-field.js";
import { readBigIntLE, writeBigIntLE } from "../../../src/engine/field/bytes.js";
import { scalarBytes, seededRandom } from "../../support/groth16-fixtures.js";
import { generatorMultiples } from "../../support/kernels.js";

const G1 = bn254.G1.Point,
  G2 = bn254.G2.Point;
type NobleG1 = InstanceType<typeof G1>;
type NobleG2 = InstanceType<typeof G2>;

const fromNobleG1 = (point: NobleG1): G1Point => point.toAffine();
const fromNobleG2 = (point: NobleG2): G2Point => point.toAffine();
const multipleG1 = (scalar: bigint): G1Point | undefined =>
  scalar % BN254.r === 0n ? undefined : fromNobleG1(G1.BASE.multiply(scalar % BN254.r));
const multipleG2 = (scalar: bigint): G2Point | undefined =>
  scalar % BN254.r === 0n ? undefined : fromNobleG2(G2.BASE.multiply(scalar % BN254.r));
const pack = (points: readonly (G1Point | undefined)[]): Uint8Array =>
  Buffer.concat(points.map((point) => (point === undefined ? new Uint8Array(64) : encodeG1(point, BN254))));

describe("the reference kernels of BN254", () => {
  let kernels: CurveKernels;
  beforeAll(async () => {
    kernels = await loadReferenceKernels();
  });
  const random = seededRandom("kernels");
  const scalar = (): bigint => random.below(BN254.r);

  it.each([1, 2, 3, 10, 257, 3000])("sums %i multiples like noble", (count) => {
    // Bases are known multiples, so that the expected sum is one multiplication.
    const logs = Array.from({ length: count }, scalar);
    const bases = generatorMultiples("g1", logs);
    for (const bits of [254n, 64n, 32n, 16n, 8n, 1n]) {
      const scalars = logs.map(() => scalar() % 2n ** bits);
      const expected = scalars.reduce((sum, value, i) => (sum + value * logs[i]!) % BN254.r, 0n);
      expect(kernels.msmG1(bases, scalarBytes(scalars))).toEqual(multipleG1(expected));
    }
  });

  it("sums multiples in G2", () => {
    const logs = Array.from({ length: 300 }, scalar),
      scalars = logs.map(scalar);
    const bases = generatorMultiples("g2", logs);
    const expected = scalars.reduce((sum, value, i) => (sum + value * logs[i]!) % BN254.r, 0n);
    expect(kernels.msmG2(bases, scalarBytes(scalars))).toEqual(multipleG2(expected));
  });

  it("sums repeated, opposite and infinite points in any mixture of scalars", () => {
    const p = multipleG1(scalar())!;
    const points = [p, p, negateG1(p, BN254), undefined, p, negateG1(p, BN254), p, p];
    const weights = [1n, 1n, 1n, 5n, 4n, 3n, BN254.r - 1n, 0n];
    const total = points.reduce(
      (sum, point, i) => (point === undefined ? sum : sum + (point === p ? weights[i]! : -weights[i]!)),
      0n,
    );
    const noble = G1.fromAffine(p).multiply(((total % BN254.r) + BN254.r) % BN254.r);
    expect(kernels.msmG1(pack(points), scalarBytes(weights))).toEqual(fromNobleG1(noble));
    expect(kernels.msmG1(pack([p, negateG1(p, BN254)]), scalarBytes([9n, 9n]))).toBeUndefined();
    expect(kernels.msmG1(pack([p, p, p, p]), scalarBytes([1n, 1n, BN254.r - 1n, BN254.r - 1n]))).toBeUndefined();
    expect(kernels.msmG1(pack([p, undefined]), scalarBytes([0n, 1n]))).toBeUndefined();
    expect(kernels.msmG1(new Uint8Array(0), new Uint8Array(0))).toBeUndefined();
  });

  it.each([70, 130, 700])(
    "sums %i terms over a handful of points and their negatives, where buckets cancel again and again",
    (count) => {
      for (let round = 0; round < 12; round += 1) {
        const logs = Array.from({ length: count }, () => [0n, 1n, -1n, 2n, -2n, 5n, 1n, -1n][random.integer(8)]!);
        const scalars = logs.map(
          () =>
            [0n, 1n, BN254.r - 1n, 2n, BigInt(random.integer(16)), 2n ** 40n + BigInt(random.integer(8)), scalar()][
              random.integer((round % 7) + 1)
            ]!,
        );
        const bases = generatorMultiples("g1", logs),
          bases2 = generatorMultiples("g2", logs);
        const expected =
          ((scalars.reduce((sum, value, i) => sum + value * logs[i]!, 0n) % BN254.r) + BN254.r) % BN254.r;
        expect(kernels.msmG1(bases, scalarBytes(scalars)), `round ${String(round)}`).toEqual(multipleG1(expected));
        expect(kernels.msmG2(bases2, scalarBytes(scalars)), `round ${String(round)}`).toEqual(multipleG2(expected));
      }
    },
  );

  it("sums a bucket in which moved points and new results would share a place", () => {
    // Sixteen equal points with two cancelling pairs among them: the fourth result of a level once overwrote the second
    // one's point.
    const signs = [1n, 1n, 1n, 1n, -1n, 1n, 1n, 1n, 1n, -1n, 1n, 1n, 1n, 1n, 1n, 1n];
    const logs = [...signs, ...Array.from({ length: 60 }, () => 0n)];
    const bases = generatorMultiples("g1", logs);
    expect(kernels.msmG1(bases, scalarBytes(logs.map(() => 1n)))).toEqual(multipleG1(12n));
  });

  it("refuses points and scalars that differ in number", () => {
    expect(() => kernels.msmG1(new Uint8Array(64), new Uint8Array(64))).toThrow(RangeError);
    expect(() => kernels.msmG1(new Uint8Array(65), new Uint8Array(32))).toThrow(RangeError);
  });

  it("combines a few points like noble", () => {
    const [a, b] = [scalar(), scalar()],
      terms = Array.from({ length: 45 }, () => [scalar(), scalar()] as const);
    expect(
      kernels.combineG1([
        { point: multipleG1(a), scalar: b },
        { point: undefined, scalar: a },
      ]),
    ).toEqual(multipleG1(a * b));
    expect(kernels.combineG2([{ point: multipleG2(a), scalar: b }])).toEqual(multipleG2(a * b));
    expect(kernels.combineG1(terms.map(([log, value]) => ({ point: multipleG1(log), scalar: value })))).toEqual(
      multipleG1(terms.reduce((sum, [log, value]) => sum + log * value, 0n)),
    );
    expect(
      kernels.combineG1([
        { point: multipleG1(a), scalar: b },
        { point: negateG1(multipleG1(a)!, BN254), scalar: b },
      ]),
    ).toBeUndefined();
  });

  it("finds the same G2 subgroup as noble", () => {
    const inside = Array.from({ length: 8 }, () => multipleG2(scalar())!);
    expect(inside.every((point) => kernels.isInSubgroupG2(point))).toBe(true);
    let outside = 0;
    while (outside < 24) {
      const x = { c0: random.below(BN254.q), c1: random.below(BN254.q) };
      const y = squareRootFq2(
        addFq2(multiplyFq2(multiplyFq2(x, x, BN254.q), x, BN254.q), BN254.twistB, BN254.q),
        BN254.q,
      );
      if (y === undefined) continue;
      const point = { x, y };
      expect(isOnTwist(point, BN254)).toBe(true);
      expect(kernels.isInSubgroupG2(point)).toBe(G2.fromAffine(point).isTorsionFree());
      outside += 1;
    }
  });

  it("refuses every point of small order in the cofactor", () => {
    // 10,069 is the least prime factor of the cofactor 2q - r; a point of that order is the worst case of a
    // probabilistic test.
    const cofactor = 2n * BN254.q - BN254.r;
    expect(cofactor % 10069n).toBe(0n);
    for (let found = 0; found < 3;) {
      const x = { c0: random.below(BN254.q), c1: random.below(BN254.q) };
      const y = squareRootFq2(
        addFq2(multiplyFq2(multiplyFq2(x, x, BN254.q), x, BN254.q), BN254.twistB, BN254.q),
        BN254.q,
      );
      if (y === undefined) continue;
      const small = timesAnything(timesAnything(G2.fromAffine({ x, y }), BN254.r), cofactor / 10069n);
      if (small.is0()) continue;
      expect(kernels.isInSubgroupG2(small.toAffine())).toBe(false);
      const mixed = small.add(G2.BASE.multiply(scalar()));
      expect(kernels.isInSubgroupG2(mixed.toAffine())).toBe(false);
      found += 1;
    }
  });

  it("pairs bilinearly, with prepared points too, and not degenerately", () => {
    const [a, b] = [scalar(), scalar()];
    const product = kernels.pairingProduct([{ g1: multipleG1(a)!, g2: multipleG2(b)! }]);
    const swapped = kernels.pairingProduct([{ g1: multipleG1(b)!, g2: kernels.prepareG2(multipleG2(a)!) }]);
    const split = kernels.pairingProduct([
      { g1: multipleG1(a * b - 1n)!, g2: BN254.generatorG2 },
      { g1: BN254.generatorG1, g2: BN254.generatorG2 },
    ]);
    const other = kernels.pairingProduct([{ g1: multipleG1(a + 1n)!, g2: multipleG2(b)! }]);
    expect(kernels.equalPairingValues(product, swapped)).toBe(true);
    expect(kernels.equalPairingValues(product, split)).toBe(true);
    expect(kernels.equalPairingValues(product, other)).toBe(false);
  });

  it("moves a product of polynomials to the shifted domain", () => {
    // A has one entry per row (the witness itself), B is the constant 1: then A * B - C is zero everywhere.
    const domainPower = 3,
      size = 8;
    const witness = Array.from({ length: size }, (_, i) => (i === 0 ? 1n : scalar()));
    const entry = (matrix: number, row: number, wire: number, value: bigint): Uint8Array => {
      const bytes = new Uint8Array(44),
        view = new DataView(bytes.buffer);
      [matrix, row, wire].forEach((word, i) => {
        view.setUint32(4 * i, word, true);
      });
      writeBigIntLE((value * power(2n, 512n, BN254.r)) % BN254.r, bytes, 12);
      return bytes;
    };
    const rows = witness.map((_, i) => i);
    const trivial = Buffer.concat(rows.flatMap((i) => [entry(0, i, i, 1n), entry(1, i, 0, 1n)]));
    const zero = kernels.quotientOnCoset({ entries: trivial, domainPower }, scalarBytes(witness));
    expect(zero.every((byte) => byte === 0)).toBe(true);
    // B = A: compare with direct interpolation and evaluation in bigints.
    const squares = Buffer.concat(rows.flatMap((i) => [entry(0, i, i, 1n), entry(1, i, i, 1n)]));
    const result = kernels.quotientOnCoset({ entries: squares, domainPower }, scalarBytes(witness));
    const w = rootOfUnity(BN254, domainPower),
      shift = rootOfUnity(BN254, domainPower + 1);
    const evaluate = (values: readonly bigint[], at: bigint): bigint =>
      rows.reduce((sum, i) => sum + values[i]! * lagrange(i, at, w, size), 0n) % BN254.r;
    for (const i of rows) {
      const at = (shift * power(w, BigInt(i), BN254.r)) % BN254.r;
      const a = evaluate(witness, at),
        c = evaluate(
          witness.map((value) => (value * value) % BN254.r),
          at,
        );
      expect(readBigIntLE(result, 32 * i)).toBe((a * a - c + BN254.r * BN254.r) % BN254.r);
    }
  });
});

/** noble multiplies by scalars below the group order only; these points are outside the group. */
function timesAnything(point: NobleG2, scalar: bigint): NobleG2 {
  let result = G2.ZERO;
  for (const bit of scalar.toString(2)) {
    result = result.double();
    if (bit === "1") result = result.add(point);
  }
  return result;
}

function lagrange(index: number, at: bigint, root: bigint, size: number): bigint {
  let numerator = 1n,
    denominator = 1n;
  const node = power(root, BigInt(index), BN254.r);
  for (let j = 0; j < size; j += 1) {
    if (j === index) continue;
    const other = power(root, BigInt(j), BN254.r);
    numerator = (numerator * (at - other + BN254.r)) % BN254.r;
    denominator = (denominator * (node - other + BN254.r)) % BN254.r;
  }
  return (numerator * power(denominator, BN254.r - 2n, BN254.r)) % BN254.r;
}
