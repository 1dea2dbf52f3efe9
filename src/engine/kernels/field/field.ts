/**
 * What the emitters of points, transforms and polynomials need of a field, whatever its limbs are made of. An element E
 * that an emitter handles stands for `lanes` field elements at once, limb by limb in local variables. All values are in
 * Montgomery form unless said otherwise.
 *
 * Reduction is lazy: an element is an integer that may be negative and larger than the prime, and the emitter knows a
 * bound of its size and of each limb's. An operation whose result might leave the exact range is refused while the code
 * is emitted, so what was emitted cannot overflow. "Normalised" means that the limbs are within their range.
 *
 * Memory: an element at rest takes `elementBytes`. Points are arrays of elements (x then y); vectors of scalars are
 * arrays of blocks, a block holding `lanes` neighbouring elements interleaved limb by limb, so that one aligned load
 * fetches a limb of each.
 *
 * With four lanes (wide-field.ts) whole vectors are handled by functions of two halves (wasm-builder.ts). Functions of
 * one half use the same field for what is done to one lane at a time, or to each in turn.
 */
import type { FunctionBuilder } from "../wasm/wasm-builder.js";
import type { Expression, Local, ValueType } from "../wasm/wasm-ops.js";

export type Address = Expression<"i32">;

/** One lane of a block in memory. */
export interface LanePlace {
  readonly address: Address;
  /** Bytes from the address to the block. */
  readonly offset: number;
  readonly lane: Lane;
}

export type Lane = 0 | 1 | 2 | 3;

/** a * b, or minus that. */
export interface Product<E> {
  readonly a: E;
  readonly b: E;
  readonly negate?: boolean;
}

export interface Field<E> {
  readonly lanes: 1 | 2 | 4;
  /** Over the prime field. */
  readonly degree: 1 | 2;
  /** Bytes of one element at rest; a multiple of 8. */
  readonly elementBytes: number;
  /** Bytes from a block to what may stand behind it. */
  readonly blockBytes: number;
  /** Type and number of the local variables that hold an element, for calls. */
  readonly localType: ValueType;
  readonly localCount: number;
  /** Bound of |element| for a reduced element, as an integer: half the prime and a little. */
  readonly reducedMax: bigint;
  /** Bound of |element| for a product of two factors of up to twice reducedMax; stored elements keep it too. */
  readonly productMax: bigint;

  /**
   * Loads an element from a separate address for each lane. `max` is the bound that the stored elements keep.
   */
  load(f: FunctionBuilder, addresses: readonly Address[], offset: number, max: bigint): E;
  /** Stores each lane at its own address, given one address or one for each lane. The element must be normalised. */
  store(f: FunctionBuilder, addresses: readonly Address[], offset: number, element: E): void;
  /** Loads a block at address + offset, a multiple of 8, whose elements keep the bound `max`. */
  loadBlock(f: FunctionBuilder, address: Address, offset: number, max: bigint): E;
  /** Stores a normalised element as a block. */
  storeBlock(f: FunctionBuilder, address: Address, offset: number, element: E): void;
  /** Loads one lane of a block into every lane of the result. */
  loadLane(f: FunctionBuilder, place: LanePlace, max: bigint): E;
  /** Writes one lane of the element to the same lane of a block. */
  storeLane(f: FunctionBuilder, place: LanePlace, element: E): void;
  /** Returns a constant, the same in every lane: coefficients over the prime field, lowest first, as plain integers. */
  constant(f: FunctionBuilder, coefficients: readonly bigint[]): E;
  /** Returns a normalised variable, for loops. */
  variable(f: FunctionBuilder, max: bigint): E;
  /** Assigns to a variable; refuses an element that might exceed the variable's bound. */
  assign(f: FunctionBuilder, target: E, value: E): void;

  /** Returns the local variables of an element, to be passed to a call. */
  locals(element: E): readonly Expression<ValueType>[];
  /** Returns an element from locals that are known to be normalised and within `max`. */
  fromLocals(locals: readonly Local<ValueType>[], max: bigint): E;

