/**
 * A prime field on 64-bit integers, one element at a time: limbs of 29 bits (28 for long primes), signed, so that a
 * whole column of products fits in 64 bits. The fallback where multiply-add is not fused; any machine with WebAssembly
 * runs it. The emitter bounds every limb while it writes code, as fma-arithmetic.ts does.
 *
 * At rest a limb is a 32-bit integer (the highest signed); an element is padded to a multiple of 8 bytes. A mark is a
 * highest limb that no element can have.
 */
import { inverse } from "../../field/prime-field.js";
import { unsignedLimbs } from "./integers.js";
import { i32, i64 } from "../wasm/wasm-ops.js";
import type { Address, LanePlace, PrimeField, Product } from "./field.js";
import type { FunctionBuilder } from "../wasm/wasm-builder.js";
import type { Expression, Local, ValueType } from "../wasm/wasm-ops.js";

interface IntegerLimb {
  readonly local: Expression<"i64">;
  readonly max: bigint;
}

export interface IntegerElement {
  readonly limbs: readonly IntegerLimb[];
  readonly max: bigint;
}

/**
 * Longest prime with limbs of 29 bits: a column of an extension field's product then has at most 30 products of 58
 * bits.
 */
const WIDE_LIMB_PRIME_BITS_MAX = 288;
const COLUMN_MAX = (1n << 63n) - 1n;
const MARK = 0x7fff_ffffn;
/** Any highest limb beyond this came from a mark. */
const MARKED_FROM = 1n << 29n;
/** Bits of the scaled reciprocal of p that `reduce` multiplies with. */
const RECIPROCAL_BITS = 24;
/** A highest limb with fewer bits of the prime than this is too coarse to estimate a quotient from. */
const HEAD_BITS_MIN = 18;
/** Bits of the prime in an estimate that takes from the second limb. */
const HEAD_BITS = 28;

/** A prime field of one lane, on 64-bit integers. */
export class IntegerField implements PrimeField<IntegerElement> {
  readonly lanes = 1;
  readonly degree = 1;
  readonly localType = "i64";
  readonly localCount: number;
  readonly prime: bigint;
  readonly radix: bigint;
  readonly limbBits: number;
  readonly limbCount: number;
  readonly elementBytes: number;
  readonly blockBytes: number;
  readonly reducedMax: bigint;
  readonly productMax: bigint;
  readonly remainderMax: bigint;
  readonly #limb: bigint;
  readonly #mask: bigint;
  readonly #primeLimbs: readonly bigint[];
  readonly #negativeInverse: bigint;
  /** Bits of the second highest limb that `reduce` estimates the quotient from, beside the highest. */
  readonly #headExtraBits: number;

  constructor(prime: bigint) {
    this.prime = prime;
    this.limbBits = prime.toString(2).length <= WIDE_LIMB_PRIME_BITS_MAX ? 29 : 28;
    this.#limb = 1n << BigInt(this.limbBits);
    this.#mask = this.#limb - 1n;
    // Two bits of room above the prime for unreduced values.
    this.limbCount = Math.ceil((prime.toString(2).length + 2) / this.limbBits);
    this.localCount = this.limbCount;
    this.elementBytes = Math.ceil(this.limbCount / 2) * 8;
    this.blockBytes = this.elementBytes;
    this.radix = 1n << BigInt(this.limbBits * this.limbCount);
    this.#primeLimbs = unsignedLimbs(prime, this.limbBits, this.limbCount);
    this.#negativeInverse = this.#limb - inverse(prime % this.#limb, this.#limb);
    const topBits = (this.#primeLimbs[this.limbCount - 1] ?? 0n).toString(2).length;
    this.#headExtraBits = topBits >= HEAD_BITS_MIN ? 0 : HEAD_BITS - topBits;
    this.reducedMax = prime / 2n + (prime >> 16n);
    this.productMax = prime + (prime >> 2n);
    this.remainderMax = prime + 2n;
  }

  /** Loads from the one address. */
  load(f: FunctionBuilder, addresses: readonly Address[], offset: number, max: bigint): IntegerElement {
    return this.loadBlock(f, single(addresses), offset, max);
  }

  /** Stores at the one address. */
  store(f: FunctionBuilder, addresses: readonly Address[], offset: number, element: IntegerElement): void {
    this.storeBlock(f, single(addresses), offset, element);
  }

  /** Loads each limb of 32 bits into 64; the highest is signed. */
  loadBlock(f: FunctionBuilder, address: Address, offset: number, max: bigint): IntegerElement {
    const limbs = this.#limbIndices().map((j) => {
      const at = offset + 4 * j;
      return {
        local: f.let(this.#isTop(j) ? i64.load32S(address, at) : i64.load32U(address, at)),
        max: this.#normalMax(j, max),
      };
    });
    return { limbs, max };
  }

