/**
 * What the curve, NTT and polynomial emitters need of a field, whatever its limbs are made of. An element that an
 * emitter handles stands for `lanes` field elements at once; its type E is the field's own. All values are in
 * Montgomery form unless said otherwise.
 *
 * Memory: an element at rest takes `elementBytes`. Points are arrays of elements (x then y); vectors of scalars are
 * arrays of blocks, a block holding `lanes` neighbouring elements interleaved limb by limb, so that one aligned load
 * fetches a limb of each.
 */
import type { FunctionBuilder } from "../wasm/wasm-builder.js";
import type { Expression, Local, ValueType } from "../wasm/wasm-ops.js";

export type Address = Expression<"i32">;

/** a * b, or minus that. */
export interface Product<E> {
  readonly a: E;
  readonly b: E;
  readonly negate?: boolean;
}

export interface Field<E> {
  readonly lanes: 1 | 2;
  /** Bytes of one element at rest; a multiple of 8. */
  readonly elementBytes: number;
  /** An element as local variables, for calls: their type and number. */
  readonly localType: ValueType;
  readonly localCount: number;
  /** |element| of a reduced element, as an integer: half the prime and a little. */
  readonly reducedMax: bigint;
  /** |element| that a product of moderately sized factors keeps; stored elements are within it. */
  readonly productMax: bigint;

  /**
   * Gathers one element per lane from its own address. `max` is the bound that the stored elements are known to keep.
   */
  load(f: FunctionBuilder, addresses: readonly Address[], offset: number, max: bigint): E;
  /** Scatters; the element must be normalised. */
  store(f: FunctionBuilder, addresses: readonly Address[], offset: number, element: E): void;
  loadBlock(f: FunctionBuilder, address: Address, offset: number, max: bigint): E;
  storeBlock(f: FunctionBuilder, address: Address, offset: number, element: E): void;
  /** One lane of a block, in every lane of the result. */
  loadLane(f: FunctionBuilder, address: Address, offset: number, lane: 0 | 1, max: bigint): E;
  /** Writes one lane of the element to the same lane of a block. */
  storeLane(f: FunctionBuilder, address: Address, offset: number, lane: 0 | 1, element: E): void;
  /** The same constant in every lane: coefficients over the prime field, lowest first, as plain integers. */
  constant(f: FunctionBuilder, coefficients: readonly bigint[]): E;
  /** A normalised variable for loops; `assign` refuses an element that might exceed its bound. */
  variable(f: FunctionBuilder, max: bigint): E;
  assign(f: FunctionBuilder, target: E, value: E): void;

  locals(element: E): readonly Expression<ValueType>[];
  /** An element from locals that are known to be normalised and within `max`. */
  fromLocals(locals: readonly Local<ValueType>[], max: bigint): E;

  add(f: FunctionBuilder, a: E, b: E): E;
  sub(f: FunctionBuilder, a: E, b: E): E;
  /** Changes the sign of each lane whose flag is 1. */
  applySigns(f: FunctionBuilder, a: E, signs: readonly Address[]): E;
  /** Brings the limbs back into their range; the value stays. */
  normalize(f: FunctionBuilder, a: E): E;
  /** Normalised and within reducedMax. */
  reduce(f: FunctionBuilder, a: E): E;
  mul(f: FunctionBuilder, a: E, b: E): E;
  square(f: FunctionBuilder, a: E): E;

  /** Whether every lane is 0 modulo the prime, exactly. */
  isZero(f: FunctionBuilder, a: E): Address;
  /**
   * Cheap test of a normalised difference of two reduced elements: 1 if any lane might be 0 modulo the prime or not a
   * number.
   */
  mayBeZero(f: FunctionBuilder, a: E): Address;
  /** Marks the element at `address` as "no number" (the x of the point at infinity). */
  storeMark(f: FunctionBuilder, address: Address): void;
  isMarked(f: FunctionBuilder, address: Address): Address;
}

/** A field whose elements are integers modulo a prime, with what conversions and extension towers need. */
export interface PrimeField<E> extends Field<E> {
  readonly prime: bigint;
  /** Montgomery radix. */
  readonly radix: bigint;
  /** Bits of one limb of the integer in memory; how it is encoded is `encode`. */
  readonly limbBits: number;
  readonly limbCount: number;
  /** The same integer in every lane, reduced modulo the prime but not brought into Montgomery form. */
  rawConstant(f: FunctionBuilder, value: bigint): E;
  /** Sum of products / radix with a single reduction. */
  sumOfProducts(f: FunctionBuilder, products: readonly Product<E>[]): E;
  /**
   * Unpacks little-endian integers of `bytes` bytes, one per lane: normalised, but neither reduced nor in Montgomery
   * form.
   */
  unpack(f: FunctionBuilder, addresses: readonly Address[], bytes: number): E;
  /** Packs as canonical little-endian integers: 0 <= value < prime. */
  pack(f: FunctionBuilder, addresses: readonly Address[], bytes: number, element: E): void;
  /** Transposes two blocks (lanes x lanes): the first lanes of both, then the second lanes. Identity for one lane. */
  transpose(f: FunctionBuilder, a: E, b: E): readonly [E, E];
  /** Adds the lanes up into every lane. */
  sumOfLanes(f: FunctionBuilder, a: E): E;
}
