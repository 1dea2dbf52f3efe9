/**
 * Multiplies many points of G1 by one number: all take the same steps, so that every step is one batch
 * (point/point-multiples.ts). The curve's endomorphism splits the number in two halves (pairing/scalar-halves.ts),
 * which leaves half of the doublings; the digits are signed and odd, of `WINDOW_BITS` bits each. Its time depends on
 * the number: run it only where others cannot measure its time.
 */
import { WASM_PAGE_BYTES } from "../../circuit/wasm-memory.js";
import { generatorCoordinates } from "../../curves/curve-parameters.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import type { KernelKind } from "../kernel-module.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../kernels.js";
import type { Kernels } from "../kernels.js";
import { scalarHalves } from "../pairing/scalar-halves.js";
import { Arena } from "../wasm/arena.js";
import { scratchBytesFor } from "../wasm/scratch-bytes.js";

/** Points that go through together: enough to pay for the inversions, few enough for the second-level cache. */
const POINTS_AT_ONCE = 1024;
/** Odd digits below 2^4 take a table of eight points; a wider one costs as much as it saves. */
const WINDOW_BITS = 5;
const TABLE_SIZE = 2 ** (WINDOW_BITS - 2);

/** One step for all points, with the row of the table that it adds. */
interface Step {
  readonly kind: "double" | "add" | "double_add";
  readonly digit: Digit | undefined;
}

/** An odd number times the points, or times their images under the endomorphism. */
interface Digit {
  readonly value: number;
  readonly half: 0 | 1;
}

/** One thread's kernels for multiples by one number. */
export class PointScaler {
  readonly #kernels: Kernels;
  readonly #at: Places;
  readonly #isNegative: boolean;
  readonly #first: Digit;
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
    requirePlainSteps(curve, { first, steps, isNegative }, scalar);
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
    const { pointBytes, entriesPerStep } = kernels.g1;
    for (const [i, place] of places.entries())
      kernels.bytes(raw + i * rawBytes, rawBytes).set(points.subarray(place, place + rawBytes));
    kernels.call("fq_import_foreign", affine, raw, 2 * places.length);
    if (kernels.callOne("g1_survey", affine, places.length) < places.length) return false;
    const count = Math.ceil(places.length / entriesPerStep) * entriesPerStep;
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

  /** Row d of the table is 2 d + 1 times the points: x, y, and x of the endomorphism's image. */
  #fillTable(bytes: number): void {
    const kernels = this.#kernels;
    const { affine, table, scratch, x, y } = this.#at;
    const [own] = table;
    if (own === undefined) throw new Error("the table has no row");
    kernels.call("g1_row_from_points", affine, own.x, own.y, bytes);
    this.#copy({ x, y }, own, bytes);
    kernels.call("g1_row_double", x, y, bytes, scratch);
    for (const [d, row] of table.entries()) {
      const before = table[d - 1];
      if (before !== undefined) {
        this.#copy(row, before, bytes);
        kernels.call("g1_row_add", row.x, row.y, x, y, 0, bytes, scratch);
      }
      kernels.call("g1_row_endomorphism", row.imageX, row.x, bytes);
    }
  }

  #run(bytes: number): void {
    const kernels = this.#kernels;
    const { x, y, scratch } = this.#at;
    const first = this.#rowOf(this.#first);
    this.#copy({ x, y }, first, bytes);
    for (const { kind, digit } of this.#steps) {
      if (digit === undefined) kernels.call("g1_row_double", x, y, bytes, scratch);
      else {
        const right = this.#rowOf(digit);
        kernels.call(`g1_row_${kind}`, x, y, right.x, right.y, digit.value < 0 ? 1 : 0, bytes, scratch);
      }
    }
  }

  #rowOf({ value, half }: Digit): { readonly x: number; readonly y: number } {
    const row = this.#at.table[(Math.abs(value) - 1) / 2];
    if (row === undefined) throw new Error("the table has no such digit");
    return { x: half === 0 ? row.x : row.imageX, y: row.y };
  }

  #copy(to: { readonly x: number; readonly y: number }, from: typeof to, bytes: number): void {
    for (const part of ["x", "y"] as const)
      this.#kernels.bytes(to[part], bytes).set(this.#kernels.bytes(from[part], bytes));
  }
}

