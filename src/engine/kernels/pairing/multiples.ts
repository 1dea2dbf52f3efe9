/**
 * Multiples of points of G1 and their sums: Straus' interleaving over the two halves of each scalar (scalar-halves.ts),
 * a point or a sum per lane. The halves share one table, because the second needs the images of the same entries.
 */
import type { G1Point } from "../../curves/points.js";
import type { CurveName, CurveParameters } from "../../curves/curve-parameters.js";
import { MULTIPLES, NEGATIVE, WINDOW_BITS } from "./lane-multiples.js";
import { scratchBytesFor } from "../wasm/scratch-bytes.js";
import type { PairingLanes, PairingMemory } from "./pairing-memory.js";
import { scalarHalves } from "./scalar-halves.js";
import type { ScalarHalves } from "./scalar-halves.js";

interface Multiple {
  readonly point: G1Point;
  readonly scalar: bigint;
}

/** Points whose tables are in memory at the same time; longer sums take several passes. */
const POINTS_MAX = 256;
/** Halves are below 2^128, and the last digit takes a carry. */
const HALF_DIGITS = 128 / WINDOW_BITS + 1;
/** How the scalars of each curve are split, from their first use on: a constant of the curve. */
const splits = new Map<CurveName, ScalarHalves>();

/** One point per lane, with its table and the digits of both halves of its scalar, the lowest first. */
interface Group {
  readonly tables: readonly number[];
  readonly digits: readonly (readonly [Uint8Array, Uint8Array])[];
}

/** A point with the two factors k1 and k2 of k1 point + k2 image, the image under the endomorphism. */
interface Halved {
  readonly point: G1Point;
  readonly halves: readonly [bigint, bigint];
}

/** Returns the sum of the multiples of points of G1; undefined for infinity. */
export function sumOfMultiples(
  memory: PairingMemory,
  curve: CurveParameters,
  multiples: readonly Multiple[],
): G1Point | undefined {
  const { elementBytes } = memory.layout;
  const lanes = memory.lanesNow;
  const terms = halved(curve, multiples);
  return memory.scoped(() => {
    const parts: number[] = [];
    for (let start = 0; start === 0 || start < terms.length; start += POINTS_MAX) {
      const sums = Array.from({ length: lanes }, () => memory.take(3 * elementBytes));
      parts.push(...sums);
      memory.scoped(() => {
        const accumulator = memory.take(3 * elementBytes * lanes);
        accumulate(memory, { accumulator, lanes }, groupsOf(memory, lanes, terms.slice(start, start + POINTS_MAX)));
        memory.callOnLanes(lanes, "g1_lane_points", ...sums, accumulator);
      });
    }
    const [sum = 0, ...others] = parts;
    for (const other of others) memory.call("g1_add_points", sum, sum, other);
    return toAffine(memory, sum, 1)[0];
  });
}

/** Returns each multiple of a point of G1; undefined for infinity. */
export function eachMultiple(
  memory: PairingMemory,
  curve: CurveParameters,
  multiples: readonly Multiple[],
): (G1Point | undefined)[] {
  return eachSum(memory, memory.lanesNow, halved(curve, multiples));
}

/**
 * Tells of each point of the curve whether it is in G1, the subgroup of order r: whether the endomorphism phi
 * multiplies it by its scalar. As phi^2 + phi + 1 = 0 on the whole curve, the order of such a point divides scalar^2 +
 * scalar + 1, which is r for BLS12 curves (M. Scott, eprint 2021/1130).
 */
export function areMembers(memory: PairingMemory, curve: CurveParameters, points: readonly G1Point[]): boolean[] {
  if (curve.cofactorG1 === 1n) return points.map(() => true);
  const differences = points.map((point): Halved => ({ point, halves: [curve.endomorphismScalar, -1n] }));
  // Not on four lanes: zeros of a wrong kernel would be taken for infinity, which makes a member here.
  return eachSum(memory, memory.layout.lanes, differences).map((difference) => difference === undefined);
}

function halved(curve: CurveParameters, multiples: readonly Multiple[]): Halved[] {
  let split = splits.get(curve.name);
  if (split === undefined) splits.set(curve.name, (split = scalarHalves(curve.r, curve.endomorphismScalar)));
  const halvesOf = split;
  return multiples.map(({ point, scalar }) => ({ point, halves: halvesOf(scalar) }));
}

/** Returns each sum k1 point + k2 image. */
function eachSum(memory: PairingMemory, lanes: PairingLanes, terms: readonly Halved[]): (G1Point | undefined)[] {
  const { elementBytes } = memory.layout;
  const results: (G1Point | undefined)[] = [];
  for (let start = 0; start < terms.length; start += POINTS_MAX) {
    const part = terms.slice(start, start + POINTS_MAX);
    results.push(
      ...memory.scoped(() => {
        const groups = groupsOf(memory, lanes, part);
        const accumulator = memory.take(3 * elementBytes * lanes);
        const products = memory.take(groups.length * lanes * 3 * elementBytes);
        for (const [i, group] of groups.entries()) {
          accumulate(memory, { accumulator, lanes }, [group]);
          memory.callOnLanes(
            lanes,
            "g1_lane_points",
            ...group.tables.map((_, lane) => products + (i * lanes + lane) * 3 * elementBytes),
            accumulator,
          );
        }
        return toAffine(memory, products, part.length);
      }),
    );
  }
  return results;
}

