/**
 * Multiplies many points of G1 by one number: all take the same steps, so that every step is one batch
 * (point/point-multiples.ts). The curve's endomorphism makes a number a + b w of half the length of it
 * (pairing/scalar-halves.ts), which leaves half of the doublings, and an addition for every third or fourth of them
 * (eisenstein-digits.ts). Its time depends on the number: run it only where others cannot measure its time.
 */
import { WASM_PAGE_BYTES } from "../../circuit/wasm-memory.js";
import { generatorCoordinates } from "../../curves/curve-parameters.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import type { KernelKind } from "../kernel-module.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../kernels.js";
import type { Kernels } from "../kernels.js";
import { scalarHalves, shortZero } from "../pairing/scalar-halves.js";
import { DIGIT_ROWS, cheapestForm, digitValue } from "./eisenstein-digits.js";
import type { DigitCosts, EisensteinDigit, EisensteinNumber } from "./eisenstein-digits.js";
import { Arena } from "../wasm/arena.js";
import { scratchBytesFor } from "../wasm/scratch-bytes.js";

/** Points that go through together: enough to pay for the inversions, few enough for the second-level cache. */
const POINTS_AT_ONCE = 1024;
/**
 * Products of a step with an addition beside one without, and of one without, a square as three quarters of a product:
 * point/point-multiples.ts.
 */
const COSTS: DigitCosts = { position: 5.8, digit: 4.8 };
/**
 * The shortest number that stands for a scalar is taken, and others where its form meets equal points; the cheapest of
 * nine would save half a hundredth, which finding it costs.
 */
const NEIGHBOURS = [0n, 1n, -1n];

/** One step for all points, with the digit whose multiple it adds. */
interface Step {
  readonly kind: "double" | "double_add";
  readonly digit: EisensteinDigit | undefined;
}

/** One thread's kernels for multiples by one number. */
export class PointScaler {
  readonly #kernels: Kernels;
  readonly #at: Places;
  readonly #isNegative: boolean;
  readonly #first: EisensteinDigit;
  readonly #steps: readonly Step[];

  /**
   * @param scalar above 0 and below the order
   * @param preferred "integer" forces the fallback
   * @throws RangeError for another scalar
   */
  constructor(curve: CurveParameters, scalar: bigint, preferred: KernelKind = "fma") {
    if (scalar <= 0n || scalar >= curve.r) throw new RangeError("the number is not between 0 and the order");
    const sizing = loadKernels({ pages: 1, curve, preferred });
    const pages = Math.ceil((KERNEL_RESERVED_BYTES + placesOf(sizing, 0).end) / WASM_PAGE_BYTES);
    this.#kernels = loadKernels({ pages, curve, preferred: sizing.kind });
    this.#at = placesOf(this.#kernels, KERNEL_RESERVED_BYTES);
    const { first, steps, isNegative } = planOf(curve, scalar);
    this.#first = first;
    this.#steps = steps;
    this.#isNegative = isNegative;
  }

