/**
 * Many short sums of scalar * point at once, each over points of its own: the rows of a sparse matrix times a list of
 * points. All rows go through the same windows side by side, so that every addition is one of a batch (point-batch.ts)
 * and a row pays for the doublings only up to its largest scalar. Its time depends on the scalars: run it only where
 * others cannot measure its time.
 */
import { WASM_PAGE_BYTES } from "../../circuit/wasm-memory.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { writeBigIntLE } from "../../field/bytes.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../kernels.js";
import type { Kernels } from "../kernels.js";
import { LIST_ENTRY_BYTES } from "../point/batch-layout.js";
import { GROUP_ITEMS, PointTrees } from "../point/point-tree.js";
import type { PointTree } from "../point/point-tree.js";
import { Arena } from "../wasm/arena.js";
import { scratchBytesFor } from "../wasm/scratch-bytes.js";

/** Sums over one list of points; row i has the terms starts[i] to starts[i + 1] - 1. */
export interface PointRows {
  readonly group: "g1" | "g2";
  /** Affine, Montgomery form, little-endian, infinity as zeros. */
  readonly points: Uint8Array;
  readonly starts: Uint32Array;
  /** Of each term: its point. */
  readonly pointOf: Uint32Array;
  /** Of each term: its scalar among `scalars`. */
  readonly scalarOf: Uint32Array;
  /** Little-endian, `frBytes` each, below the order. */
  readonly scalars: Uint8Array;
}

/** Most terms, and most rows, of one call: tables and sums of so many fit the caches' last level. */
export const ROW_TERMS_MAX = 4096;

/** Signed digits of -8 to 8: wider windows gain nothing, as each term has a table of its own. */
const WINDOW_BITS = 4;
const TABLE_SIZE = 2 ** (WINDOW_BITS - 1);
/** Alignment, constants and single points. */
const FIXED_BYTES = 1 << 16;
const WORD_VALUES = 2 ** 32;

/** One thread's kernels with room for a call. */
export class PointRowSums {
  readonly #kernels: Kernels;
  readonly #arena: Arena;
  readonly #order: Uint32Array;
  readonly #itemsMax: number;
  /** Windows of a scalar, with one for the carry. */
  readonly #windows: number;

  /** @param itemsMax most rows and most terms that a call will have; each at most `ROW_TERMS_MAX` */
  constructor(curve: CurveParameters, itemsMax = ROW_TERMS_MAX) {
    const sizing = loadKernels({ pages: 1, curve });
    const bytes = Math.max(roomBytes(sizing, "g1", itemsMax), roomBytes(sizing, "g2", itemsMax));
    const pages = Math.ceil((KERNEL_RESERVED_BYTES + bytes + FIXED_BYTES) / WASM_PAGE_BYTES);
    this.#kernels = loadKernels({ pages, curve, preferred: sizing.kind });
    this.#arena = new Arena(KERNEL_RESERVED_BYTES, pages * WASM_PAGE_BYTES);
    this.#itemsMax = itemsMax;
    const order = new Uint8Array(curve.frBytes);
    writeBigIntLE(curve.r, order, 0, curve.frBytes);
    this.#order = new Uint32Array(order.buffer);
    this.#windows = (8 * curve.frBytes) / WINDOW_BITS + 1;
  }

