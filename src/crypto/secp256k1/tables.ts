/**
 * Sums of points on secp256k1 for verification: u1 G + u2 Q from tables of multiples, in a quarter of the time without
 * them, and sums with small weights. Public values only, since the time depends on them. Points are in XYZZ coordinates
 * (x = X/ZZ, y = Y/ZZZ, ZZ^3 = ZZZ^2; https://hyperelliptic.org/EFD/g1p/auto-shortw-xyzz.html, madd-2008-s and
 * dbl-2008-s-1), table entries affine. Coordinates are residues of either sign. ARGUMENT.md has the whole composition.
 */
import { normalizeZ } from "@noble/curves/abstract/curve.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";

const { Point } = secp256k1;
type Point = InstanceType<typeof Point>;
const P = Point.Fp.ORDER;
/** Bits of a scalar and of the carry out of its signed digits. */
const SCALAR_BITS = 257;
/** With one more byte at the top, so that the last window is complete. */
const SCALAR_BYTES = 33;
/** 1,376 entries, about 200 KB. One more bit would double them for a seventh fewer additions. */
const DIGIT_BITS = 6;
const WINDOWS = Math.ceil(SCALAR_BITS / DIGIT_BITS);
/** Digits go from -ENTRIES to ENTRIES. */
const ENTRIES = 1 << (DIGIT_BITS - 1);

/** A finite point. */
export interface AffinePoint {
  readonly x: bigint;
  readonly y: bigint;
}

interface XyzzPoint {
  readonly X: bigint;
  readonly Y: bigint;
  readonly ZZ: bigint;
  readonly ZZZ: bigint;
}

/** A sum of points; undefined stands for the point at infinity. */
export type PointSum = XyzzPoint | undefined;

/** d 64^i P for each window i and each d from 1 to 32, so that k P is a sum of one entry per window. */
export class MultiplesTable {
  readonly #entries: readonly AffinePoint[];

  /** Costs one addition per entry, 20 ms in all. */
  constructor(point: Point) {
    const points: Point[] = [];
    let base = point;
    for (let window = 0; window < WINDOWS; window += 1) {
      let multiple = base;
      points.push(multiple);
      for (let d = 2; d <= ENTRIES; d += 1) points.push((multiple = multiple.add(base)));
      base = multiple.double();
    }
    this.#entries = normalizeZ(Point, points).map(({ X, Y }) => ({ x: X, y: Y }));
  }

  /**
   * Adds k P to a sum.
   * @param k from 0 to below 2^256
   */
  addMultiple(sum: PointSum, k: bigint): PointSum {
    const bytes = Buffer.from(k.toString(16).padStart(2 * SCALAR_BYTES, "0"), "hex");
    let total = sum;
    let carry = 0;
    for (let window = 0; window < WINDOWS; window += 1) {
      const digit = digitAt(bytes, window) + carry;
      carry = digit > ENTRIES ? 1 : 0;
      const d = digit - 2 * ENTRIES * carry;
      const entry = this.#entries[window * ENTRIES + Math.abs(d) - 1];
      if (d !== 0 && entry !== undefined) total = addAffine(total, entry.x, d < 0 ? -entry.y : entry.y);
    }
    return total;
  }
}

/** Returns sums in affine form, with one inversion for all; undefined stands for the point at infinity. */
export function affineSums(sums: readonly PointSum[]): (AffinePoint | undefined)[] {
  const { Fp } = Point;
  // 1/ZZZ = t gives 1/ZZ = (t ZZ)^2, since ZZ^3 = ZZZ^2. Infinity has no ZZZ and gets none back.
  const inverses = Fp.invertBatch(sums.map((sum) => Fp.create(sum?.ZZZ ?? 0n)));
  return sums.map((sum, index) => {
    const inverse = inverses[index] ?? 0n;
    return sum === undefined
      ? undefined
      : { x: Fp.create(sum.X * Fp.sqr(Fp.create(inverse * sum.ZZ))), y: Fp.create(sum.Y * inverse) };
  });
}

/**
 * Returns the sum of points, each times its weight.
 * @param weights positive; each bit costs one doubling, and a third of an addition per point
 */
export function weightedSum(points: readonly AffinePoint[], weights: readonly bigint[]): PointSum {
  const digits = weights.map(nonAdjacentForm);
  let sum: PointSum;
  for (let at = Math.max(0, ...digits.map(({ length }) => length)) - 1; at >= 0; at -= 1) {
    sum = doubled(sum);
    for (const [index, { x, y }] of points.entries()) {
      const digit = digits[index]?.[at] ?? 0;
      if (digit !== 0) sum = addAffine(sum, x, digit < 0 ? -y : y);
    }
  }
  return sum;
}

/** Returns a sum plus the point (x, y). */
export function addAffine(sum: PointSum, x: bigint, y: bigint): PointSum {
  if (sum === undefined) return { X: x, Y: y, ZZ: 1n, ZZZ: 1n };
  const { X, Y, ZZ, ZZZ } = sum;
  const p = (x * ZZ - X) % P;
  const r = (y * ZZZ - Y) % P;
  if (p === 0n) return r === 0n ? doubled(sum) : undefined;
  const pp = (p * p) % P;
  const ppp = (p * pp) % P;
  const q = (X * pp) % P;
  const x3 = (r * r - ppp - 2n * q) % P;
  return { X: x3, Y: (r * (q - x3) - Y * ppp) % P, ZZ: (ZZ * pp) % P, ZZZ: (ZZZ * ppp) % P };
}

/** The group's order is odd, so that no point's double is infinity. */
function doubled(sum: PointSum): PointSum {
  if (sum === undefined) return undefined;
  const { X, Y, ZZ, ZZZ } = sum;
  const u = 2n * Y;
  const v = (u * u) % P;
  const w = (u * v) % P;
  const s = (X * v) % P;
  const m = (3n * X * X) % P;
  const x3 = (m * m - 2n * s) % P;
  return { X: x3, Y: (m * (s - x3) - w * Y) % P, ZZ: (v * ZZ) % P, ZZZ: (w * ZZZ) % P };
}

/**
 * The non-adjacent form of a positive number: digits -1, 0 and 1 in base 2, lowest first, no two neighbours non-zero.
 */
function nonAdjacentForm(k: bigint): number[] {
  const triple = 3n * k;
  const [plus, minus] = [triple & (triple ^ k), k & (triple ^ k)].map((bits) =>
    (bits >> 1n).toString(2).padStart(k.toString(2).length + 1, "0"),
  );
  return Array.from(plus ?? "", (bit, at) => Number(bit) - Number(minus?.[at])).reverse();
}

/** The bits of a scalar in one of its windows, the lowest window first; the bits above the scalar are for the carry. */
function digitAt(scalar: Buffer, window: number): number {
  const bit = window * DIGIT_BITS;
  const at = SCALAR_BYTES - 1 - (bit >> 3);
  return ((((scalar[at - 1] ?? 0) << 8) | (scalar[at] ?? 0)) >> (bit & 7)) & (2 * ENTRIES - 1);
}