  /** Adds limb by limb: neither normalised nor reduced, and the bounds add up. */
  add(f: FunctionBuilder, a: E, b: E): E;
  /** Subtracts limb by limb: neither normalised nor reduced, and the bounds add up. */
  sub(f: FunctionBuilder, a: E, b: E): E;
  /** Changes the sign of each lane whose flag is 1. */
  applySigns(f: FunctionBuilder, a: E, signs: readonly Address[]): E;
  /** Brings the limbs back into their range; the value stays. */
  normalize(f: FunctionBuilder, a: E): E;
  /** Subtracts a multiple of the prime: the result is normalised and within reducedMax. */
  reduce(f: FunctionBuilder, a: E): E;
  /**
   * Multiplies two normalised factors: a b / radix, normalised, within productMax for factors as large as named there.
   */
  mul(f: FunctionBuilder, a: E, b: E): E;
  /** Squares a normalised element, with the bounds of `mul`. */
  square(f: FunctionBuilder, a: E): E;

  /** Gives 1 when every lane is 0 modulo the prime, and else 0; exact. */
  isZero(f: FunctionBuilder, a: E): Address;
  /**
   * Tests a normalised difference of two reduced elements cheaply: gives 1 if any lane might be 0 modulo the prime or
   * comes from a mark.
   */
  mayBeZero(f: FunctionBuilder, a: E): Address;
  /** Writes a mark in place of the element at `address`: the x of the point at infinity, which is no number. */
  storeMark(f: FunctionBuilder, address: Address): void;
  /** Gives 1 when the element at `address` is a mark, and else 0. */
  isMarked(f: FunctionBuilder, address: Address): Address;
}

/** A field whose elements are integers modulo a prime, with what conversions and extension towers need. */
export interface PrimeField<E> extends Field<E> {
  readonly prime: bigint;
  /** Montgomery radix. */
  readonly radix: bigint;
  /** By how much |product| may exceed |a b| / radix. */
  readonly remainderMax: bigint;
  /** Bits of one limb of the integer in memory. */
  readonly limbBits: number;
  readonly limbCount: number;
  /** Returns the same integer in every lane, reduced modulo the prime but not brought into Montgomery form. */
  rawConstant(f: FunctionBuilder, value: bigint): E;
  /** Adds up products of normalised factors and divides by the radix, with a single reduction; normalised. */
  sumOfProducts(f: FunctionBuilder, products: readonly Product<E>[]): E;
  /**
   * Unpacks little-endian integers of `bytes` bytes (a multiple of 8), one per lane: normalised, but neither reduced
   * nor in Montgomery form.
   */
  unpack(f: FunctionBuilder, addresses: readonly Address[], bytes: number): E;
  /** Packs each lane as a canonical little-endian integer of `bytes` bytes: 0 <= value < prime. */
  pack(f: FunctionBuilder, addresses: readonly Address[], bytes: number, element: E): void;
  /**
   * Transposes two elements: the first lanes of both, then the second lanes. With one lane it returns them as they are.
   */
  transpose(f: FunctionBuilder, a: E, b: E): readonly [E, E];
  /** Puts the sum of all lanes into every lane. */
  sumOfLanes(f: FunctionBuilder, a: E): E;
}

/** Returns the numbers of a field's lanes. */
export function lanesOf<E>(field: Field<E>): readonly Lane[] {
  return ([0, 1, 2, 3] as const).slice(0, field.lanes);
}

/** Returns the vectors of 128 bits that a function needs for each limb of all lanes. */
export function halvesOf<E>(field: Field<E>): 1 | 2 {
  return field.lanes === 4 ? 2 : 1;
}

/** Returns the same address, or flag, once for each lane. */
export function everyLane<E>(field: Field<E>, item: Address): Address[] {
  return lanesOf(field).map(() => item);
}

/**
 * Emits parts that do not depend on each other: woven (wasm-builder.ts) where products stand in place, in functions of
 * two halves, and one after the other where products are calls.
 */
export function sideBySide<T>(f: FunctionBuilder, parts: readonly (() => T)[]): T[] {
  return f.halves === 2 ? f.weave(parts) : parts.map((part) => part());
}