  /**
   * Writes the sums of the rows from `first` on; the output has room for one point each, in the form of the points.
   * @throws RangeError for more rows or terms than there is room for
   */
  sum(rows: PointRows, { first, count }: { readonly first: number; readonly count: number }, output: Uint8Array): void {
    const [from, to] = [rows.starts[first] ?? 0, rows.starts[first + count] ?? 0];
    if (count > this.#itemsMax || to - from > this.#itemsMax) throw new RangeError("too many rows or terms at once");
    this.#arena.scoped(() => {
      const terms = this.#readTerms(rows, from, to);
      this.#sumTerms(rows, { first, count, from, terms }, output);
    });
  }

  /** Overwrites the memory, which still has what was computed from secret scalars. */
  wipe(): void {
    this.#kernels.bytes(0, this.#kernels.memory.buffer.byteLength).fill(0);
  }

  /** The terms' tables, and their digits: term t has |digit| 2 * magnitude + sign of window w at t * windows + w. */
  #readTerms(rows: PointRows, from: number, to: number): Terms {
    const kernels = this.#kernels;
    const layout = kernels[rows.group];
    const coordinates = rows.group === "g1" ? 2 : 4;
    const fileBytes = coordinates * kernels.fq.bytes;
    const count = to - from;
    const tables = this.#arena.take(Math.max(1, count) * TABLE_SIZE * layout.pointBytes);
    const digits = new Uint8Array(count * this.#windows);
    const lengths = new Uint8Array(count);
    this.#arena.scoped(() => {
      const raw = this.#arena.take(fileBytes);
      for (let t = 0; t < count; t += 1) {
        const at = (rows.pointOf[from + t] ?? 0) * fileBytes;
        const point = rows.points.subarray(at, at + fileBytes);
        const place = tables + t * TABLE_SIZE * layout.pointBytes;
        if (point.every((byte) => byte === 0)) kernels.call(`${rows.group}_mark`, place);
        else {
          kernels.bytes(raw, fileBytes).set(point);
          kernels.call("fq_import_foreign", place, raw, coordinates);
        }
        lengths[t] = this.#recode(rows, from + t, digits.subarray(t * this.#windows, (t + 1) * this.#windows));
      }
    });
    this.#fillTables(rows.group, tables, { digits, lengths });
    return { tables, digits, lengths };
  }

  /** Splits a scalar, or its negative where that is shorter, into signed digits. Returns how many there are. */
  #recode({ scalars, scalarOf }: PointRows, term: number, digits: Uint8Array): number {
    const words = this.#order.length;
    const at = (scalarOf[term] ?? 0) * 4 * words;
    const view = new DataView(scalars.buffer, scalars.byteOffset + at, 4 * words);
    const [plain, negative] = [new Uint32Array(words), new Uint32Array(words)];
    let borrow = 0;
    for (let i = 0; i < words; i += 1) {
      const word = view.getUint32(4 * i, true);
      plain[i] = word;
      const difference = (this.#order[i] ?? 0) - word - borrow;
      borrow = difference < 0 ? 1 : 0;
      negative[i] = difference + borrow * WORD_VALUES;
    }
    const isNegative = isBelow(negative, plain);
    const value = isNegative ? negative : plain;
    const sign = isNegative ? 1 : 0;
    let [carry, length] = [0, 0];
    for (let w = 0; w < this.#windows; w += 1) {
      const word = value[w >>> 3] ?? 0;
      let digit = ((word >>> ((w & 7) * WINDOW_BITS)) & (2 * TABLE_SIZE - 1)) + carry;
      carry = digit > TABLE_SIZE ? 1 : 0;
      const isFlipped = carry === 1;
      if (isFlipped) digit = 2 * TABLE_SIZE - digit;
      digits[w] = digit === 0 ? 0 : 2 * digit + (isFlipped ? 1 - sign : sign);
      if (digit !== 0) length = w + 1;
    }
    return length;
  }

  /** Entry d - 1 is d * point; only where a digit is larger than 1. */
  #fillTables(group: "g1" | "g2", tables: number, { digits, lengths }: Omit<Terms, "tables">): void {
    const kernels = this.#kernels;
    const { pointBytes } = kernels[group];
    const wide: number[] = [];
    for (let t = 0; t < lengths.length; t += 1)
      if ((lengths[t] ?? 0) > 1 || (digits[t * this.#windows] ?? 0) >= 4) wide.push(t);
    for (let n = 1; n < TABLE_SIZE; n *= 2) {
      const entry = (t: number, d: number): number => tables + (t * TABLE_SIZE + d - 1) * pointBytes;
      for (let i = 1; i <= n; i += 1)
        this.#addAll(
          group,
          wide.map((t) => [entry(t, n), entry(t, i), entry(t, n + i)]),
        );
    }
  }

  #sumTerms(rows: PointRows, range: RowRange, output: Uint8Array): void {
    const kernels = this.#kernels;
    const arena = this.#arena;
    const { group, starts } = rows;
    const { pointBytes } = kernels[group];
    const { first, count, from, terms } = range;
    const slots = arena.take(Math.max(1, count) * pointBytes);
    const items = arena.take(4 * (count + terms.lengths.length + 1));
    const trees = new PointTrees(kernels, group, arena);
    const tree = trees.create(count, items);
    /** The point word of each row's sum so far; 0 for none. */
    const sums = new Uint32Array(count);
    for (let w = Math.max(0, ...terms.lengths) - 1; w >= 0; w -= 1) {
      this.#double(group, sums, slots);
      this.#listDigits({ terms, tree, window: w, pointBytes }, sums, (row) => [
        (starts[first + row] ?? 0) - from,
        (starts[first + row + 1] ?? 0) - from,
      ]);
      trees.sum(tree);
      for (let row = 0; row < count; row += 1) sums[row] = trees.resultWord(tree, row);
    }
    const coordinates = group === "g1" ? 2 : 4;
    arena.scoped(() => {
      const results = arena.take(Math.max(1, count) * pointBytes);
      for (let row = 0; row < count; row += 1)
        kernels.call(`${group}_copy_for_export`, results + row * pointBytes, sums[row] ?? 0);
      const bytes = arena.take(output.length);
      kernels.call("fq_export_foreign", bytes, results, count * coordinates);
      output.set(kernels.bytes(bytes, output.length));
    });
  }

  /** Doubles each sum by the width of a window, into the row's own slot. */
  #double(group: "g1" | "g2", sums: Uint32Array, slots: number): void {
    const { pointBytes } = this.#kernels[group];
    for (let i = 0; i < WINDOW_BITS; i += 1) {
      const entries: (readonly number[])[] = [];
      for (let row = 0; row < sums.length; row += 1) {
        const word = sums[row] ?? 0;
        if (word === 0) continue;
        const slot = slots + row * pointBytes;
        entries.push([word, word, slot]);
        sums[row] = slot;
      }
      this.#addAll(group, entries);
    }
  }

  #listDigits(
    { terms, tree, window, pointBytes }: { terms: Terms; tree: PointTree; window: number; pointBytes: number },
    sums: Uint32Array,
    termsOf: (row: number) => readonly [number, number],
  ): void {
    const words = this.#kernels.words(tree.items, sums.length + terms.lengths.length);
    let next = 0;
    for (let row = 0; row < sums.length; row += 1) {
      tree.starts[row] = next;
      const sum = sums[row] ?? 0;
      if (sum !== 0) {
        words[next] = sum;
        next += 1;
      }
      const [start, end] = termsOf(row);
      for (let t = start; t < end; t += 1) {
        const digit = terms.digits[t * this.#windows + window] ?? 0;
        if (digit === 0) continue;
        words[next] = (terms.tables + (t * TABLE_SIZE + (digit >>> 1) - 1) * pointBytes) | (digit & 1);
        next += 1;
      }
      tree.counts[row] = next - (tree.starts[row] ?? 0);
    }
  }

  /** Additions that do not depend on each other: left word, right word, place of the sum. */
  #addAll(group: "g1" | "g2", entries: readonly (readonly number[])[]): void {
    if (entries.length === 0) return;
    const layout = this.#kernels[group];
    this.#arena.scoped(() => {
      const room = entries.length + layout.entriesPerStep;
      const list = this.#arena.take(room * LIST_ENTRY_BYTES);
      const scratch = this.#arena.take(scratchBytesFor(layout.batchScratch, room));
      const words = this.#kernels.words(list, 3 * entries.length);
      for (const [i, entry] of entries.entries()) words.set(entry, 3 * i);
      this.#kernels.addBatch(group, list, entries.length, scratch);
    });
  }
}

