/**
 * Emits prime-field arithmetic on double-precision fused multiply-add: limbs of up to 51 bits, signed, as integers in
 * f64x2, two field elements side by side. Products are split exactly into a high and a low part with two roundings
 * (Dekker 1971; N. Emmart, J. Luitjens, C. Weems, "Faster modular exponentiation using double precision floating point
 * arithmetic on the GPU", 2018).
 *
 * Every emitted value carries a proven bound: the emitter computes, while it writes code, how large each limb and the
 * whole element can become, and refuses to write an operation whose result might not be exact. So a formula that was
 * emitted cannot overflow. It must not be used where multiply-add rounds twice: see wasm/features.ts.
 */
import { inverse } from "../../field/prime-field.js";
import { balancedLimbs } from "./integers.js";
import { f64x2 } from "../wasm/wasm-ops.js";
import type { Product } from "./field.js";
import type { FunctionBuilder } from "../wasm/wasm-builder.js";
import type { Expression, Local } from "../wasm/wasm-ops.js";

type V128 = Expression<"v128">;
type Vector = Local<"v128">;

/** A limb pair in a local with |integer| <= max in both lanes. */
export interface BoundedLimb {
  readonly local: Vector;
  readonly max: bigint;
}

/** Two field elements, limb by limb, with |element| <= max as an integer (not reduced modulo p). */
export interface FmaElement {
  readonly limbs: readonly BoundedLimb[];
  readonly max: bigint;
}

/** A factor of a product, whose limbs may be loads: a load is emitted again wherever its limb is used. */
export interface FmaFactor {
  readonly limbs: readonly FactorLimb[];
  readonly max: bigint;
}

/** Where the ends of a product's columns stand while it is computed: no other thread uses the places. */
export interface ColumnPlaces {
  /**
   * Whether a column is summed in two parts, neither of which waits for the other. In functions of one half it does not
   * pay: V8 of Node 20 runs out of registers, and a whole verification takes a sixth longer there.
   */
  readonly inParts: boolean;
  /** Stores the end of a column, and returns what is read in its place from then on. */
  keep(f: FunctionBuilder, column: number, value: Vector): V128;
}

interface FactorLimb {
  readonly local: V128;
  readonly max: bigint;
}

const LIMB_BITS_MAX = 51;
/** Integers up to here are exact in a double. */
const EXACT_MAX = 1n << 53n;
const ROUND_TO_INTEGER = 1.5 * 2 ** 52;
/** A highest limb with fewer bits of the prime than this is too coarse to read a quotient off. */
const HEAD_BITS_MIN = 20n;

interface Chain {
  local: V128;
  max: bigint;
}

/** Products of a sum from which on its columns are long: see `Column`. */
const LONG_SUM_MIN = 6;

/**
 * One limb's part of a product. A product of limbs waits for the one before it in its chain, and for the low part that
 * it joins: so a column that is summed in parts has two chains, and a long one two low parts as well.
 */
interface Column {
  readonly chainsMin: 1 | 2;
  readonly isLong: boolean;
  low: BoundedLimb | undefined;
  /** The low part of every second product, in a long column. */
  otherLow: BoundedLimb | undefined;
  chains: Chain[];
  /** Sums of closed high parts that the next column receives, in units of this column. */
  carries: { local: Vector; max: bigint }[];
}

/**
 * The constants of one prime and the arithmetic over it. Limbs have no more bits than their number asks for: with 48
 * instead of 51 a column of BLS12-381's Fq takes one chain of high parts instead of four and no carry on the way, and a
 * product 15 % less time.
 */
