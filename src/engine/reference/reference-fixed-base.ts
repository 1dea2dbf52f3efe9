/**
 * Multiples of one fixed point by many scalars, with a table of signed windows and batch-affine additions: what a
 * trusted setup consists of. Variable time; runs only where the scalars' owner runs alone.
 */
import { AffineAddition, PAIRS_PER_BATCH } from "./affine-addition.js";
import type { ReferenceArena, GroupOperations } from "./reference-arena.js";
import { SCALAR_BYTES, scalarWords, takeDigits, windowCount } from "./signed-digits.js";

const SCALAR_BITS = 254;
/** Wider tables leave the L2 and L3 caches and gain nothing; from bench/subjects/setup.ts. */
const WINDOW_BITS_MAX = 14;

/** The table's entry for digit d of window w is x || y || -y of d * 2^(c w) * point, d = 1 .. 2^(c-1). */
export class FixedBaseTable {
  readonly #arena: ReferenceArena;
  readonly #group: GroupOperations;
  readonly #windowBits: number;
  readonly #windows: number;
  readonly #half: number;
  readonly #entryBytes: number;
  readonly #table: number;
  readonly #adder: AffineAddition;
  readonly #accumulators: number;
  readonly #accX = new Int32Array(PAIRS_PER_BATCH);
  readonly #accY = new Int32Array(PAIRS_PER_BATCH);
  readonly #places = new Int32Array(PAIRS_PER_BATCH);

  /**
   * @param point affine, Montgomery little-endian, not infinity.
   * @param expectedCount scalars that the table is going to be used for; sets its width.
   */
  constructor(arena: ReferenceArena, group: GroupOperations, point: Uint8Array, expectedCount: number) {
    this.#arena = arena;
    this.#group = group;
    this.#windowBits = chooseWindow(expectedCount);
    this.#windows = windowCount(SCALAR_BITS, this.#windowBits);
    this.#half = 2 ** (this.#windowBits - 1);
    this.#entryBytes = 3 * group.field.bytes;
    this.#table = arena.alloc(this.#windows * this.#half * this.#entryBytes);
    this.#accumulators = arena.alloc(PAIRS_PER_BATCH * group.affineBytes);
    this.#adder = new AffineAddition(arena, group);
    this.#placeBases(point);
    this.#fillRows();
    this.#fillNegatives();
  }

  /**
   * Writes scalar_i * point, affine Montgomery, infinity as zeros. Scalars: 32 bytes little-endian, below the group
   * order.
   */
  multiply(scalars: Uint8Array, output: Uint8Array): void {
    const count = scalars.length / SCALAR_BYTES;
    if (!Number.isInteger(count) || output.length !== count * this.#group.affineBytes)
      throw new RangeError("scalars and output differ in number");
    const words = scalarWords(scalars);
    for (let start = 0; start < count; start += PAIRS_PER_BATCH) {
      const size = Math.min(PAIRS_PER_BATCH, count - start);
      this.#multiplyBatch(words, start, size);
      this.#writeBatch(output, start, size);
    }
  }

  #multiplyBatch(words: Uint32Array, start: number, size: number): void {
    const carries = new Uint8Array(size),
      digits = new Int32Array(size);
    const accX = this.#accX.fill(0),
      accY = this.#accY;
    const { affineBytes, field } = this.#group;
    for (let window = 0; window < this.#windows; window += 1) {
      takeDigits(words, start, { window, windowBits: this.#windowBits }, carries, digits);
      for (let i = 0; i < size; i += 1) {
        const digit = digits[i] as number;
        if (digit === 0) continue;
        const x = this.#entry(window, Math.abs(digit));
        const y = digit > 0 ? x + field.bytes : x + 2 * field.bytes;
        if (accX[i] === 0) {
          accX[i] = x;
          accY[i] = y;
          continue;
        }
        const out = this.#accumulators + i * affineBytes;
        this.#places[this.#adder.count] = i;
        this.#adder.push(accX[i] as number, accY[i] as number, x, y, out);
        accX[i] = out;
        accY[i] = out + field.bytes;
      }
      this.#flushInto(accX);
    }
  }

  #flushInto(accX: Int32Array): void {
    const count = this.#adder.count;
    if (this.#adder.flush() === 0) return;
    for (let i = 0; i < count; i += 1) if (this.#adder.isInfinity[i] === 1) accX[this.#places[i] as number] = 0;
  }

  #writeBatch(output: Uint8Array, start: number, size: number): void {
    const { affineBytes, field } = this.#group;
    const { bytes } = this.#arena;
    for (let i = 0; i < size; i += 1) {
      const target = (start + i) * affineBytes;
      const x = this.#accX[i] as number,
        y = this.#accY[i] as number;
      if (x === 0) {
        output.fill(0, target, target + affineBytes);
      } else {
        output.set(bytes.subarray(x, x + field.bytes), target);
        output.set(bytes.subarray(y, y + field.bytes), target + field.bytes);
      }
    }
  }

  #entry(window: number, digit: number): number {
    return this.#table + (window * this.#half + digit - 1) * this.#entryBytes;
  }

  /** Digit 1 of every window. */
  #placeBases(point: Uint8Array): void {
    const { toJacobian, toAffine, double, jacobianBytes } = this.#group;
    this.#arena.scoped(() => {
      const base = this.#arena.alloc(jacobianBytes);
      toJacobian(this.#arena.put(point), base);
      for (let window = 0; window < this.#windows; window += 1) {
        toAffine(base, this.#entry(window, 1));
        for (let bit = 0; bit < this.#windowBits; bit += 1) double(base, base);
      }
    });
  }

  /** Row by row of powers of two: entry[2^k + j] = entry[2^k] + entry[j], j = 1 .. 2^k, in all windows side by side. */
  #fillRows(): void {
    const { bytes } = this.#group.field;
    for (let size = 1; size < this.#half; size *= 2) {
      for (let window = 0; window < this.#windows; window += 1) {
        const top = this.#entry(window, size);
        for (let j = 1; j <= size; j += 1) {
          if (this.#adder.isFull) this.#adder.flush();
          const low = this.#entry(window, j);
          this.#adder.push(top, top + bytes, low, low + bytes, this.#entry(window, size + j));
        }
      }
      this.#adder.flush();
    }
  }

  #fillNegatives(): void {
    const { neg, bytes } = this.#group.field;
    const end = this.#table + this.#windows * this.#half * this.#entryBytes;
    for (let entry = this.#table; entry < end; entry += this.#entryBytes) neg(entry + bytes, entry + 2 * bytes);
  }
}

/** The width that makes table and additions together cheapest. */
function chooseWindow(count: number): number {
  let best = 2,
    bestCost = Infinity;
  for (let bits = 2; bits <= WINDOW_BITS_MAX; bits += 1) {
    const cost = windowCount(SCALAR_BITS, bits) * (count + 2 ** (bits - 1));
    if (cost < bestCost) [best, bestCost] = [bits, cost];
  }
  return best;
}