interface TableRow {
  readonly x: number;
  readonly y: number;
  readonly imageX: number;
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
  const items = POINTS_AT_ONCE + g1.entriesPerStep;
  const half = () => arena.take((POINTS_AT_ONCE * g1.pointBytes) / 2);
  return {
    raw: arena.take(items * 2 * fq.bytes),
    affine: arena.take(items * g1.pointBytes),
    table: Array.from({ length: TABLE_SIZE }, () => ({ x: half(), y: half(), imageX: half() })),
    ...{ x: half(), y: half() },
    scratch: arena.take(scratchBytesFor(rows.scratch, items)),
    end: arena.take(0),
  };
}

interface Plan {
  readonly first: Digit;
  readonly steps: readonly Step[];
  /** The digits give the number's negative. */
  readonly isNegative: boolean;
}

/** The steps that multiply by a number, from its highest digit downwards. */
function planOf({ r, endomorphismScalar }: CurveParameters, scalar: bigint): Plan {
  const halves = scalarHalves(r, endomorphismScalar)(scalar).map(signedDigits);
  const length = Math.max(...halves.map((digits) => digits.length));
  const columns = Array.from({ length }, (_, i): Digit[] =>
    halves.flatMap((digits, half) => {
      const value = digits[length - 1 - i] ?? 0;
      return value === 0 ? [] : [{ value, half: half === 0 ? 0 : 1 }];
    }),
  );
  const [[first, ...others] = [], ...lower] = columns;
  if (first === undefined) throw new Error("a number above 0 has a highest digit");
  // The row begins as a row of the table, without a sign.
  const isNegative = first.value < 0;
  const signed = ({ value, half }: Digit): Digit => ({ value: isNegative ? -value : value, half });
  const steps: Step[] = others.map((digit) => ({ kind: "add", digit: signed(digit) }));
  for (const [digit, ...more] of lower) {
    steps.push(
      digit === undefined ? { kind: "double", digit: undefined } : { kind: "double_add", digit: signed(digit) },
    );
    for (const each of more) steps.push({ kind: "add", digit: signed(each) });
  }
  return { first: signed(first), steps, isNegative };
}

/**
 * Makes sure that no step meets equal or opposite points, or infinity, which the kernels do not know: that depends on
 * the steps alone, for points of the order r. With halves about as long as the root of r no prefix of the digits can be
 * a small multiple of the order.
 */
function requirePlainSteps({ r, endomorphismScalar }: CurveParameters, plan: Plan, scalar: bigint): void {
  const valueOf = ({ value, half }: Digit): bigint => BigInt(value) * (half === 0 ? 1n : endomorphismScalar);
  const areApart = (a: bigint, b: bigint): boolean => (a - b) % r !== 0n && (a + b) % r !== 0n;
  let sum = valueOf(plan.first) % r;
  for (const { kind, digit } of plan.steps) {
    const added = digit === undefined ? 0n : valueOf(digit);
    const isPlain = digit === undefined || (areApart(sum, added) && (kind === "add" || areApart(sum + added, sum)));
    if (!isPlain) throw new Error("the digits of a number lead to a sum of equal points");
    sum = ((kind === "add" ? sum : 2n * sum) + added) % r;
  }
  const result = plan.isNegative ? -sum : sum;
  if ((result - scalar) % r !== 0n) throw new Error("the digits of a number do not give it");
}

/** Digits of 1, 2, 4, ... that are 0 or odd, of either sign, at most one in `WINDOW_BITS` neighbours; lowest first. */
function signedDigits(value: bigint): number[] {
  const size = 2 ** WINDOW_BITS;
  const sign = value < 0n ? -1 : 1;
  const digits: number[] = [];
  for (let rest = value < 0n ? -value : value; rest > 0n; rest >>= 1n) {
    const low = (rest & 1n) === 0n ? 0 : Number(rest & BigInt(size - 1));
    const digit = low >= size / 2 ? low - size : low;
    rest -= BigInt(digit);
    digits.push(digit === 0 ? 0 : sign * digit);
  }
  return digits;
}

function isFinite(bytes: Uint8Array, from: number, length: number): boolean {
  for (let at = from; at < from + length; at += 1) if (bytes[at] !== 0) return true;
  return false;
}
