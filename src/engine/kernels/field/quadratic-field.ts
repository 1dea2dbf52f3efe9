/** The quadratic extension with u^2 = -1 over a prime field, as BN254 and BLS12-381 both have it. At rest c0 || c1. */
import type { Address, Field, LanePlace, PrimeField } from "./field.js";
import type { FunctionBuilder } from "../wasm/wasm-builder.js";
import type { Expression, Local, ValueType } from "../wasm/wasm-ops.js";
import { i32 } from "../wasm/wasm-ops.js";

/** c0 + c1 u, in every lane. */
export interface QuadraticElement<E> {
  readonly c0: E;
  readonly c1: E;
}

export class QuadraticField<E> implements Field<QuadraticElement<E>> {
  readonly base: PrimeField<E>;
  readonly lanes: 1 | 2 | 4;
  readonly degree = 2;
  readonly elementBytes: number;
  readonly blockBytes: number;
  readonly reducedMax: bigint;
  readonly productMax: bigint;
  readonly localType: ValueType;
  readonly localCount: number;

  constructor(base: PrimeField<E>) {
    this.base = base;
    this.lanes = base.lanes;
    this.elementBytes = 2 * base.elementBytes;
    this.blockBytes = 2 * base.blockBytes;
    this.reducedMax = base.reducedMax;
    // Two products meet in each coefficient, so results are reduced at once and everything stored is.
    this.productMax = base.reducedMax;
    this.localType = base.localType;
    this.localCount = 2 * base.localCount;
  }

  /** Bound of a factor: normalised, and a sum or difference of two reduced elements at most. */
  get operandMax(): bigint {
    return 2n * this.reducedMax;
  }

  /** Loads c0 at the offset and c1 behind it. */
  load(f: FunctionBuilder, addresses: readonly Address[], offset: number, max: bigint): QuadraticElement<E> {
    return {
      c0: this.base.load(f, addresses, offset, max),
      c1: this.base.load(f, addresses, offset + this.base.elementBytes, max),
    };
  }

  /** Stores c0 at the offset and c1 behind it. */
  store(f: FunctionBuilder, addresses: readonly Address[], offset: number, element: QuadraticElement<E>): void {
    this.base.store(f, addresses, offset, element.c0);
    this.base.store(f, addresses, offset + this.base.elementBytes, element.c1);
  }

  /** Loads the blocks of c0 and c1. */
  loadBlock(f: FunctionBuilder, address: Address, offset: number, max: bigint): QuadraticElement<E> {
    return {
      c0: this.base.loadBlock(f, address, offset, max),
      c1: this.base.loadBlock(f, address, offset + this.base.blockBytes, max),
    };
  }

  /** Stores the blocks of c0 and c1. */
  storeBlock(f: FunctionBuilder, address: Address, offset: number, element: QuadraticElement<E>): void {
    this.base.storeBlock(f, address, offset, element.c0);
    this.base.storeBlock(f, address, offset + this.base.blockBytes, element.c1);
  }