  /**
   * Writes each point's multiple to the same place of `output`. Points that are not on the curve are not
   * multiplied: who sends such points learns what the number is modulo their order, which may be small, and by several
   * of them the number.
   * @param points in the form of zkey files, infinity as zeros; may be `output`, which a refused point leaves spoilt
   * @returns whether all points are on the curve
   */
  scale(points: Uint8Array, output: Uint8Array): boolean {
    const rawBytes = 2 * this.#kernels.fq.bytes;
    const count = points.length / rawBytes;
    for (let first = 0; first < count; first += POINTS_AT_ONCE) {
      const finite: number[] = [];
      for (let i = first; i < Math.min(count, first + POINTS_AT_ONCE); i += 1)
        if (isFinite(points, i * rawBytes, rawBytes)) finite.push(i * rawBytes);
        else output.fill(0, i * rawBytes, (i + 1) * rawBytes);
      if (finite.length > 0 && !this.#scaleFinite(points, finite, output)) return false;
    }
    return true;
  }

  /** Overwrites the memory, which still has what was computed from the number. */
  wipe(): void {
    this.#kernels.bytes(0, this.#kernels.memory.buffer.byteLength).fill(0);
  }

  #scaleFinite(points: Uint8Array, places: readonly number[], output: Uint8Array): boolean {
    const kernels = this.#kernels;
    const { raw, affine, x, y } = this.#at;
    const rawBytes = 2 * kernels.fq.bytes;
    const { pointBytes } = kernels.g1;
    const { itemsPerStep } = kernels.rows.scratch;
    for (const [i, place] of places.entries())
      kernels.bytes(raw + i * rawBytes, rawBytes).set(points.subarray(place, place + rawBytes));
    kernels.call("fq_import_foreign", affine, raw, 2 * places.length);
    if (kernels.callOne("g1_survey", affine, places.length) < places.length) return false;
    const count = Math.ceil(places.length / itemsPerStep) * itemsPerStep;
    // What fills up the last step is any finite point.
    for (let i = places.length; i < count; i += 1)
      kernels.writePoint(affine + i * pointBytes, generatorCoordinates(kernels.curve, "g1"), raw + i * rawBytes);
    const bytes = (count * pointBytes) / 2;
    this.#fillTable(bytes);
    this.#run(bytes);
    kernels.call("g1_row_to_points", affine, x, y, bytes, this.#isNegative ? 1 : 0);
    kernels.call("fq_export_foreign", raw, affine, 2 * places.length);
    for (const [i, place] of places.entries()) output.set(kernels.bytes(raw + i * rawBytes, rawBytes), place);
    return true;
  }

  /** The first row is the points, the others follow by `DIGIT_ROWS`; the steps' row is twice the points so long. */
  #fillTable(bytes: number): void {
    const kernels = this.#kernels;
    const { affine, table, scratch, x, y } = this.#at;
    for (const [i, row] of table.entries()) {
      const [rowX, firstImage, secondImage] = row.x;
      const sum = DIGIT_ROWS[i - 1];
      if (sum === undefined) {
        kernels.call("g1_row_from_points", affine, rowX, row.y, bytes);
        this.#copy({ x, y }, { x: rowX, y: row.y }, bytes);
        kernels.call("g1_row_double", x, y, bytes, scratch);
      } else {
        const { row: right, turn, isNegative } = sum.right;
        const left = sum.left === "twice" ? { x, y } : { x: this.#row(sum.left).x[0], y: this.#row(sum.left).y };
        const { x: rightX, y: rightY } = this.#row(right);
        this.#copy({ x: rowX, y: row.y }, left, bytes);
        kernels.call("g1_row_add", rowX, row.y, rightX[turn], rightY, isNegative ? 1 : 0, bytes, scratch);
      }
      kernels.call("g1_row_endomorphism", firstImage, secondImage, rowX, bytes);
    }
  }

  #run(bytes: number): void {
    const kernels = this.#kernels;
    const { x, y, scratch } = this.#at;
    const first = this.#row(this.#first.row);
    this.#copy({ x, y }, { x: first.x[this.#first.turn], y: first.y }, bytes);
    for (const { kind, digit } of this.#steps) {
      if (digit === undefined) kernels.call("g1_row_double", x, y, bytes, scratch);
      else {
        const right = this.#row(digit.row);
        const isNegative = digit.isNegative ? 1 : 0;
        kernels.call(`g1_row_${kind}`, x, y, right.x[digit.turn], right.y, isNegative, bytes, scratch);
      }
    }
  }

  #row(row: number): TableRow {
    const found = this.#at.table[row];
    if (found === undefined) throw new Error("the table has no such row");
    return found;
  }

  #copy(to: { readonly x: number; readonly y: number }, from: typeof to, bytes: number): void {
    for (const part of ["x", "y"] as const)
      this.#kernels.bytes(to[part], bytes).set(this.#kernels.bytes(from[part], bytes));
  }
}

