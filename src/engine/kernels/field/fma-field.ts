/**
 * A prime field on fused multiply-add, two elements side by side (fma-arithmetic.ts does the arithmetic; this file adds
 * memory, constants, tests and conversions). At rest a limb is a double: element = limb 0 || ... || limb n-1, block =
 * the limbs of two elements interleaved. A mark is a NaN in the highest limb.
 */
import { FmaArithmetic } from "./fma-arithmetic.js";
import { balancedLimbs } from "./integers.js";
import { f64, f64x2, i32, i64, i64x2, v128 } from "../wasm/wasm-ops.js";
import type { BoundedLimb, ColumnPlaces, FmaElement, FmaFactor } from "./fma-arithmetic.js";
import type { Address, LanePlace, PrimeField, Product } from "./field.js";
import type { FunctionBuilder, Global, ModuleBuilder } from "../wasm/wasm-builder.js";
import type { Expression, Local, ValueType } from "../wasm/wasm-ops.js";

const MARK_BITS = 0x7ff8_0000_0000_0000n;
export const LOW_LANES = [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23];
export const HIGH_LANES = [8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31];
const SWAPPED_LANES = [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7];

/** A prime field of two lanes, on doubles. */
export class FmaField implements PrimeField<FmaElement> {
  readonly lanes: 2 | 4 = 2;
  readonly degree = 1;
  readonly localType = "v128";
  readonly localCount: number;
  readonly prime: bigint;
  readonly radix: bigint;
  readonly limbBits: number;
  readonly limbCount: number;
  readonly elementBytes: number;
  readonly reducedMax: bigint;
  readonly productMax: bigint;
  readonly remainderMax: bigint;
  protected readonly arithmetic: FmaArithmetic;
  readonly #columns: ColumnPlaces | undefined;

  /** @param module of the code that will be emitted, which then keeps the columns of sums apart; else they are not. */
  constructor(prime: bigint, module?: ModuleBuilder) {
    this.arithmetic = new FmaArithmetic(prime);
    this.#columns = module === undefined ? undefined : columnsIn(module, this.arithmetic.columnCount);
    this.prime = prime;
    this.radix = this.arithmetic.radix;
    this.limbBits = this.arithmetic.limbBits;
    this.limbCount = this.arithmetic.limbCount;
    this.localCount = this.limbCount;
    this.elementBytes = this.limbCount * 8;
    this.reducedMax = this.arithmetic.reducedMax;
    this.productMax = this.arithmetic.productMax;
    this.remainderMax = prime / 2n + (prime >> 40n);
  }

  /** Bytes of a limb of every lane, once for each limb. */
  get blockBytes(): number {
    return this.elementBytes * this.lanes;
  }

  /** Bound of every limb but the highest of a normalised element. */
  get halfLimb(): bigint {
    return this.arithmetic.halfLimb;
  }

  /**
   * Loads with one instruction for each limb and lane, or one for both lanes when their addresses are the same local.
   */
  load(f: FunctionBuilder, addresses: readonly Address[], offset: number, max: bigint): FmaElement {
    const [first, second] = pair(addresses);
    const limbs = this.limbIndices().map((j) => {
      const at = offset + 8 * j;
      return f.let(
        first === second ? v128.load64Splat(first, at) : v128.load64Lane(second, at, 1, v128.load64Zero(first, at)),
      );
    });
    return this.arithmetic.stored(limbs, max);
  }

  /** Stores limb by limb, 8 bytes for each lane; refuses an element that is not normalised. */
  store(f: FunctionBuilder, addresses: readonly Address[], offset: number, element: FmaElement): void {
    this.requireNormal(element);
    for (const [j, limb] of element.limbs.entries()) {
      for (const [lane, address] of addresses.entries())
        f.run(v128.store64Lane(address, offset + 8 * j, lane, limb.local));
    }
  }

  /** Loads limb by limb, 16 bytes for both lanes. */
  loadBlock(f: FunctionBuilder, address: Address, offset: number, max: bigint): FmaElement {
    return this.arithmetic.stored(
      this.limbIndices().map((j) => f.let(v128.load(address, offset + 16 * j))),
      max,
    );
  }

  /** Stores limb by limb, 16 bytes for both lanes; refuses an element that is not normalised. */
  storeBlock(f: FunctionBuilder, address: Address, offset: number, element: FmaElement): void {
    this.requireNormal(element);
    for (const [j, limb] of element.limbs.entries()) f.run(v128.store(address, limb.local, offset + 16 * j));
  }

  /** Brings the one coefficient into Montgomery form while the code is emitted. */
  constant(f: FunctionBuilder, coefficients: readonly bigint[]): FmaElement {
    const [value] = coefficients;
    if (value === undefined || coefficients.length !== 1) throw new Error("a prime field has one coefficient");
    return this.rawConstant(f, value * this.radix);
  }