  /** Loads the lane of both blocks. */
  loadLane(f: FunctionBuilder, place: LanePlace, max: bigint): QuadraticElement<E> {
    return { c0: this.base.loadLane(f, place, max), c1: this.base.loadLane(f, this.#secondOf(place), max) };
  }

  /** Stores the lane of both blocks. */
  storeLane(f: FunctionBuilder, place: LanePlace, element: QuadraticElement<E>): void {
    this.base.storeLane(f, place, element.c0);
    this.base.storeLane(f, this.#secondOf(place), element.c1);
  }

  /** Takes c0 and c1; a missing coefficient is 0. */
  constant(f: FunctionBuilder, coefficients: readonly bigint[]): QuadraticElement<E> {
    return { c0: this.base.constant(f, [coefficients[0] ?? 0n]), c1: this.base.constant(f, [coefficients[1] ?? 0n]) };
  }

  /** Takes a variable for each coefficient. */
  variable(f: FunctionBuilder, max: bigint): QuadraticElement<E> {
    return { c0: this.base.variable(f, max), c1: this.base.variable(f, max) };
  }

  /** Assigns both coefficients. */
  assign(f: FunctionBuilder, target: QuadraticElement<E>, value: QuadraticElement<E>): void {
    this.base.assign(f, target.c0, value.c0);
    this.base.assign(f, target.c1, value.c1);
  }

  /** Returns the locals of c0, then of c1. */
  locals(element: QuadraticElement<E>): readonly Expression<ValueType>[] {
    return [...this.base.locals(element.c0), ...this.base.locals(element.c1)];
  }

  /** Takes the locals of c0, then of c1. */
  fromLocals(locals: readonly Local<ValueType>[], max: bigint): QuadraticElement<E> {
    const count = this.base.localCount;
    return {
      c0: this.base.fromLocals(locals.slice(0, count), max),
      c1: this.base.fromLocals(locals.slice(count, 2 * count), max),
    };
  }

  /** Adds the coefficients. */
  add(f: FunctionBuilder, a: QuadraticElement<E>, b: QuadraticElement<E>): QuadraticElement<E> {
    return { c0: this.base.add(f, a.c0, b.c0), c1: this.base.add(f, a.c1, b.c1) };
  }

  /** Subtracts the coefficients. */
  sub(f: FunctionBuilder, a: QuadraticElement<E>, b: QuadraticElement<E>): QuadraticElement<E> {
    return { c0: this.base.sub(f, a.c0, b.c0), c1: this.base.sub(f, a.c1, b.c1) };
  }

  /** Applies the signs to both coefficients. */
  applySigns(f: FunctionBuilder, a: QuadraticElement<E>, signs: readonly Address[]): QuadraticElement<E> {
    return { c0: this.base.applySigns(f, a.c0, signs), c1: this.base.applySigns(f, a.c1, signs) };
  }

  /** Normalises both coefficients. */
  normalize(f: FunctionBuilder, a: QuadraticElement<E>): QuadraticElement<E> {
    return { c0: this.base.normalize(f, a.c0), c1: this.base.normalize(f, a.c1) };
  }

  /** Reduces both coefficients. */
  reduce(f: FunctionBuilder, a: QuadraticElement<E>): QuadraticElement<E> {
    return { c0: this.base.reduce(f, a.c0), c1: this.base.reduce(f, a.c1) };
  }

  /** Multiplies with one Montgomery reduction for each coefficient: (a0 b0 - a1 b1) + (a0 b1 + a1 b0) u, reduced. */
  mul(f: FunctionBuilder, a: QuadraticElement<E>, b: QuadraticElement<E>): QuadraticElement<E> {
    const { base } = this;
    const c0 = base.sumOfProducts(f, [
      { a: a.c0, b: b.c0 },
      { a: a.c1, b: b.c1, negate: true },
    ]);
    const c1 = base.sumOfProducts(f, [
      { a: a.c0, b: b.c1 },
      { a: a.c1, b: b.c0 },
    ]);
    return this.reduce(f, { c0, c1 });
  }

  /** Squares as (a0 + a1)(a0 - a1) + 2 a0 a1 u, reduced. */
  square(f: FunctionBuilder, a: QuadraticElement<E>): QuadraticElement<E> {
    const { base } = this;
    const c0 = base.mul(f, base.normalize(f, base.add(f, a.c0, a.c1)), base.normalize(f, base.sub(f, a.c0, a.c1)));
    const half = base.mul(f, a.c0, a.c1);
    return this.reduce(f, { c0, c1: base.add(f, half, half) });
  }

  /** Tests both coefficients. */
  isZero(f: FunctionBuilder, a: QuadraticElement<E>): Address {
    return i32.and(this.base.isZero(f, a.c0), this.base.isZero(f, a.c1));
  }

  /** Looks at c0 alone: when that is not 0, the element is not. */
  mayBeZero(f: FunctionBuilder, a: QuadraticElement<E>): Address {
    return this.base.mayBeZero(f, a.c0);
  }

  /** Marks both coefficients. */
  storeMark(f: FunctionBuilder, address: Address): void {
    this.base.storeMark(f, address);
    this.base.storeMark(f, i32.add(address, i32.const(this.base.elementBytes)));
  }

  /** Looks at c0 alone. */
  isMarked(f: FunctionBuilder, address: Address): Address {
    return this.base.isMarked(f, address);
  }

  #secondOf(place: LanePlace): LanePlace {
    return { ...place, offset: place.offset + this.base.blockBytes };
  }
}
