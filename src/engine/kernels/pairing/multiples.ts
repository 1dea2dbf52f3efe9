/**
 * Multiples of points of G1 and their sums: Straus' interleaving over the two halves of each scalar (scalar-halves.ts), a point or a sum
 * per lane. The halves share one table, because the second needs the images of the same entries.
 */
import type { G1Point } from "../../curve/points.js";
import { BN254 } from "../curves.js";
import { MULTIPLES } from "./lane-multiples.js";
import { BN254_PAIRING } from "./pairing-constants.js";
import type { PairingMemory } from "./pairing-memory.js";
import { scalarHalves } from "./scalar-halves.js";

export interface Multiple {
  readonly point: G1Point;
  readonly scalar: bigint;
}

const WINDOW_BITS = 4;
/** Points whose tables lie in memory at once; longer sums take as many passes. */
const POINTS_MAX = 256;
const halvesOf = scalarHalves(BN254.fr, BN254_PAIRING.endomorphismScalar);

/** One point per lane, with its table and the digits of its halves, the lowest first. */
interface Group {
  readonly tables: readonly number[];
  readonly digits: readonly (readonly [readonly number[], readonly number[]])[];
}

/** The sum; undefined for infinity. */
export function sumOfMultiples(memory: PairingMemory, terms: readonly Multiple[]): G1Point | undefined {
  const { elementBytes, lanes } = memory.layout;
  return memory.scoped(() => {
    const sum = memory.take(3 * elementBytes), part = memory.take(3 * elementBytes);
    for (let start = 0; start === 0 || start < terms.length; start += POINTS_MAX) {
      memory.scoped(() => {
        const accumulator = memory.take(3 * elementBytes * lanes);
        accumulate(memory, accumulator, groupsOf(memory, terms.slice(start, start + POINTS_MAX)));
        memory.call("g1_lane_sum", start === 0 ? sum : part, accumulator);
      });
      if (start > 0) memory.call("g1_add_points", sum, sum, part);
    }
    return toAffine(memory, sum, 1)[0];
  });
}

/** Each multiple; undefined for infinity. */
export function eachMultiple(memory: PairingMemory, terms: readonly Multiple[]): (G1Point | undefined)[] {
  const { elementBytes, lanes } = memory.layout;
  const results: (G1Point | undefined)[] = [];
  for (let start = 0; start < terms.length; start += POINTS_MAX) {
    const part = terms.slice(start, start + POINTS_MAX);
    results.push(...memory.scoped(() => {
      const groups = groupsOf(memory, part);
      const accumulator = memory.take(3 * elementBytes * lanes);
      const products = memory.take(groups.length * lanes * 3 * elementBytes);
      for (const [i, group] of groups.entries()) {
        accumulate(memory, accumulator, [group]);
        memory.call("g1_lane_points", ...group.tables.map((_, lane) => products + (i * lanes + lane) * 3 * elementBytes), accumulator);
      }
      return toAffine(memory, products, part.length);
    }));
  }
  return results;
}

/** Makes the tables. A lane without a point of its own takes the last one, with the scalar 0. */
function groupsOf(memory: PairingMemory, terms: readonly Multiple[]): Group[] {
  const { elementBytes, lanes } = memory.layout;
  const points = memory.take(terms.length * 2 * elementBytes);
  memory.writeElements(points, terms.flatMap(({ point }) => [point.x, point.y]));
  const groups: Group[] = [];
  for (let start = 0; start < terms.length; start += lanes) {
    const indices = Array.from({ length: lanes }, (_, lane) => start + lane);
    const tables = indices.map(() => memory.take((MULTIPLES + 1) * 3 * elementBytes));
    memory.call("g1_lane_tables", ...tables, ...indices.map((i) => points + Math.min(i, terms.length - 1) * 2 * elementBytes));
    groups.push({ tables, digits: indices.map((i) => halfDigits(terms[i]?.scalar ?? 0n)) });
  }
  return groups;
}

function halfDigits(scalar: bigint): [number[], number[]] {
  const [first, second] = halvesOf(scalar);
  return [signedDigits(first), signedDigits(second)];
}

/** accumulator := in each lane, the sum of that lane's multiples. */
function accumulate(memory: PairingMemory, accumulator: number, groups: readonly Group[]): void {
  const entryBytes = 3 * memory.layout.elementBytes;
  memory.call("g1_lane_clear", accumulator);
  const windows = Math.max(0, ...groups.flatMap(({ digits }) => digits.flatMap((halves) => halves.map((half) => half.length))));
  for (let window = windows - 1; window >= 0; window -= 1) {
    if (window < windows - 1) memory.call("g1_lane_double", accumulator, WINDOW_BITS);
    for (const { tables, digits } of groups) {
      for (const half of [0, 1] as const) {
        const current = digits.map((halves) => halves[half][window] ?? 0);
        if (current.every((digit) => digit === 0)) continue;
        const entries = tables.map((table, lane) => table + Math.abs(current[lane] ?? 0) * entryBytes);
        memory.call(half === 0 ? "g1_lane_add" : "g1_lane_add_image", accumulator, ...entries, ...current.map((digit) => (digit < 0 ? 1 : 0)));
      }
    }
  }
}

/** Infinity comes as zeros, which are on no curve here. */
function toAffine(memory: PairingMemory, points: number, count: number): (G1Point | undefined)[] {
  const { elementBytes } = memory.layout;
  return memory.scoped(() => {
    const affine = memory.take(count * 2 * elementBytes);
    memory.call("g1_all_to_affine", affine, points, count, memory.take(memory.layout.pointScratchBytes(count)));
    const coordinates = memory.readElements(affine, 2 * count);
    return Array.from({ length: count }, (_, i) => {
      const [x = 0n, y = 0n] = coordinates.slice(2 * i, 2 * i + 2);
      return x === 0n && y === 0n ? undefined : { x, y };
    });
  });
}

/** Digits between -8 and 8 to the base 2^WINDOW_BITS, the lowest first. */
function signedDigits(value: bigint): number[] {
  const base = 2 ** WINDOW_BITS, sign = value < 0n ? -1 : 1;
  // One hexadecimal digit a window: arithmetic on the integer itself would allocate three more for each.
  const text = (value < 0n ? -value : value).toString(base);
  const digits: number[] = [];
  let carry = 0;
  for (let i = text.length - 1; i >= 0; i -= 1) {
    const digit = Number.parseInt(text.charAt(i), base) + carry;
    carry = digit > base / 2 ? 1 : 0;
    digits.push(sign * (digit - carry * base));
  }
  if (carry === 1) digits.push(sign);
  return digits;
}