/** Makes the tables. A lane without a point of its own takes the last one, with the scalar 0. */
function groupsOf(memory: PairingMemory, lanes: PairingLanes, terms: readonly Halved[]): Group[] {
  const { elementBytes } = memory.layout;
  const points = memory.take(terms.length * 2 * elementBytes);
  memory.writeElements(
    points,
    terms.flatMap(({ point }) => [point.x, point.y]),
  );
  const accumulator = memory.take(3 * elementBytes * lanes);
  const groups: Group[] = [];
  for (let start = 0; start < terms.length; start += lanes) {
    const indices = Array.from({ length: lanes }, (_, lane) => start + lane);
    const tables = indices.map(() => memory.take((MULTIPLES + 1) * 3 * elementBytes));
    memory.callOnLanes(
      lanes,
      "g1_lane_tables",
      ...tables,
      ...indices.map((i) => points + Math.min(i, terms.length - 1) * 2 * elementBytes),
      accumulator,
    );
    groups.push({ tables, digits: indices.map((i) => halfDigits(terms[i]?.halves ?? [0n, 0n])) });
  }
  return groups;
}

function halfDigits([first, second]: readonly [bigint, bigint]): [Uint8Array, Uint8Array] {
  return [signedDigits(first), signedDigits(second)];
}

/** accumulator := in each lane, the sum of that lane's multiples. */
function accumulate(
  memory: PairingMemory,
  { accumulator, lanes }: { readonly accumulator: number; readonly lanes: PairingLanes },
  groups: readonly Group[],
): void {
  let windows = 0;
  for (const { digits } of groups)
    for (const [first, second] of digits) windows = Math.max(windows, first.length, second.length);
  const bytes = new Uint8Array(windows * groups.length * 2 * lanes);
  let next = 0;
  for (let window = windows - 1; window >= 0; window -= 1) {
    for (const { digits } of groups) {
      for (const half of [0, 1] as const) {
        for (const halves of digits) bytes[next++] = halves[half][window] ?? 0;
      }
    }
  }
  memory.scoped(() => {
    const tables = memory.take(4 * groups.length * lanes);
    memory.writeTable(
      tables,
      groups.flatMap((group) => group.tables),
    );
    memory.callOnLanes(lanes, "g1_lane_accumulate", accumulator, tables, groups.length, memory.put(bytes), windows);
  });
}

/** Converts projective points; infinity comes as zeros, which lie on no curve that the kernels know. */
function toAffine(memory: PairingMemory, points: number, count: number): (G1Point | undefined)[] {
  const { elementBytes } = memory.layout;
  return memory.scoped(() => {
    const affine = memory.take(count * 2 * elementBytes);
    memory.call(
      "g1_all_to_affine",
      affine,
      points,
      count,
      memory.take(scratchBytesFor(memory.layout.pointScratch, count)),
    );
    const coordinates = memory.readElements(affine, 2 * count);
    return Array.from({ length: count }, (_, i) => {
      const [x = 0n, y = 0n] = coordinates.slice(2 * i, 2 * i + 2);
      return x === 0n && y === 0n ? undefined : { x, y };
    });
  });
}

/**
 * Scratch of `signedDigits`: half a scalar in words of 64 bits, and the same bytes in words of 32. Reading it through
 * the second view costs less than arithmetic on a bigint.
 */
const halfWords = new BigUint64Array(2);
const halfHalves = new Uint32Array(halfWords.buffer);

/** Digits between -8 and 8 to the base 2^WINDOW_BITS, the lowest first, as `g1_lane_accumulate` takes them. */
function signedDigits(value: bigint): Uint8Array {
  const base = 2 ** WINDOW_BITS,
    isNegative = value < 0n;
  const size = isNegative ? -value : value;
  if (size >> 128n !== 0n) throw new Error("half a scalar has too many digits");
  halfWords[0] = size;
  halfWords[1] = size >> 64n;
  const digits = new Uint8Array(HALF_DIGITS);
  let carry = 0,
    length = 0;
  for (let i = 0; i < HALF_DIGITS; i += 1) {
    const bits = WINDOW_BITS * i;
    const digit = (((halfHalves[bits >>> 5] ?? 0) >>> (bits & 31)) & (base - 1)) + carry;
    carry = digit > base / 2 ? 1 : 0;
    const absolute = carry === 1 ? base - digit : digit;
    if (absolute !== 0) {
      digits[i] = absolute | ((carry === 1) === isNegative ? 0 : NEGATIVE);
      length = i + 1;
    }
  }
  return digits.subarray(0, length);
}
