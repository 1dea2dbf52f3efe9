/**
 * Multiplies many points of G1 by one number: each point by its own table, but all by the same digits, so that every
 * step is one batch (point-batch.ts). The number is split in two halves by the curve's endomorphism
 * (pairing/scalar-halves.ts), which leaves half of the doublings; the digits are signed and odd, of `WINDOW_BITS` bits
 * each. Its time depends on the number: run it only where others cannot measure its time.
 */
import { WASM_PAGE_BYTES } from "../../circuit/wasm-memory.js";
import { generatorCoordinates } from "../../curves/curve-parameters.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import type { KernelKind } from "../kernel-module.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../kernels.js";
import type { Kernels } from "../kernels.js";
import { scalarHalves } from "../pairing/scalar-halves.js";
import { LIST_ENTRY_BYTES } from "../point/point-batch.js";
import { Arena, align } from "../wasm/arena.js";
import { scratchBytesFor } from "../wasm/scratch-bytes.js";

/**
 * Points that go through together: enough to pay for the inversions, few enough for the second-level cache. 512 take 30
 * us each, 1,024 29, 2,048 31.
 */
const POINTS_AT_ONCE = 1024;
/** Odd digits below 2^4 take a table of eight points; a wider one costs as much as it saves. */
const WINDOW_BITS = 5;
const TABLE_SIZE = 2 ** (WINDOW_BITS - 2);
/** Of the table's additions, of each row of both tables with either sign, and of the first one, to infinity. */
const LISTS_MAX = TABLE_SIZE - 1 + 4 * TABLE_SIZE + 1;
const FIXED_BYTES = 1 << 14;

/** One thread's kernels for multiples by one number. */
export class PointScaler {
  readonly #kernels: Kernels;
  readonly #at: Places;
  readonly #lists: Arena;
  readonly #tableLists: number[] = [];
  /** For each digit, the highest first, the lists of its additions. */
  readonly #steps: (readonly number[])[] = [];

  /**
   * @param scalar above 0 and below the order
   * @param preferred "integer" forces the fallback
   * @throws RangeError for another scalar
   */
  constructor(curve: CurveParameters, scalar: bigint, preferred: KernelKind = "fma") {
    if (scalar <= 0n || scalar >= curve.r) throw new RangeError("the number is not between 0 and the order");
    const sizing = loadKernels({ pages: 1, curve, preferred });
    const pages = Math.ceil((KERNEL_RESERVED_BYTES + placesOf(sizing, 0).end + FIXED_BYTES) / WASM_PAGE_BYTES);
    this.#kernels = loadKernels({ pages, curve, preferred: sizing.kind });
    this.#at = placesOf(this.#kernels, KERNEL_RESERVED_BYTES);
    const halves = scalarHalves(curve.r, curve.endomorphismScalar)(scalar).map(signedDigits);
    const length = Math.max(...halves.map((digits) => digits.length));
    this.#lists = new Arena(this.#at.lists, this.#at.end);
    this.#writeLists(Array.from({ length }, (_, i) => halves.map((own) => own[length - 1 - i] ?? 0)));
  }

  /**
   * Writes each point's multiple to the same place of `output`.
   * @param points on the curve and canonical, in the form of zkey files, infinity as zeros; may be `output`
   */
  scale(points: Uint8Array, output: Uint8Array): void {
    const rawBytes = 2 * this.#kernels.fq.bytes;
    const count = points.length / rawBytes;
    for (let first = 0; first < count; first += POINTS_AT_ONCE) {
      const finite: number[] = [];
      for (let i = first; i < Math.min(count, first + POINTS_AT_ONCE); i += 1)
        if (isFinite(points, i * rawBytes, rawBytes)) finite.push(i * rawBytes);
        else output.fill(0, i * rawBytes, (i + 1) * rawBytes);
      if (finite.length > 0) this.#scaleFinite(points, finite, output);
    }
  }

  /** Overwrites the memory, which still has what was computed from the number. */
  wipe(): void {
    this.#kernels.bytes(0, this.#kernels.memory.buffer.byteLength).fill(0);
  }

