/**
 * Part of the reference (reference-arena.ts): multi-scalar multiplication by Pippenger's bucket method with signed
 * windows and batch-affine bucket sums (Bernstein, Doumen, Lange, Oosterwijk 2012, section 4; the additions of
 * affine-addition.ts). The running time depends on the scalars, as that of the kernels does.
 */
import { AffineAddition, PAIRS_PER_BATCH } from "./affine-addition.js";
import type { ReferenceArena, GroupOperations } from "./reference-arena.js";
import { SCALAR_BYTES, SCALAR_WORDS, scalarWords, takeDigits, windowCount } from "./signed-digits.js";
import { sumMultiples } from "./small-sums.js";

/** Points handled at once: bounds the memory of one call (about 160 bytes per G1 point, 320 per G2 point). */
const POINTS_PER_CHUNK = 1 << 17;
/** A Jacobian bucket step costs about this many batch-affine additions; from bench/subjects/prove.ts. */
const BUCKET_COST = 4;
const WINDOW_BITS_MAX = 15;
/** Up to so many points interleaving is faster than buckets, whose inversions are shared by too few additions. */
const INTERLEAVED_POINTS_MAX = 64;

/** As many points as scalars. */
interface MsmTerms {
  /** Affine, Montgomery form, little-endian, infinity as zeros. */
  readonly points: Uint8Array;
  /** Standard form, 32 bytes little-endian, below the group order. */
  readonly scalars: Uint8Array;
}

/**
 * Writes the sum of scalar_i * point_i as a Jacobian point.
 * @param result pointer of the target.
 * @throws RangeError when points and scalars differ in number.
 */
export function multiScalarMultiply(
  arena: ReferenceArena,
  group: GroupOperations,
  { points, scalars }: MsmTerms,
  result: number,
): void {
  const count = points.length / group.affineBytes;
  if (!Number.isInteger(count) || scalars.length !== count * SCALAR_BYTES)
    throw new RangeError("points and scalars differ in number");
  if (count <= INTERLEAVED_POINTS_MAX) {
    sumFew(arena, group, { points, scalars }, result);
    return;
  }
  group.zero(result);
  for (let start = 0; start < count; start += POINTS_PER_CHUNK) {
    const end = Math.min(count, start + POINTS_PER_CHUNK);
    arena.scoped(() => {
      const partial = arena.alloc(group.jacobianBytes);
      new BucketSum(
        arena,
        group,
        points.subarray(start * group.affineBytes, end * group.affineBytes),
        scalars.subarray(start * SCALAR_BYTES, end * SCALAR_BYTES),
      ).run(partial);
      group.add(result, partial, result);
    });
  }
}

function sumFew(arena: ReferenceArena, group: GroupOperations, { points, scalars }: MsmTerms, result: number): void {
  arena.scoped(() => {
    const base = arena.put(points);
    const { kept } = selectTerms(arena, group, { base, total: points.length / group.affineBytes }, scalars);
    const indices = Array.from(kept);
    sumMultiples(
      arena,
      group,
      indices.map((i) => ({
        point: base + i * group.affineBytes,
        scalar: scalars.subarray(i * SCALAR_BYTES, (i + 1) * SCALAR_BYTES),
      })),
      result,
    );
  });
}

/** Pippenger's method over one chunk, for one call. */
class BucketSum {
  readonly #arena: ReferenceArena;
  readonly #group: GroupOperations;
  readonly #count: number;
  readonly #windowBits: number;
  readonly #windows: number;
  /**
   * Points that take part (scalar not zero, point not infinity), with their scalars' words packed in the same order.
   */
  readonly #scalarWords: Uint32Array;
  readonly #pointX: Int32Array;
  readonly #negativeY: Int32Array;
  readonly #carries: Uint8Array;
  readonly #pool: number;
  readonly #refX: Int32Array;
  readonly #refY: Int32Array;
  readonly #adder: AffineAddition;
  /** Where the queued additions' results go, to mark those that turn out infinite. */
  readonly #places = new Int32Array(PAIRS_PER_BATCH);