export class FmaArithmetic {
  readonly limbCount: number;
  readonly limbBits: number;
  /** Bound of every limb but the highest of a normalised element. */
  readonly halfLimb: bigint;
  readonly prime: bigint;
  /** The factor that elements carry: Montgomery's 2^(limbBits * limbCount). */
  readonly radix: bigint;
  /** Bound of |element| for a reduced element. */
  readonly reducedMax: bigint;
  /** Bound of |element| for a product. */
  readonly productMax: bigint;
  readonly primeLimbs: readonly bigint[];
  readonly #negativeInverse: bigint;
  /** Limbs that `reduce` reads the quotient off: two where the prime leaves few bits in the highest. */
  readonly headLimbs: 1 | 2;
  readonly #limb: bigint;
  /** 1.5 * 2^52 limbs: adding it rounds to a multiple of a limb. A chain of high parts starts there. */
  readonly #splitter: number;
  /** How far a chain may move before the unit in its last place is no longer a limb. */
  readonly #highRoom: bigint;
  readonly #inverseLimb: number;

  constructor(prime: bigint) {
    this.prime = prime;
    // One bit of room: with a prime below half the radix, a product of two values up to p is again at most p.
    const bits = prime.toString(2).length + 1;
    this.limbCount = Math.ceil(bits / LIMB_BITS_MAX);
    this.limbBits = Math.ceil(bits / this.limbCount);
    this.#limb = 1n << BigInt(this.limbBits);
    this.halfLimb = this.#limb / 2n;
    this.#splitter = 1.5 * 2 ** (52 + this.limbBits);
    this.#highRoom = 1n << BigInt(51 + this.limbBits);
    this.#inverseLimb = 2 ** -this.limbBits;
    this.radix = 1n << BigInt(this.limbBits * this.limbCount);
    this.primeLimbs = balancedLimbs(prime, this.limbBits, this.limbCount);
    this.headLimbs = (this.primeLimbs[this.limbCount - 1] ?? 0n) >> HEAD_BITS_MIN > 0n ? 1 : 2;
    const negativeInverse = this.#limb - inverse(prime % this.#limb, this.#limb);
    this.#negativeInverse = negativeInverse > this.halfLimb ? negativeInverse - this.#limb : negativeInverse;
    // The quotient of a reduction is read off the head: a few units of its last limb may stay, and its own rounding.
    this.reducedMax = prime / 2n + (prime >> 32n) + (8n << BigInt(this.limbBits * (this.limbCount - this.headLimbs)));
    this.productMax = prime;
  }