interface TableRow {
  /** Of the points, and of them times w and w^2. */
  readonly x: readonly [number, number, number];
  readonly y: number;
}

interface Places {
  readonly raw: number;
  readonly affine: number;
  readonly table: readonly TableRow[];
  /** The row that the steps change. */
  readonly x: number;
  readonly y: number;
  readonly scratch: number;
  readonly end: number;
}

function placesOf(kernels: Kernels, start: number): Places {
  const { fq, g1, rows } = kernels;
  const arena = new Arena(start, Infinity);
  const items = POINTS_AT_ONCE + rows.scratch.itemsPerStep;
  const half = () => arena.take((POINTS_AT_ONCE * g1.pointBytes) / 2);
  const row = (): TableRow => ({ x: [half(), half(), half()], y: half() });
  return {
    raw: arena.take(items * 2 * fq.bytes),
    affine: arena.take(items * g1.pointBytes),
    table: [undefined, ...DIGIT_ROWS].map(row),
    ...{ x: half(), y: half() },
    scratch: arena.take(scratchBytesFor(rows.scratch, items)),
    end: arena.take(0),
  };
}

interface Plan {
  readonly first: EisensteinDigit;
  readonly steps: readonly Step[];
  /** The digits give the number's negative. */
  readonly isNegative: boolean;
}

/** The steps that multiply by a number, from the highest digit downwards. */
function planOf(curve: CurveParameters, scalar: bigint): Plan {
  const { r, endomorphismScalar } = curve;
  const [a, b] = scalarHalves(r, endomorphismScalar)(scalar);
  // What stands for 0, and times w again.
  const [zeroA, zeroB] = shortZero(r, endomorphismScalar);
  for (const i of NEIGHBOURS)
    for (const k of NEIGHBOURS) {
      const number: EisensteinNumber = [a + i * zeroA - k * zeroB, b + i * zeroB + k * (zeroA - zeroB)];
      const plan = stepsOf(cheapestForm(number, COSTS).digits);
      if (isPlain(curve, plan, scalar)) return plan;
    }
  throw new Error("every form of a number leads to a sum of equal points");
}

function stepsOf([first, ...lower]: readonly (EisensteinDigit | undefined)[]): Plan {
  if (first === undefined) throw new Error("a number above 0 has a highest digit");
  // The row begins as a row of the table, without a sign.
  const { isNegative } = first;
  const signed = (digit: EisensteinDigit): EisensteinDigit => ({
    ...digit,
    isNegative: digit.isNegative !== isNegative,
  });
  const steps = lower.map((digit): Step =>
    digit === undefined ? { kind: "double", digit: undefined } : { kind: "double_add", digit: signed(digit) },
  );
  return { first: signed(first), steps, isNegative };
}

/**
 * Whether the steps give the number, and none meets equal or opposite points, or infinity, which the kernels do not
 * know: that depends on the steps alone, for points of the order r.
 */
function isPlain({ r, endomorphismScalar }: CurveParameters, plan: Plan, scalar: bigint): boolean {
  const valueOf = (digit: EisensteinDigit): bigint => {
    const [a, b] = digitValue(digit);
    return a + b * endomorphismScalar;
  };
  const areApart = (a: bigint, b: bigint): boolean => (a - b) % r !== 0n && (a + b) % r !== 0n;
  let sum = valueOf(plan.first) % r;
  for (const { digit } of plan.steps) {
    const added = digit === undefined ? 0n : valueOf(digit);
    if (digit !== undefined && !(areApart(sum, added) && areApart(sum + added, sum))) return false;
    sum = (2n * sum + added) % r;
  }
  const result = plan.isNegative ? -sum : sum;
  if ((result - scalar) % r !== 0n) throw new Error("the digits of a number do not give it");
  return true;
}

function isFinite(bytes: Uint8Array, from: number, length: number): boolean {
  for (let at = from; at < from + length; at += 1) if (bytes[at] !== 0) return true;
  return false;
}
