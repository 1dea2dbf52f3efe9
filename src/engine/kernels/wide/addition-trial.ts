/** Tries batched point additions (point/point-batch.ts) against the affine formulas on integers. */
import { addFq2, equalFq2, inverse, multiplyFq2, negateFq2, normFq2, reduce } from "../../field/prime-field.js";
import type { Fq2 } from "../../field/prime-field.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { LIST_ENTRY_BYTES } from "../point/batch-layout.js";
import { scratchBytesFor } from "../wasm/scratch-bytes.js";
import type { ScratchBytes } from "../wasm/scratch-bytes.js";
import { TrialField } from "./trial-memory.js";
import type { RandomBelow, TrialMemory, WideTrial } from "./trial-memory.js";

interface AdditionOptions {
  readonly group: "g1" | "g2";
  readonly curve: CurveParameters;
  readonly scratch: ScratchBytes;
}

/** Coordinates over Fq2, of which G1's have the first coefficient alone. Undefined is infinity. */
type Point = { readonly x: Fq2; readonly y: Fq2 } | undefined;

/** Enough for a sum's inversion to cost little, and for V8 to see that the loop is worth optimising. */
const ENTRIES = 512;
const POINTS = 256;
/** Entries whose sums are computed on integers as well, 20 to 60 microseconds each. */
const COMPARED = 160;
/** One of so many compared entries is of a special kind, so that most steps have none, as in a sum. */
const SPECIAL_EVERY = 23;
const ZERO: Fq2 = { c0: 0n, c1: 0n };
/** The highest limb of a coordinate of the point at infinity. */
const MARK = NaN;

/** Returns the trial of `g1_add_batch` or `g2_add_batch`. */
export function additionTrial(
  trialMemory: TrialMemory,
  { group, curve, scratch }: AdditionOptions,
  random: RandomBelow,
): WideTrial {
  const field = new TrialField(curve.q);
  const coefficients = group === "g1" ? 1 : 2;
  const pointBytes = 2 * coefficients * field.elementBytes;
  const { arena, words } = trialMemory;
  const [points, targets, list, scratchAt] = [
    POINTS * pointBytes,
    ENTRIES * pointBytes,
    ENTRIES * LIST_ENTRY_BYTES,
    scratchBytesFor(scratch, ENTRIES),
  ].map((bytes) => arena.take(bytes)) as [number, number, number, number];
  const place = { field, coefficients, memory: trialMemory };
  const values = randomPoints(field, coefficients, random);
  const entries = randomEntries(random);
  const name = `${group}_add_batch`;
  return {
    kernel: name,
    prepare: () => {
      for (const [i, value] of values.entries()) writePoint(place, points + i * pointBytes, value);
      for (const [i, { left, right }] of entries.entries())
        words.set(
          [
            (points + left.index * pointBytes) | left.sign,
            (points + right.index * pointBytes) | right.sign,
            targets + i * pointBytes,
          ],
          (list + i * LIST_ENTRY_BYTES) / Uint32Array.BYTES_PER_ELEMENT,
        );
    },
    run: (call) => call(name, list, ENTRIES, scratchAt),
    isRight: () =>
      entries.slice(0, COMPARED).every(({ left, right }, i) => {
        const [p, q] = [left, right].map(({ index, sign }) => signed(values[index], sign, field.prime)) as [
          Point,
          Point,
        ];
        return isPoint(place, targets + i * pointBytes, sumOf(p, q, field.prime));
      }),
  };
}

interface PointPlace {
  readonly field: TrialField;
  readonly coefficients: number;
  readonly memory: TrialMemory;
}