  constructor(arena: ReferenceArena, group: GroupOperations, points: Uint8Array, scalars: Uint8Array) {
    this.#arena = arena;
    this.#group = group;
    const base = arena.put(points);
    const total = points.length / group.affineBytes;
    const terms = selectTerms(arena, group, { base, total }, scalars);
    const { kept } = terms;
    this.#count = kept.length;
    this.#scalarWords = terms.words;
    this.#windowBits = chooseWindow(terms);
    this.#windows = windowCount(terms.bitsMax, this.#windowBits);
    this.#pointX = new Int32Array(this.#count);
    this.#negativeY = new Int32Array(this.#count);
    this.#carries = new Uint8Array(this.#count);
    this.#refX = new Int32Array(this.#count);
    this.#refY = new Int32Array(this.#count);
    this.#pool = arena.alloc(this.#count * group.affineBytes);
    const negatives = arena.alloc(this.#count * group.field.bytes);
    this.#adder = new AffineAddition(arena, group);
    for (let i = 0; i < this.#count; i += 1) {
      const x = base + (kept[i] as number) * group.affineBytes;
      this.#pointX[i] = x;
      this.#negativeY[i] = negatives + i * group.field.bytes;
      group.field.neg(x + group.field.bytes, negatives + i * group.field.bytes);
    }
  }

  /**
   * Writes the Jacobian sum. Windows run from the low end (digits carry upwards) and are combined from the high end.
   */
  run(result: number): void {
    const { zero, double, add, jacobianBytes } = this.#group;
    const sums = this.#arena.alloc(this.#windows * jacobianBytes);
    for (let window = 0; window < this.#windows; window += 1) this.#sumWindow(window, sums + window * jacobianBytes);
    zero(result);
    for (let window = this.#windows - 1; window >= 0; window -= 1) {
      for (let bit = 0; bit < this.#windowBits; bit += 1) double(result, result);
      add(result, sums + window * jacobianBytes, result);
    }
  }

  #sumWindow(window: number, result: number): void {
    const buckets = 2 ** (this.#windowBits - 1);
    const digits = new Int32Array(this.#count);
    takeDigits(this.#scalarWords, { window, windowBits: this.#windowBits }, this.#carries, digits);
    const starts = this.#sortIntoBuckets(digits, buckets);
    this.#reduceBuckets(starts, buckets);
    this.#weighBuckets(starts, buckets, result);
  }

  /** Counting sort: bucket b (digit b + 1 or its negative) owns the references starts[b] .. starts[b + 1] - 1. */
  #sortIntoBuckets(digits: Int32Array, buckets: number): Int32Array {
    const starts = new Int32Array(buckets + 2);
    for (let i = 0; i < digits.length; i += 1) {
      const digit = digits[i] as number;
      if (digit !== 0) starts[Math.abs(digit) + 1] = (starts[Math.abs(digit) + 1] as number) + 1;
    }
    for (let b = 1; b < starts.length; b += 1) starts[b] = (starts[b] as number) + (starts[b - 1] as number);
    // starts[b] is now where digit b begins; placing moves it to where digit b ends, which is where digit b + 1 begins.
    for (let i = 0; i < digits.length; i += 1) {
      const digit = digits[i] as number;
      if (digit === 0) continue;
      const size = Math.abs(digit);
      const place = starts[size] as number;
      starts[size] = place + 1;
      const x = this.#pointX[i] as number;
      this.#refX[place] = x;
      this.#refY[place] = digit > 0 ? x + this.#group.field.bytes : (this.#negativeY[i] as number);
    }
    return starts;
  }

  /** Halves every bucket again and again, all buckets side by side, until each holds one point or none. */
  #reduceBuckets(starts: Int32Array, buckets: number): void {
    const lengths = new Int32Array(buckets);
    let longest = 0;
    for (let b = 0; b < buckets; b += 1) {
      lengths[b] = (starts[b + 1] as number) - (starts[b] as number);
      longest = Math.max(longest, lengths[b] as number);
    }
    for (; longest > 1; longest = (longest + 1) >> 1) {
      for (let b = 0; b < buckets; b += 1) {
        const length = lengths[b] as number;
        if (length < 2) continue;
        this.#pairUp(starts[b] as number, length);
        lengths[b] = (length + 1) >> 1;
      }
      this.#flush();
    }
  }

  /**
   * Queues (2k, 2k + 1) -> k for one bucket. A result lies in the pool at its own place, which no later pair of the
   * bucket reads; a last point without a partner keeps its old place, which nothing writes again before it is used.
   */
  #pairUp(start: number, length: number): void {
    const { affineBytes, field } = this.#group;
    const refX = this.#refX,
      refY = this.#refY;
    for (let k = 0; 2 * k < length; k += 1) {
      const left = start + 2 * k,
        right = left + 1,
        place = start + k;
      const leftX = refX[left] as number,
        leftY = refY[left] as number;
      if (2 * k + 1 === length) {
        refX[place] = leftX;
        refY[place] = leftY;
        return;
      }
      const rightX = refX[right] as number,
        rightY = refY[right] as number;
      // Zero stands for infinity: it arises from opposite points and never from an allocation.
      if (leftX === 0 || rightX === 0) {
        this.#moveTo(place, leftX === 0 ? rightX : leftX, leftX === 0 ? rightY : leftY);
        continue;
      }
      if (this.#adder.isFull) this.#flush();
      const out = this.#pool + place * affineBytes;
      this.#places[this.#adder.count] = place;
      this.#adder.setLeft(leftX, leftY);
      this.#adder.push(rightX, rightY, out);
      refX[place] = out;
      refY[place] = out + field.bytes;
    }
  }

  /**
   * Puts the sum of infinity and a point, which is rare, at its place. Queued additions may still read there, so they
   * are computed first.
   */
  #moveTo(place: number, x: number, y: number): void {
    this.#refX[place] = 0;
    if (x === 0) return;
    this.#flush();
    const { affineBytes, field } = this.#group;
    const out = this.#pool + place * affineBytes;
    field.copy(x, out);
    field.copy(y, out + field.bytes);
    this.#refX[place] = out;
    this.#refY[place] = out + field.bytes;
  }

  #flush(): void {
    const count = this.#adder.count;
    if (this.#adder.flush() === 0) return;
    for (let i = 0; i < count; i += 1) if (this.#adder.isInfinity[i] === 1) this.#refX[this.#places[i] as number] = 0;
  }

  /** sum of (b + 1) * bucket_b by a running sum from the top. */
  #weighBuckets(starts: Int32Array, buckets: number, result: number): void {
    const { zero, add, addMixed, field, jacobianBytes, affineBytes } = this.#group;
    this.#arena.scoped(() => {
      const running = this.#arena.alloc(jacobianBytes);
      const point = this.#arena.alloc(affineBytes);
      zero(running);
      zero(result);
      let isRunning = false;
      for (let b = buckets - 1; b >= 0; b -= 1) {
        const start = starts[b] as number;
        if ((starts[b + 1] as number) > start && this.#refX[start] !== 0) {
          field.copy(this.#refX[start] as number, point);
          field.copy(this.#refY[start] as number, point + field.bytes);
          addMixed(running, point, running);
          isRunning = true;
        }
        if (isRunning) add(result, running, result);
      }
    });
  }
}

interface Terms {
  readonly kept: Int32Array;
  readonly words: Uint32Array;
  readonly bitsMax: number;
  /** Scalars of more than WINDOW_BITS_MAX bits; the rest are narrow, the widest of them narrowBitsMax bits. */
  readonly wideCount: number;
  readonly narrowBitsMax: number;
}

/** Leaves out zero scalars and infinite points, and measures the rest: most values of a witness are small. */
function selectTerms(
  arena: ReferenceArena,
  group: GroupOperations,
  { base, total }: { readonly base: number; readonly total: number },
  scalars: Uint8Array,
): Terms {
  const source = scalarWords(scalars);
  const kept = new Int32Array(total);
  const words = new Uint32Array(total * SCALAR_WORDS);
  const coordinateWords = group.field.bytes / 4;
  let count = 0,
    bitsMax = 1,
    narrowBitsMax = 1,
    wideCount = 0;
  for (let i = 0; i < total; i += 1) {
    let top = SCALAR_WORDS - 1;
    while (top >= 0 && source[i * SCALAR_WORDS + top] === 0) top -= 1;
    // No finite point of these groups has y = 0: their order is odd.
    if (top < 0 || isZeroWords(arena.words, (base + i * group.affineBytes + group.field.bytes) / 4, coordinateWords))
      continue;
    kept[count] = i;
    for (let k = 0; k < SCALAR_WORDS; k += 1) words[count * SCALAR_WORDS + k] = source[i * SCALAR_WORDS + k] as number;
    count += 1;
    const bits = 32 * top + 32 - Math.clz32(source[i * SCALAR_WORDS + top] as number);
    bitsMax = Math.max(bitsMax, bits);
    if (bits > WINDOW_BITS_MAX) wideCount += 1;
    else narrowBitsMax = Math.max(narrowBitsMax, bits);
  }
  return { kept: kept.slice(0, count), words, bitsMax, wideCount, narrowBitsMax };
}

function isZeroWords(words: Uint32Array, start: number, length: number): boolean {
  for (let i = start; i < start + length; i += 1) if (words[i] !== 0) return false;
  return true;
}

/** The window that makes additions and bucket steps together cheapest. */
function chooseWindow(terms: Terms): number {
  const narrowCount = terms.kept.length - terms.wideCount;
  let best = 2,
    bestCost = Infinity;
  for (let bits = 2; bits <= WINDOW_BITS_MAX; bits += 1) {
    const windows = windowCount(terms.bitsMax, bits);
    const narrowWindows = windowCount(terms.narrowBitsMax, bits);
    const cost = windows * (terms.wideCount + BUCKET_COST * 2 ** (bits - 1)) + narrowWindows * narrowCount;
    if (cost < bestCost) [best, bestCost] = [bits, cost];
  }
  return best;
}