  /** Writes the limbs of the integer, centred around zero, as vector constants, whose size is known. */
  rawConstant(f: FunctionBuilder, value: bigint): FmaElement {
    const residue = ((value % this.prime) + this.prime) % this.prime;
    const centred = residue > this.prime / 2n ? residue - this.prime : residue;
    const limbs = balancedLimbs(centred, this.limbBits, this.limbCount).map((limb) => ({
      local: f.number(Number(limb)),
      max: limb < 0n ? -limb : limb,
    }));
    return { limbs, max: centred < 0n ? -centred : centred };
  }

  /** Loads each limb of the lane into both lanes. */
  loadLane(f: FunctionBuilder, { address, offset, lane }: LanePlace, max: bigint): FmaElement {
    return this.arithmetic.stored(
      this.limbIndices().map((j) => f.let(v128.load64Splat(address, offset + 16 * j + 8 * lane))),
      max,
    );
  }

  /** Stores 8 bytes of every 16; refuses an element that is not normalised. */
  storeLane(f: FunctionBuilder, { address, offset, lane }: LanePlace, element: FmaElement): void {
    this.requireNormal(element);
    for (const [j, limb] of element.limbs.entries())
      f.run(v128.store64Lane(address, offset + 16 * j + 8 * lane, lane, limb.local));
  }

  /** Returns a vector for each limb, the lowest first. */
  locals(element: FmaElement): readonly Expression<ValueType>[] {
    return element.limbs.map((limb) => limb.local);
  }

  /** Takes a vector for each limb, the lowest first. */
  fromLocals(locals: readonly Local<ValueType>[], max: bigint): FmaElement {
    return this.arithmetic.stored(locals as readonly Local<"v128">[], max);
  }

  /** Takes a vector for each limb. */
  variable(f: FunctionBuilder, max: bigint): FmaElement {
    return this.arithmetic.stored(
      this.limbIndices().map(() => f.local("v128")),
      max,
    );
  }

  /** Copies limb by limb; refuses a value or a limb that might exceed the bound of the variable. */
  assign(f: FunctionBuilder, target: FmaElement, value: FmaElement): void {
    if (value.max > target.max) throw new Error("the value may exceed the variable's bound");
    for (const [j, limb] of value.limbs.entries()) {
      const into = target.limbs[j];
      if (into === undefined || limb.max > into.max) throw new Error("a limb may exceed the variable's bound");
      f.set(into.local, limb.local);
    }
  }

  /** Adds limb by limb. */
  add(f: FunctionBuilder, a: FmaElement, b: FmaElement): FmaElement {
    return this.arithmetic.add(f, a, b);
  }

  /** Subtracts limb by limb. */
  sub(f: FunctionBuilder, a: FmaElement, b: FmaElement): FmaElement {
    return this.arithmetic.sub(f, a, b);
  }

  /** Flips the sign bits of every limb: normalised limbs stay so, for their range is symmetric. */
  applySigns(f: FunctionBuilder, a: FmaElement, signs: readonly Address[]): FmaElement {
    const [first, second] = pair(signs);
    const bits = i64x2.replaceLane(1, i64x2.splat(i64.extendU(first)), i64.extendU(second));
    const mask = f.let(i64x2.shl(bits, 63));
    return { ...a, limbs: a.limbs.map((limb) => ({ local: f.let(v128.xor(limb.local, mask)), max: limb.max })) };
  }

  /** Carries from limb to limb, upwards. */
  normalize(f: FunctionBuilder, a: FmaElement): FmaElement {
    return this.arithmetic.normalize(f, a);
  }

  /** Tells whether `reduce` takes the element without `normalize` before it. */
  isReducible(a: FmaElement): boolean {
    return this.arithmetic.isReducible(a);
  }

  /** Subtracts the nearest multiple of the prime; refuses an element too large for one step. */
  reduce(f: FunctionBuilder, a: FmaElement): FmaElement {
    const result = this.arithmetic.reduce(f, a);
    if (result.max > this.reducedMax) throw new Error("the value is too large to reduce in one step");
    return result;
  }

  /** Multiplies in Montgomery form: see `FmaArithmetic.sumOfProducts`. */
  mul(f: FunctionBuilder, a: FmaElement, b: FmaElement): FmaElement {
    return this.arithmetic.sumOfProducts(f, [{ a, b }]);
  }

  /** Squares with each mixed product of limbs computed once. */
  square(f: FunctionBuilder, a: FmaElement): FmaElement {
    return this.arithmetic.square(f, a);
  }