  /** Returns an element from limbs that are known to be normalised, with |element| <= max. */
  stored(locals: readonly Vector[], max: bigint): FmaElement {
    return { limbs: locals.map((local, j) => ({ local, max: this.#storedMax(j, max) })), max };
  }

  /** As `stored`, for a factor whose limbs are loaded where they are used. */
  factor(limbs: readonly V128[], max: bigint): FmaFactor {
    return { limbs: limbs.map((local, j) => ({ local, max: this.#storedMax(j, max) })), max };
  }

  /** Adds limb by limb: neither normalised nor reduced. */
  add(f: FunctionBuilder, a: FmaElement, b: FmaElement): FmaElement {
    return this.#limbwise(a, b, (x, y) => f.let(f64x2.add(x, y)));
  }

  /** Subtracts limb by limb: neither normalised nor reduced. */
  sub(f: FunctionBuilder, a: FmaElement, b: FmaElement): FmaElement {
    return this.#limbwise(a, b, (x, y) => f.let(f64x2.sub(x, y)));
  }

  /** Carries limb to limb until all but the highest are within half a limb. */
  normalize(f: FunctionBuilder, a: FmaElement): FmaElement {
    const limbs: BoundedLimb[] = [];
    let carry: BoundedLimb | undefined;
    for (const [j, limb] of a.limbs.entries()) {
      const sum =
        carry === undefined
          ? limb
          : this.#exact({
              local: f.let(f64x2.relaxedMadd(carry.local, c(f, this.#inverseLimb), limb.local)),
              max: limb.max + ceilDiv(carry.max, this.#limb),
            });
      if (j === this.limbCount - 1) {
        limbs.push({ local: sum.local, max: min(sum.max, this.#topMax(a.max)) });
      } else {
        const [low, high] = this.#split(f, sum);
        limbs.push(low);
        carry = high;
      }
    }
    return { limbs, max: a.max };
  }

  /**
   * Tells whether `reduce` is exact on an element that need not be normalised, and leaves it within reducedMax: then it
   * need not be normalised before.
   */
  isReducible(a: FmaElement): boolean {
    const { qMax, max } = this.#reductionBounds(a);
    const areExact = a.limbs
      .slice(0, -1)
      .every((limb, j) => limb.max + qMax * abs(this.primeLimbs[j] ?? 0n) <= EXACT_MAX);
    return areExact && max <= this.reducedMax;
  }

  /** Subtracts the nearest multiple of p: the result is normalised and within p/2 plus p / 2^40. */
  reduce(f: FunctionBuilder, a: FmaElement): FmaElement {
    const top = last(a.limbs);
    const topUnit = 1n << BigInt(this.limbBits * (this.limbCount - 1));
    const scale = Number(topUnit) / Number(this.prime);
    const head =
      this.headLimbs === 1
        ? top.local
        : f.let(f64x2.relaxedMadd(at(a.limbs, this.limbCount - 2).local, c(f, this.#inverseLimb), top.local));
    const q = f.let(f64x2.sub(f64x2.relaxedMadd(head, c(f, scale), c(f, ROUND_TO_INTEGER)), c(f, ROUND_TO_INTEGER)));
    const { qMax, max } = this.#reductionBounds(a);
    const limbs: BoundedLimb[] = [];
    for (const [j, limb] of a.limbs.entries()) {
      const p = this.primeLimbs[j] ?? 0n;
      const local = f.let(f64x2.relaxedNmadd(q, c(f, Number(p)), limb.local));
      // The highest limb is bounded by the result, not by what went in: it is rounded once, after most of it has
      // cancelled.
      const isTop = j === this.limbCount - 1;
      limbs.push(
        this.#exact({
          local,
          max: isTop ? (max + lowerSum([...limbs, limb], this.limbBits)) / topUnit + 1n : limb.max + qMax * abs(p),
        }),
      );
    }
    return this.normalize(f, { limbs, max });
  }

  /**
   * Returns the Montgomery product (a1 b1 + a2 b2 + ...) / R with one reduction; the result is normalised.
   *
   * With `columns` each column's end is written there and read where it is needed. V8 places pure operations without
   * stores between them as late as it can, so that all columns of a long sum end up interleaved in more registers than
   * there are: of a sum of six products in Fq2 half the instructions were spills. Stores keep the columns apart: a
   * product in BN254's Fq2 takes 15 % less time, one in BLS12-381's a third less. A lone product in Fq gains nothing.
   */
  sumOfProducts(f: FunctionBuilder, products: readonly Product<FmaFactor>[], columns?: ColumnPlaces): FmaElement {
    const n = this.limbCount;
    const max = products.reduce((total, { a, b }) => total + a.max * b.max, 0n);
    return this.#reduceColumns(
      f,
      max,
      (column, k) => {
        for (const { a, b, negate } of products) {
          for (let i = Math.max(0, k - n + 1); i <= Math.min(k, n - 1); i += 1) {
            this.#multiplyInto(f, column, { a: at(a.limbs, i), b: at(b.limbs, k - i), negate: negate === true });
          }
        }
      },
      { columns, isLong: columns?.inParts === true && products.length >= LONG_SUM_MIN },
    );
  }

  /** Number of the columns that `sumOfProducts` may keep. */
  get columnCount(): number {
    return 2 * this.limbCount - 1;
  }

  /** As `sumOfProducts` of a with itself, with each mixed product of limbs computed once. */
  square(f: FunctionBuilder, a: FmaElement): FmaElement {
    const n = this.limbCount;
    const doubled = a.limbs.map((limb) =>
      this.#exact({ local: f.let(f64x2.add(limb.local, limb.local)), max: 2n * limb.max }),
    );
    return this.#reduceColumns(f, a.max * a.max, (column, k) => {
      for (let i = Math.max(0, k - n + 1); 2 * i <= k; i += 1) {
        this.#multiplyInto(f, column, { a: at(a.limbs, i), b: at(2 * i === k ? a.limbs : doubled, k - i) });
      }
    });
  }

  /** Sums the products that `fill` adds column by column, takes the Montgomery quotient digits out, and carries. */
  #reduceColumns(
    f: FunctionBuilder,
    sumMax: bigint,
    fill: (column: Column, k: number) => void,
    { columns, isLong = false }: { readonly columns?: ColumnPlaces | undefined; readonly isLong?: boolean } = {},
  ): FmaElement {
    const n = this.limbCount;
    const quotient: FactorLimb[] = [];
    const result: FactorLimb[] = [];
    let incoming: Column["carries"] = [];
    for (let k = 0; k < 2 * n - 1; k += 1) {
      const column = newColumn({ chainsMin: columns?.inParts === true ? 2 : 1, isLong });
      fill(column, k);
      for (const carry of incoming.slice(0, -1)) this.#addCarry(f, column, carry);
      for (let i = Math.max(0, k - n + 1); i < Math.min(k, n); i += 1) {
        // The newest carry and the newest quotient digit arrive last: everything else is summed while they are
        // computed.
        if (i === Math.min(k, n) - 1) for (const carry of incoming.slice(-1)) this.#addCarry(f, column, carry);
        this.#multiplyInto(f, column, { a: at(quotient, i), b: this.#primeLimb(f, k - i) });
      }
      if (k === 0) for (const carry of incoming) this.#addCarry(f, column, carry);
      this.#joinLows(f, column);
      this.#closeChains(f, column);
      const end = k < n ? this.#reduceColumn(f, column) : this.#closeColumn(f, column);
      const kept = columns === undefined ? end.local : columns.keep(f, k, end.local);
      (k < n ? quotient : result).push({ local: kept, max: end.max });
      incoming = column.carries;
    }
    result.push(this.#sumOfCarries(f, incoming));
    const quotientMax = quotient.reduce((total, digit, i) => total + (digit.max << BigInt(this.limbBits * i)), 0n);
    const max = ceilDiv(sumMax + quotientMax * this.prime, this.radix);
    const limbs = result.map((limb, j) => ({
      local: asLocal(f, limb.local),
      max: j < n - 1 ? limb.max : min(limb.max, this.#topMax(max)),
    }));
    return { limbs, max };
  }

  /**
   * column += x * y (or -= with `negate`), exactly: the high part joins a chain that rounds to multiples of a limb, the
   * low part is what it left. A limb that is always 0, as of some constants, adds nothing.
   */
  #multiplyInto(f: FunctionBuilder, column: Column, { a: x, b: y, negate = false }: Product<FactorLimb>): void {
    if (x.max === 0n || y.max === 0n) return;
    const fused = negate ? f64x2.relaxedNmadd : f64x2.relaxedMadd;
    const max = ceilDiv(x.max * y.max, this.#limb) * this.#limb;
    let chain = this.#shortestChain(column, max);
    if (chain === undefined || column.chains.length < column.chainsMin) {
      if (max > this.#highRoom) throw new Error("a product of limbs is too large to split");
      // The second of two chains starts at the negative: their sum is that of their parts.
      const start = column.chains.length % 2 === 0 ? this.#splitter : -this.#splitter;
      chain = { local: c(f, start), max: 0n };
      column.chains.push(chain);
    }
    const before = chain.local;
    const [left, right] = [asLocal(f, x.local), asLocal(f, y.local)];
    const after = f.let(fused(left, right, before));
    const low = f.let(fused(left, right, f64x2.sub(before, after)));
    chain.local = after;
    chain.max += max;
    this.#addLow(f, column, { local: low, max: this.halfLimb });
    if (column.isLong) [column.low, column.otherLow] = [column.otherLow, column.low];
  }

  /** Returns the chain with most room, if it has enough. */
  #shortestChain({ chains }: Column, max: bigint): Chain | undefined {
    const [first, ...others] = chains.filter((chain) => chain.max + max <= this.#highRoom);
    return others.reduce((least, each) => (least === undefined || each.max < least.max ? each : least), first);
  }

  /** Joins both low parts of a long column. */
  #joinLows(f: FunctionBuilder, column: Column): void {
    const { low, otherLow } = column;
    column.otherLow = undefined;
    if (low === undefined || otherLow === undefined) {
      column.low = low ?? otherLow;
      return;
    }
    if (low.max + otherLow.max <= EXACT_MAX) {
      this.#addLow(f, column, otherLow);
      return;
    }
    const [kept, carry] = this.#split(f, otherLow);
    column.carries.push(carry);
    this.#addLow(f, column, kept);
  }

  #addLow(f: FunctionBuilder, column: Column, low: BoundedLimb): void {
    if (column.low === undefined) {
      column.low = low;
      return;
    }
    if (column.low.max + low.max > EXACT_MAX) {
      const [kept, carry] = this.#split(f, column.low);
      column.carries.push(carry);
      column.low = kept;
    }
    column.low = this.#exact({ local: f.let(f64x2.add(column.low.local, low.local)), max: column.low.max + low.max });
  }

  /** A carry from the column below, a multiple of a limb there, joins as an integer. */
  #addCarry(f: FunctionBuilder, column: Column, carry: { readonly local: Vector; readonly max: bigint }): void {
    const max = ceilDiv(carry.max, this.#limb);
    if (column.low !== undefined && column.low.max + max > EXACT_MAX) {
      const [kept, high] = this.#split(f, column.low);
      column.carries.push(high);
      column.low = kept;
    }
    if (column.low === undefined || column.low.max + max > EXACT_MAX) {
      const whole = this.#exact({ local: f.let(f64x2.mul(carry.local, c(f, this.#inverseLimb))), max });
      if (column.low === undefined) {
        column.low = whole;
        return;
      }
      const [kept, high] = this.#split(f, whole);
      column.carries.push(high);
      this.#addLow(f, column, kept);
      return;
    }
    const local = f.let(f64x2.relaxedMadd(carry.local, c(f, this.#inverseLimb), column.low.local));
    column.low = this.#exact({ local, max: column.low.max + max });
  }

  /** Bounds of the quotient by p that `reduce` rounds, and of what stays. */
  #reductionBounds({ limbs }: FmaElement): { readonly qMax: bigint; readonly max: bigint } {
    const topUnit = 1n << BigInt(this.limbBits * (this.limbCount - 1));
    const below = this.headLimbs === 1 ? 0n : ceilDiv(at(limbs, this.limbCount - 2).max, this.#limb);
    const qMax = BigInt(Math.ceil((Number(last(limbs).max + below) * Number(topUnit)) / Number(this.prime) + 0.5));
    // The quotient is read off the head alone: what the other limbs hold is the error that stays.
    return { qMax, max: this.prime / 2n + lowerSum(limbs, this.limbBits, this.headLimbs) + (this.prime >> 40n) };
  }

  #closeChains(f: FunctionBuilder, column: Column): void {
    for (let i = 0; i < column.chains.length; i += 2) {
      const chain = at(column.chains, i);
      const opposite = column.chains[i + 1];
      column.carries.push({
        local: f.let(
          opposite === undefined
            ? f64x2.sub(chain.local, c(f, this.#splitter))
            : f64x2.add(chain.local, opposite.local),
        ),
        max: chain.max + (opposite?.max ?? 0n),
      });
    }
    column.chains = [];
    this.#mergeCarries(f, column);
  }

  /** Adds carries up as far as sums stay exact: they are multiples of a limb, so 53 bits above it are. */
  #mergeCarries(f: FunctionBuilder, column: Column): void {
    const merged: Column["carries"] = [];
    for (const carry of column.carries) {
      const before = merged.at(-1);
      if (before !== undefined && before.max + carry.max <= EXACT_MAX * this.#limb) {
        merged[merged.length - 1] = { local: f.let(f64x2.add(before.local, carry.local)), max: before.max + carry.max };
      } else {
        merged.push(carry);
      }
    }
    column.carries = merged;
  }

  /**
   * Finds and returns the quotient digit m with column + m p = 0 modulo a limb. The sum is exact in one fused operation
   * and becomes a carry.
   */
  #reduceColumn(f: FunctionBuilder, column: Column): BoundedLimb {
    let low = must(column.low);
    if (low.max * abs(this.#negativeInverse) > this.#highRoom) {
      const [kept, carry] = this.#split(f, low);
      column.carries.push(carry);
      this.#mergeCarries(f, column);
      low = kept;
    }
    const inverse = c(f, Number(this.#negativeInverse));
    const high = f.let(f64x2.relaxedMadd(low.local, inverse, c(f, this.#splitter)));
    const digit = f.let(f64x2.relaxedMadd(low.local, inverse, f64x2.sub(c(f, this.#splitter), high)));
    const p = this.#primeLimb(f, 0);
    const cleared = f.let(f64x2.relaxedMadd(digit, p.local, low.local));
    column.carries.push({ local: cleared, max: this.halfLimb * p.max + low.max });
    return { local: digit, max: this.halfLimb };
  }

  #closeColumn(f: FunctionBuilder, column: Column): BoundedLimb {
    const [low, carry] = this.#split(f, must(column.low));
    column.carries.push(carry);
    return low;
  }

  #sumOfCarries(f: FunctionBuilder, carries: Column["carries"]): BoundedLimb {
    const column = newColumn({ chainsMin: 1, isLong: false });
    for (const carry of carries) this.#addCarry(f, column, carry);
    if (column.carries.length > 0) throw new Error("the highest limb may leave the exact range");
    return must(column.low);
  }

  /** value = low + high, high a multiple of a limb, |low| at most half a limb. */
  #split(f: FunctionBuilder, value: BoundedLimb): [BoundedLimb, BoundedLimb] {
    const high = f.let(f64x2.sub(f64x2.add(value.local, c(f, this.#splitter)), c(f, this.#splitter)));
    const low = f.let(f64x2.sub(value.local, high));
    return [
      { local: low, max: min(this.halfLimb, value.max) },
      { local: high, max: ((value.max + this.halfLimb) / this.#limb) * this.#limb },
    ];
  }

  #limbwise(a: FmaElement, b: FmaElement, combine: (x: Vector, y: Vector) => Vector): FmaElement {
    const limbs = a.limbs.map((x, j) => {
      const y = at(b.limbs, j);
      return this.#exact({ local: combine(x.local, y.local), max: x.max + y.max });
    });
    return { limbs, max: a.max + b.max };
  }

  #primeLimb(f: FunctionBuilder, j: number): { readonly local: V128; readonly max: bigint } {
    const limb = this.primeLimbs[j] ?? 0n;
    return { local: c(f, Number(limb)), max: abs(limb) };
  }

  #storedMax(j: number, max: bigint): bigint {
    return j < this.limbCount - 1 ? this.halfLimb : this.#topMax(max);
  }

  #topMax(max: bigint): bigint {
    return (max >> BigInt(this.limbBits * (this.limbCount - 1))) + 1n;
  }

  #exact(limb: BoundedLimb): BoundedLimb {
    if (limb.max > EXACT_MAX) throw new Error("a limb may leave the exact range");
    return limb;
  }
}

function newColumn({ chainsMin, isLong }: Pick<Column, "chainsMin" | "isLong">): Column {
  return { chainsMin, isLong, low: undefined, otherLow: undefined, chains: [], carries: [] };
}

function asLocal(f: FunctionBuilder, value: V128): Vector {
  return isLocal(value) ? value : f.let(value);
}

function isLocal(value: V128): value is Vector {
  return "index" in value;
}

/** The most that all limbs but the highest can add up to. */
function lowerSum(limbs: readonly BoundedLimb[], limbBits: number, headLimbs = 1): bigint {
  return limbs.slice(0, -headLimbs).reduce((sum, limb, j) => sum + (limb.max << BigInt(limbBits * j)), 0n);
}

/** The same number in both lanes, loaded once for each function. */
function c(f: FunctionBuilder, value: number): V128 {
  return f.number(value);
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error("limb index out of range");
  return item;
}

function last<T>(items: readonly T[]): T {
  return at(items, items.length - 1);
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a column has no terms");
  return value;
}

function abs(value: bigint): bigint {
  return value < 0n ? -value : value;
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function ceilDiv(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}