  /** Stores the low 32 bits of each limb; refuses an element that is not normalised. */
  storeBlock(f: FunctionBuilder, address: Address, offset: number, element: IntegerElement): void {
    if (element.limbs.slice(0, -1).some((limb) => limb.max > this.#mask))
      throw new Error("only normalised elements are stored");
    for (const [j, limb] of element.limbs.entries()) f.run(i64.store32(address, limb.local, offset + 4 * j));
  }

  /** Brings the one coefficient into Montgomery form while the code is emitted. */
  constant(f: FunctionBuilder, coefficients: readonly bigint[]): IntegerElement {
    return this.rawConstant(f, single(coefficients) * this.radix);
  }

  /** Writes the limbs of the integer, centred around zero, as constants. */
  rawConstant(f: FunctionBuilder, value: bigint): IntegerElement {
    const residue = ((value % this.prime) + this.prime) % this.prime;
    const centred = residue > this.prime / 2n ? residue - this.prime : residue;
    const limbs = unsignedLimbs(centred, this.limbBits, this.limbCount);
    return {
      limbs: limbs.map((limb, j) => ({ local: f.let(i64.const(limb)), max: this.#normalMax(j, this.reducedMax) })),
      max: this.reducedMax,
    };
  }

  /** Loads the block: it has one lane. */
  loadLane(f: FunctionBuilder, { address, offset }: LanePlace, max: bigint): IntegerElement {
    return this.loadBlock(f, address, offset, max);
  }

  /** Stores the block: it has one lane. */
  storeLane(f: FunctionBuilder, { address, offset }: LanePlace, element: IntegerElement): void {
    this.storeBlock(f, address, offset, element);
  }

  /** Returns an i64 for each limb, the lowest first. */
  locals(element: IntegerElement): readonly Expression<ValueType>[] {
    return element.limbs.map((limb) => limb.local);
  }

  /** Takes an i64 for each limb, the lowest first. */
  fromLocals(locals: readonly Local<ValueType>[], max: bigint): IntegerElement {
    return { limbs: locals.map((local, j) => ({ local: local as Local<"i64">, max: this.#normalMax(j, max) })), max };
  }

  /** Takes an i64 for each limb. */
  variable(f: FunctionBuilder, max: bigint): IntegerElement {
    return { limbs: this.#limbIndices().map((j) => ({ local: f.local("i64"), max: this.#normalMax(j, max) })), max };
  }

  /** Copies limb by limb; refuses a value or a limb that might exceed the bound of the variable. */
  assign(f: FunctionBuilder, target: IntegerElement, value: IntegerElement): void {
    if (value.max > target.max) throw new Error("the value may exceed the variable's bound");
    for (const [j, limb] of value.limbs.entries()) {
      const into = target.limbs[j];
      if (into === undefined || limb.max > into.max) throw new Error("a limb may exceed the variable's bound");
      f.set(into.local as Local<"i64">, limb.local);
    }
  }

  /** Adds limb by limb. */
  add(f: FunctionBuilder, a: IntegerElement, b: IntegerElement): IntegerElement {
    return this.#limbwise(a, b, (x, y) => f.let(i64.add(x, y)));
  }

  /** Subtracts limb by limb; limbs may become negative, so the result is never normalised. */
  sub(f: FunctionBuilder, a: IntegerElement, b: IntegerElement): IntegerElement {
    const difference = this.#limbwise(a, b, (x, y) => f.let(i64.sub(x, y)));
    return { ...difference, limbs: difference.limbs.map((limb) => ({ ...limb, max: limb.max + 1n })) };
  }

  /** Negates every limb when the sign is 1: the result is not normalised. */
  applySigns(f: FunctionBuilder, a: IntegerElement, signs: readonly Address[]): IntegerElement {
    const mask = f.let(i64.sub(i64.const(0n), i64.extendU(single(signs))));
    // One more than the bound marks the limbs as not normalised: they may be negative now.
    const flipped = a.limbs.map((limb) => ({
      local: f.let(i64.sub(i64.xor(limb.local, mask), mask)),
      max: limb.max + 1n,
    }));
    return { limbs: flipped, max: a.max };
  }

  /** Carries from limb to limb, upwards; all limbs but the highest become non-negative. */
  normalize(f: FunctionBuilder, a: IntegerElement): IntegerElement {
    const limbs: IntegerLimb[] = [];
    let carry: IntegerLimb | undefined;
    for (const [j, limb] of a.limbs.entries()) {
      const sum: IntegerLimb =
        carry === undefined ? limb : { local: f.let(i64.add(limb.local, carry.local)), max: limb.max + carry.max };
      if (this.#isTop(j)) {
        limbs.push({ local: sum.local, max: this.#normalMax(j, a.max) });
      } else {
        limbs.push({ local: f.let(i64.and(sum.local, i64.const(this.#mask))), max: this.#mask });
        carry = { local: f.let(i64.shrS(sum.local, i64.const(BigInt(this.limbBits)))), max: sum.max / this.#limb + 1n };
      }
    }
    return { limbs, max: a.max };
  }

  /** Subtracts an estimated multiple of the prime; refuses an element too large for one step. */
  reduce(f: FunctionBuilder, a: IntegerElement): IntegerElement {
    const head = this.#head(f, a);
    // q = round(head / (p / 2^headShift)) by a scaled reciprocal; |head| * reciprocal stays below 2^63.
    const headShift = BigInt(this.limbBits * (this.limbCount - 1) - this.#headExtraBits);
    const shift = BigInt(RECIPROCAL_BITS) + BigInt(this.prime.toString(2).length) - headShift;
    const reciprocal = (1n << (headShift + shift)) / this.prime;
    if (head.max * reciprocal > COLUMN_MAX / 2n) throw new Error("the value is too large to reduce in one step");
    const rounded = i64.add(i64.mul(head.local, i64.const(reciprocal)), i64.const(1n << (shift - 1n)));
    const q = f.let(i64.shrS(rounded, i64.const(shift)));
    const qMax = ((head.max * reciprocal) >> shift) + 1n;
    const limbs = a.limbs.map((limb, j) => {
      const p = this.#primeLimbs[j] ?? 0n;
      return this.#checked({ local: f.let(i64.sub(limb.local, i64.mul(q, i64.const(p)))), max: limb.max + qMax * p });
    });
    // Error of the quotient: what lies below the head, and the rounded reciprocal.
    const below = this.#headExtraBits === 0 ? a.limbs.slice(0, -1) : a.limbs.slice(0, -2);
    const lowerMax = below.reduce(
      (sum, limb, j) => sum + (limb.max << BigInt(this.limbBits * j)),
      this.#headExtraBits === 0 ? 0n : 1n << headShift,
    );
    const max = this.prime / 2n + lowerMax + (this.prime >> 18n);
    if (max > this.reducedMax) throw new Error("the quotient of the reduction is not exact enough");
    return this.normalize(f, { limbs, max: this.reducedMax });
  }

  /** Multiplies in Montgomery form, column by column. */
  mul(f: FunctionBuilder, a: IntegerElement, b: IntegerElement): IntegerElement {
    return this.sumOfProducts(f, [{ a, b }]);
  }

  /** Multiplies the element by itself. */
  square(f: FunctionBuilder, a: IntegerElement): IntegerElement {
    return this.sumOfProducts(f, [{ a, b: a }]);
  }

  /**
   * Adds up all products column by column in 64 bits, with one Montgomery reduction; refuses sums that might overflow.
   */
  sumOfProducts(f: FunctionBuilder, products: readonly Product<IntegerElement>[]): IntegerElement {
    const n = this.limbCount;
    const digits: IntegerLimb[] = [];
    const result: IntegerLimb[] = [];
    let carry: IntegerLimb | undefined;
    for (let k = 0; k < 2 * n - 1; k += 1) {
      let sum = carry;
      for (const { a, b, negate } of products) {
        for (let i = Math.max(0, k - n + 1); i <= Math.min(k, n - 1); i += 1)
          sum = this.#accumulate(f, sum, { a: a.limbs[i], b: b.limbs[k - i], negate: negate === true });
      }
      for (let i = Math.max(0, k - n + 1); i < Math.min(k, n); i += 1)
        sum = this.#accumulate(f, sum, { a: digits[i], b: this.#primeLimb(k - i) });
      if (sum === undefined) throw new Error("a column has no terms");
      if (k < n) {
        const digit = {
          local: f.let(i64.and(i64.mul(sum.local, i64.const(this.#negativeInverse)), i64.const(this.#mask))),
          max: this.#mask,
        };
        digits.push(digit);
        sum = this.#accumulate(f, sum, { a: digit, b: this.#primeLimb(0) });
      } else {
        result.push({ local: f.let(i64.and(sum.local, i64.const(this.#mask))), max: this.#mask });
      }
      carry = { local: f.let(i64.shrS(sum.local, i64.const(BigInt(this.limbBits)))), max: sum.max / this.#limb + 1n };
    }
    const total = products.reduce((all, { a, b }) => all + a.max * b.max, 0n);
    const max = (total + this.radix * this.prime) / this.radix + 1n;
    if (carry === undefined) throw new Error("no limbs");
    return { limbs: [...result, { local: carry.local, max: this.#normalMax(n - 1, max) }], max };
  }

  /** Reduces and looks whether every limb is 0. */
  isZero(f: FunctionBuilder, a: IntegerElement): Address {
    const bits = this.reduce(f, a)
      .limbs.map((limb) => limb.local)
      .reduce((x, y) => i64.or(x, y));
    return f.let(i64.eqz(bits));
  }

  /** Looks at the highest limb alone. */
  mayBeZero(f: FunctionBuilder, a: IntegerElement): Address {
    const top = a.limbs[this.limbCount - 1];
    if (top === undefined) throw new Error("no limbs");
    const p = this.#primeLimbs[this.limbCount - 1] ?? 0n;
    // 0, p or -p (whose floor in the highest limb is one lower), or the trace of a mark.
    const near = [0n, p, -p].map((centre) => i64.ltU(i64.add(top.local, i64.const(1n - centre)), i64.const(3n)));
    const marked = i64.gtU(i64.add(top.local, i64.const(MARKED_FROM)), i64.const(2n * MARKED_FROM));
    return f.let([...near, marked].reduce((x, y) => i32.or(x, y)));
  }

  /** Writes a highest limb that no element can have. */
  storeMark(f: FunctionBuilder, address: Address): void {
    for (const j of this.#limbIndices()) f.run(i64.store32(address, i64.const(this.#isTop(j) ? MARK : 0n), 4 * j));
  }

  /** Looks for the highest limb of `storeMark`. */
  isMarked(f: FunctionBuilder, address: Address): Address {
    return f.let(i64.eq(i64.load32U(address, 4 * (this.limbCount - 1)), i64.const(MARK)));
  }

  /** Returns both elements as they are: there is one lane. */
  transpose(_f: FunctionBuilder, a: IntegerElement, b: IntegerElement): readonly [IntegerElement, IntegerElement] {
    return [a, b];
  }

  /** Returns the element as it is: there is one lane. */
  sumOfLanes(_f: FunctionBuilder, a: IntegerElement): IntegerElement {
    return a;
  }

  /** Cuts the integer into limbs. */
  unpack(f: FunctionBuilder, addresses: readonly Address[], bytes: number): IntegerElement {
    const words = Array.from({ length: bytes / 8 }, (_, i) => f.let(i64.load(single(addresses), 8 * i)));
    const limbs = this.#limbIndices().map((j): IntegerLimb => {
      const shift = (j * this.limbBits) % 64;
      const low = words[Math.floor((j * this.limbBits) / 64)];
      const high = words[Math.floor((j * this.limbBits) / 64) + 1];
      if (low === undefined) return { local: f.let(i64.const(0n)), max: 0n };
      let bits: Expression<"i64"> = i64.shrU(low, i64.const(BigInt(shift)));
      if (high !== undefined && shift + this.limbBits > 64)
        bits = i64.or(bits, i64.shl(high, i64.const(BigInt(64 - shift))));
      return { local: f.let(i64.and(bits, i64.const(this.#mask))), max: this.#mask };
    });
    return { limbs, max: 1n << BigInt(8 * bytes) };
  }

  /** Reduces, adds the prime to a negative value and joins the limbs into words of 64 bits. */
  pack(f: FunctionBuilder, addresses: readonly Address[], bytes: number, element: IntegerElement): void {
    const address = single(addresses);
    const reduced = this.reduce(f, element);
    const top = reduced.limbs[this.limbCount - 1];
    if (top === undefined) throw new Error("no limbs");
    const negative = f.let(i64.shrS(top.local, i64.const(63n)));
    const raised = reduced.limbs.map((limb, j) => ({
      local: f.let(i64.add(limb.local, i64.and(negative, i64.const(this.#primeLimbs[j] ?? 0n)))),
      max: 2n * this.#limb,
    }));
    const digits = this.normalize(f, { limbs: raised, max: this.prime }).limbs;
    for (let word = 0; word < bytes / 8; word += 1) {
      let bits: Expression<"i64"> = i64.const(0n);
      for (const [j, digit] of digits.entries()) {
        const shift = j * this.limbBits - word * 64;
        if (shift <= -64 || shift >= 64) continue;
        bits = i64.or(
          bits,
          shift >= 0
            ? i64.shl(digit.local, i64.const(BigInt(shift)))
            : i64.shrU(digit.local, i64.const(BigInt(-shift))),
        );
      }
      f.run(i64.store(address, bits, 8 * word));
    }
  }

  /** sum + a * b, or sum - a * b; an undefined sum is 0. */
  #accumulate(
    f: FunctionBuilder,
    sum: IntegerLimb | undefined,
    { a, b, negate = false }: Product<IntegerLimb | undefined>,
  ): IntegerLimb {
    if (a === undefined || b === undefined) throw new Error("limb index out of range");
    const product = i64.mul(a.local, b.local);
    const combine = negate ? i64.sub : i64.add;
    const local = f.let(sum === undefined && !negate ? product : combine(sum?.local ?? i64.const(0n), product));
    return this.#checked({ local, max: (sum?.max ?? 0n) + a.max * b.max });
  }

  #limbwise(
    a: IntegerElement,
    b: IntegerElement,
    combine: (x: Expression<"i64">, y: Expression<"i64">) => Local<"i64">,
  ): IntegerElement {
    const limbs = a.limbs.map((x, j) => {
      const y = b.limbs[j];
      if (y === undefined) throw new Error("limb count differs");
      return this.#checked({ local: combine(x.local, y.local), max: x.max + y.max });
    });
    return { limbs, max: a.max + b.max };
  }

  /** The highest limb, with the upper bits of the next where the prime leaves too few in the highest. */
  #head(f: FunctionBuilder, a: IntegerElement): IntegerLimb {
    const top = a.limbs[this.limbCount - 1];
    const next = a.limbs[this.limbCount - 2];
    if (top === undefined || next === undefined) throw new Error("no limbs");
    const extra = this.#headExtraBits;
    if (extra === 0) return top;
    const dropped = BigInt(this.limbBits - extra);
    const local = f.let(
      i64.add(i64.shl(top.local, i64.const(BigInt(extra))), i64.shrS(next.local, i64.const(dropped))),
    );
    return this.#checked({ local, max: (top.max << BigInt(extra)) + (next.max >> dropped) + 1n });
  }

  #limbIndices(): number[] {
    return Array.from({ length: this.limbCount }, (_, j) => j);
  }

  #isTop(j: number): boolean {
    return j === this.limbCount - 1;
  }

  #normalMax(j: number, max: bigint): bigint {
    return this.#isTop(j) ? (max >> BigInt(this.limbBits * j)) + 1n : this.#mask;
  }

  #primeLimb(j: number): IntegerLimb {
    const limb = this.#primeLimbs[j] ?? 0n;
    return { local: i64.const(limb), max: limb };
  }

  #checked(limb: IntegerLimb): IntegerLimb {
    if (limb.max > COLUMN_MAX) throw new Error("a limb may overflow 64 bits");
    return limb;
  }
}

function single<T>(items: readonly T[]): T {
  const [item] = items;
  if (item === undefined || items.length !== 1) throw new Error("one lane expected");
  return item;
}