  #scaleFinite(points: Uint8Array, places: readonly number[], output: Uint8Array): void {
    const kernels = this.#kernels;
    const { raw, table, sums } = this.#at;
    const rawBytes = 2 * kernels.fq.bytes;
    const { pointBytes, entriesPerStep } = kernels.g1;
    for (const [i, place] of places.entries())
      kernels.bytes(raw + i * rawBytes, rawBytes).set(points.subarray(place, place + rawBytes));
    kernels.call("fq_import_foreign", table, raw, 2 * places.length);
    const count = Math.ceil(places.length / entriesPerStep) * entriesPerStep;
    // What fills up the last step is any finite point.
    for (let i = places.length; i < count; i += 1)
      kernels.writePoint(table + i * pointBytes, generatorCoordinates(kernels.curve, "g1"), raw + i * rawBytes);
    this.#fillTables(count);
    this.#addDigits(count);
    kernels.call("fq_export_foreign", raw, sums, 2 * places.length);
    for (const [i, place] of places.entries()) output.set(kernels.bytes(raw + i * rawBytes, rawBytes), place);
  }

  /** Row d of the first table is 2 d + 1 times the points, and of the second the same times the endomorphism's. */
  #fillTables(count: number): void {
    const kernels = this.#kernels;
    const { table, images, sums, scratch } = this.#at;
    const rowBytes = POINTS_AT_ONCE * kernels.g1.pointBytes;
    kernels.bytes(sums, count * kernels.g1.pointBytes).set(kernels.bytes(table, count * kernels.g1.pointBytes));
    kernels.call("g1_double_all", sums, count, scratch);
    for (let d = 1; d < TABLE_SIZE; d += 1) kernels.addBatch("g1", this.#tableLists[d - 1] ?? 0, count, scratch);
    for (let d = 0; d < TABLE_SIZE; d += 1)
      kernels.call("g1_endomorphism", images + d * rowBytes, table + d * rowBytes, count);
  }

  #addDigits(count: number): void {
    const kernels = this.#kernels;
    const { sums, scratch } = this.#at;
    for (const [i, lists] of this.#steps.entries()) {
      if (i > 0) kernels.call("g1_double_all", sums, count, scratch);
      for (const list of lists) kernels.addBatch("g1", list, count, scratch);
    }
  }

  /** The lists of all additions, which are the same for every pass. */
  #writeLists(digits: readonly (readonly number[])[]): void {
    const { table, images, sums } = this.#at;
    const rowBytes = POINTS_AT_ONCE * this.#kernels.g1.pointBytes;
    for (let d = 1; d < TABLE_SIZE; d += 1)
      this.#tableLists.push(
        this.#writeList({ left: table + (d - 1) * rowBytes, right: sums, target: table + d * rowBytes }),
      );
    const known = new Map<string, number>();
    const listOf = (sum: RowSum): number => {
      const name = JSON.stringify(sum);
      const list = known.get(name) ?? this.#writeList(sum);
      known.set(name, list);
      return list;
    };
    for (const pair of digits) {
      const lists: number[] = [];
      for (const [half, digit] of pair.entries()) {
        if (digit === 0) continue;
        const left = this.#steps.length + lists.length > 0 ? sums : undefined;
        const right = (half === 0 ? table : images) + ((Math.abs(digit) - 1) / 2) * rowBytes;
        lists.push(listOf({ left, right, target: sums, isNegative: digit < 0 }));
      }
      // The highest digit of the longer half is not 0.
      this.#steps.push(lists);
    }
  }

  /** Writes the list of an addition of rows, and returns its address; without a left row it adds to infinity. */
  #writeList({ left, right, target, isNegative = false }: RowSum): number {
    const kernels = this.#kernels;
    const { pointBytes } = kernels.g1;
    const list = this.#lists.take(listBytes(kernels));
    const words = kernels.words(list, 3 * POINTS_AT_ONCE);
    const sign = isNegative ? 1 : 0;
    for (let i = 0, at = 0; i < POINTS_AT_ONCE; i += 1, at += 3) {
      words[at] = left === undefined ? kernels.infinity.g1 : left + i * pointBytes;
      words[at + 1] = (right + i * pointBytes) | sign;
      words[at + 2] = target + i * pointBytes;
    }
    return list;
  }
}

interface RowSum {
  readonly left: number | undefined;
  readonly right: number;
  readonly target: number;
  readonly isNegative?: boolean;
}

interface Places {
  readonly raw: number;
  readonly table: number;
  /** The table's points times the endomorphism's number. */
  readonly images: number;
  readonly sums: number;
  readonly scratch: number;
  readonly lists: number;
  readonly end: number;
}

/** Of one addition of rows: the list has room for a step more than its entries. */
function listBytes({ g1 }: Kernels): number {
  return align((POINTS_AT_ONCE + g1.entriesPerStep) * LIST_ENTRY_BYTES);
}

function placesOf(kernels: Kernels, start: number): Places {
  const { fq, g1 } = kernels;
  const arena = new Arena(start, Infinity);
  const items = POINTS_AT_ONCE + g1.entriesPerStep;
  const row = POINTS_AT_ONCE * g1.pointBytes;
  return {
    raw: arena.take(items * 2 * fq.bytes),
    table: arena.take(TABLE_SIZE * row),
    images: arena.take(TABLE_SIZE * row),
    sums: arena.take(row),
    scratch: arena.take(scratchBytesFor(g1.batchScratch, items)),
    lists: arena.take(LISTS_MAX * listBytes(kernels)),
    end: arena.take(0),
  };
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