/** The first are extreme, the last infinite, and one of them is there twice; no point need lie on the curve. */
function randomPoints(field: TrialField, coefficients: number, random: RandomBelow): Point[] {
  const extremes = field.extremes();
  const coefficient = (): bigint =>
    random(4n) === 0n ? (extremes[Number(random(BigInt(extremes.length)))] ?? 0n) : random(field.prime);
  const element = (): Fq2 => ({ c0: coefficient(), c1: coefficients === 2 ? coefficient() : 0n });
  const points: Point[] = Array.from({ length: POINTS - 2 }, (_, i) => {
    const extreme = extremes[i];
    return { x: extreme === undefined ? element() : { ...element(), c0: extreme }, y: element() };
  });
  return [...points, points[0], undefined];
}

interface Term {
  readonly index: number;
  readonly sign: 0 | 1;
}

function randomEntries(random: RandomBelow): { readonly left: Term; readonly right: Term }[] {
  const term = (): Term => ({ index: Number(random(BigInt(POINTS - 2))), sign: random(2n) === 0n ? 0 : 1 });
  return Array.from({ length: ENTRIES }, (_, i) => {
    const [left, right] = [term(), term()];
    if (i % SPECIAL_EVERY !== 0 || i >= COMPARED) return { left, right };
    const again = { index: 0, sign: 0 } as const;
    const special: readonly (readonly [Term, Term])[] = [
      [left, left],
      [left, { ...left, sign: left.sign === 0 ? 1 : 0 }],
      [left, { index: POINTS - 1, sign: 0 }],
      [{ index: POINTS - 1, sign: 1 }, right],
      [again, { index: POINTS - 2, sign: 0 }],
    ];
    const [one, other] = special[(i / SPECIAL_EVERY) % special.length] ?? [left, right];
    return { left: one, right: other };
  });
}

function signed(point: Point, sign: 0 | 1, q: bigint): Point {
  return point === undefined || sign === 0 ? point : { x: point.x, y: negateFq2(point.y, q) };
}

/** The affine sum, without the equation of the curve. */
function sumOf(p: Point, q: Point, prime: bigint): Point {
  if (p === undefined || q === undefined) return p ?? q;
  const minus = (a: Fq2, b: Fq2): Fq2 => addFq2(a, negateFq2(b, prime), prime);
  let [over, under] = [minus(q.y, p.y), minus(q.x, p.x)];
  if (equalFq2(under, ZERO)) {
    if (!equalFq2(over, ZERO) || equalFq2(p.y, ZERO)) return undefined;
    const squared = multiplyFq2(p.x, p.x, prime);
    over = addFq2(addFq2(squared, squared, prime), squared, prime);
    under = addFq2(p.y, p.y, prime);
  }
  const scale = inverse(normFq2(under, prime), prime);
  const reciprocal = { c0: reduce(under.c0 * scale, prime), c1: reduce(-under.c1 * scale, prime) };
  const slope = multiplyFq2(over, reciprocal, prime);
  const x = minus(minus(multiplyFq2(slope, slope, prime), p.x), q.x);
  return { x, y: minus(multiplyFq2(slope, minus(p.x, x), prime), p.y) };
}

function writePoint({ field, coefficients, memory }: PointPlace, address: number, point: Point): void {
  const parts =
    point === undefined
      ? undefined
      : [point.x, point.y].flatMap(({ c0, c1 }) => (coefficients === 1 ? [c0] : [c0, c1]));
  for (let i = 0; i < 2 * coefficients; i += 1) {
    const limbs = field.limbsOf(parts?.[i] ?? 0n);
    memory.writeLimbs(address + i * field.elementBytes, parts === undefined ? [...limbs.slice(1), MARK] : limbs);
  }
}

function isPoint({ field, coefficients, memory }: PointPlace, address: number, point: Point): boolean {
  const limbCount = field.elementBytes / 8;
  const limbsAt = (i: number): number[] => memory.readLimbs(address + i * field.elementBytes, limbCount);
  if (point === undefined) return Number.isNaN(limbsAt(0)[limbCount - 1]);
  const parts = [point.x, point.y].flatMap(({ c0, c1 }) => (coefficients === 1 ? [c0] : [c0, c1]));
  return parts.every((part, i) => field.residueOf(limbsAt(i)) === part);
}