  /** Adds up products with one reduction, and with kept columns where it pays: see `FmaArithmetic`. */
  sumOfProducts(f: FunctionBuilder, products: readonly Product<FmaFactor>[]): FmaElement {
    return this.arithmetic.sumOfProducts(f, products, products.length > 1 ? this.#columns : undefined);
  }

  /**
   * A normalised block in memory as a factor whose limbs are loaded where they are used: whole, or one lane of it in
   * both.
   */
  factor(address: Address, max: bigint, lane?: 0 | 1): FmaFactor {
    const limb = (j: number): Expression<"v128"> =>
      lane === undefined ? v128.load(address, 16 * j) : v128.load64Splat(address, 16 * j + 8 * lane);
    return this.arithmetic.factor(this.limbIndices().map(limb), max);
  }

  /** Reduces and looks whether every limb is 0 or -0. */
  isZero(f: FunctionBuilder, a: FmaElement): Address {
    let bits: Expression<"v128"> | undefined;
    for (const limb of this.reduce(f, a).limbs)
      bits = bits === undefined ? f64x2.abs(limb.local) : v128.or(bits, f64x2.abs(limb.local));
    if (bits === undefined) throw new Error("no limbs");
    return f.let(i32.eqz(v128.anyTrue(bits)));
  }

  /** Looks at the highest limb alone. */
  mayBeZero(f: FunctionBuilder, a: FmaElement): Address {
    return f.let(i32.eqz(i64x2.allTrue(this.isFarFromZero(a))));
  }

  /** Writes a quiet NaN as the highest limb. */
  storeMark(f: FunctionBuilder, address: Address): void {
    for (const j of this.limbIndices())
      f.run(i64.store(address, i64.const(j === this.limbCount - 1 ? MARK_BITS : 0n), 8 * j));
  }

  /** Compares the bits of the highest limb with the NaN of `storeMark`. */
  isMarked(f: FunctionBuilder, address: Address): Address {
    return f.let(i64.eq(i64.load(address, 8 * (this.limbCount - 1)), i64.const(MARK_BITS)));
  }

  /** Exchanges lanes with one shuffle for each limb. */
  transpose(f: FunctionBuilder, a: FmaElement, b: FmaElement): readonly [FmaElement, FmaElement] {
    const pick = (lanes: readonly number[]): FmaElement => ({
      max: a.max > b.max ? a.max : b.max,
      limbs: a.limbs.map((x, j) => {
        const y = b.limbs[j];
        if (y === undefined) throw new Error("limb count differs");
        return { local: f.let(v128.shuffle(x.local, y.local, lanes)), max: x.max > y.max ? x.max : y.max };
      }),
    });
    return [pick(LOW_LANES), pick(HIGH_LANES)];
  }

  /** Adds the element to itself with its lanes swapped; neither normalised nor reduced. */
  sumOfLanes(f: FunctionBuilder, a: FmaElement): FmaElement {
    const swapped = {
      ...a,
      limbs: a.limbs.map((limb) => ({
        local: f.let(v128.shuffle(limb.local, limb.local, SWAPPED_LANES)),
        max: limb.max,
      })),
    };
    return this.add(f, a, swapped);
  }

  /** Cuts each integer into limbs and makes doubles of them. */
  unpack(f: FunctionBuilder, addresses: readonly Address[], bytes: number): FmaElement {
    const lanes = addresses.map((address) =>
      Array.from({ length: bytes / 8 }, (_, i) => f.let(i64.load(address, 8 * i))),
    );
    const limbs = this.limbIndices().map((j): BoundedLimb => {
      const isTop = j === this.limbCount - 1;
      const parts = lanes.map((words) =>
        f64.convertI64S(extractLimb(words, { from: j * this.limbBits, bits: this.limbBits, isTop })),
      );
      const [first, second] = pair(parts);
      const max = isTop ? 1n << BigInt(Math.max(0, 8 * bytes - j * this.limbBits)) : maskOf(this.limbBits);
      return { local: f.let(f64x2.replaceLane(1, f64x2.splat(first), second)), max };
    });
    return this.arithmetic.normalize(f, { limbs, max: (1n << BigInt(8 * bytes)) - 1n });
  }

  /** Reduces, adds the prime to a negative value and joins the limbs into words of 64 bits. */
  pack(f: FunctionBuilder, addresses: readonly Address[], bytes: number, element: FmaElement): void {
    const reduced = this.reduce(f, element);
    for (const [lane, address] of addresses.entries()) {
      const signed = carryDigits(
        f,
        reduced.limbs.map((limb) => f.let(i64.truncF64S(f64.extractLane(lane, limb.local)))),
        this.limbBits,
      );
      const top = signed[signed.length - 1];
      if (top === undefined) throw new Error("no limbs");
      // A negative value gets p added once.
      const negative = f.let(i64.shrS(top, i64.const(63n)));
      const digits = carryDigits(
        f,
        signed.map((digit, j) =>
          f.let(i64.add(digit, i64.and(negative, i64.const(this.arithmetic.primeLimbs[j] ?? 0n)))),
        ),
        this.limbBits,
      );
      for (let word = 0; word < bytes / 8; word += 1)
        f.run(i64.store(address, gatherBits(digits, { from: word * 64, limbBits: this.limbBits }), 8 * word));
    }
  }

  /** Tells lane by lane, by all bits of it, that an element as for `mayBeZero` is neither 0 nor comes from a mark. */
  protected isFarFromZero(a: FmaElement): Expression<"v128"> {
    // Zero modulo p is 0 or +-p here, and normalised limbs are unique: the highest limb is then 0 or +-(that of p).
    const half = f64x2.constSplat(Number(this.arithmetic.primeLimbs[this.limbCount - 1] ?? 0n) / 2);
    const distance = f64x2.abs(f64x2.sub(f64x2.abs(f64x2.sub(f64x2.abs(this.top(a).local), half)), half));
    // The comparison is false for a NaN, so a marked element is caught too.
    return f64x2.gt(distance, f64x2.constSplat(1));
  }

  protected limbIndices(): number[] {
    return Array.from({ length: this.limbCount }, (_, j) => j);
  }

  protected top(a: FmaElement): BoundedLimb {
    const limb = a.limbs[this.limbCount - 1];
    if (limb === undefined) throw new Error("no limbs");
    return limb;
  }

  protected requireNormal(a: FmaElement): void {
    if (a.limbs.slice(0, -1).some((limb) => limb.max > this.halfLimb))
      throw new Error("only normalised elements are stored");
  }
}

/** Some bits of a little-endian multiword integer from bit `from`; the highest limb takes all that is left. */
function extractLimb(
  words: readonly Local<"i64">[],
  { from, bits: count, isTop }: { readonly from: number; readonly bits: number; readonly isTop: boolean },
): Expression<"i64"> {
  const shift = from % 64;
  const low = words[Math.floor(from / 64)];
  const high = words[Math.floor(from / 64) + 1];
  if (low === undefined) return i64.const(0n);
  let bits: Expression<"i64"> = shift === 0 ? low : i64.shrU(low, i64.const(BigInt(shift)));
  if (high !== undefined && shift + count > 64) bits = i64.or(bits, i64.shl(high, i64.const(BigInt(64 - shift))));
  return isTop ? bits : i64.and(bits, i64.const(maskOf(count)));
}

/** Carries so that every digit but the highest is between 0 and 2^limbBits - 1. */
function carryDigits(f: FunctionBuilder, digits: readonly Local<"i64">[], limbBits: number): Local<"i64">[] {
  const result: Local<"i64">[] = [];
  let carry: Local<"i64"> | undefined;
  for (const [j, digit] of digits.entries()) {
    const sum: Local<"i64"> = carry === undefined ? digit : f.let(i64.add(digit, carry));
    if (j === digits.length - 1) {
      result.push(sum);
    } else {
      result.push(f.let(i64.and(sum, i64.const(maskOf(limbBits)))));
      carry = f.let(i64.shrS(sum, i64.const(BigInt(limbBits))));
    }
  }
  return result;
}

/** 64 bits of the integer that non-negative digits make, from bit `from`. */
function gatherBits(
  digits: readonly Local<"i64">[],
  { from, limbBits }: { readonly from: number; readonly limbBits: number },
): Expression<"i64"> {
  let word: Expression<"i64"> = i64.const(0n);
  for (const [j, digit] of digits.entries()) {
    const shift = j * limbBits - from;
    if (shift <= -64 || shift >= 64) continue;
    const part = shift >= 0 ? i64.shl(digit, i64.const(BigInt(shift))) : i64.shrU(digit, i64.const(BigInt(-shift)));
    word = i64.or(word, part);
  }
  return word;
}

/** Places of columns in variables of the module's instances. */
function columnsIn(module: ModuleBuilder, count: number): ColumnPlaces {
  const places = Array.from({ length: count }, () => module.vectorGlobal());
  const at = (column: number): Global<"v128"> => {
    const place = places[column];
    if (place === undefined) throw new Error("there is no such column");
    return place;
  };
  return {
    inParts: false,
    keep: (f, column, value) => {
      f.run(at(column).set(value));
      return at(column);
    },
  };
}

function maskOf(bits: number): bigint {
  return (1n << BigInt(bits)) - 1n;
}

function pair<T>(items: readonly T[]): readonly [T, T] {
  const [first, second] = items;
  if (first === undefined || second === undefined || items.length !== 2) throw new Error("two lanes expected");
  return [first, second];
}