interface Terms {
  /** A table for each term. */
  readonly tables: number;
  readonly digits: Uint8Array;
  /** Windows of each term up to its highest digit that is not 0. */
  readonly lengths: Uint8Array;
}

interface RowRange {
  readonly first: number;
  readonly count: number;
  /** The first row's first term. */
  readonly from: number;
  readonly terms: Terms;
}

function isBelow(a: Uint32Array, b: Uint32Array): boolean {
  for (let i = a.length - 1; i >= 0; i -= 1) {
    const [one = 0, other = 0] = [a[i], b[i]];
    if (one !== other) return one < other;
  }
  return false;
}

/** What a call takes in an arena, at most. */
function roomBytes(kernels: Kernels, group: "g1" | "g2", itemsMax: number): number {
  const layout = kernels[group];
  const entries = Math.max(itemsMax, GROUP_ITEMS) + 2 * layout.entriesPerStep;
  const points = (TABLE_SIZE + 6) * (itemsMax + 1) + Math.max(itemsMax, GROUP_ITEMS);
  const batch = 2 * (entries * LIST_ENTRY_BYTES + scratchBytesFor(layout.batchScratch, entries));
  return points * layout.pointBytes + itemsMax * (4 * kernels.fq.bytes + 6 * 4) + batch;
}
