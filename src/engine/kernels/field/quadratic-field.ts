/** The quadratic extension with u^2 = -1 over a prime field, as BN254 and BLS12-381 both have it. At rest c0 || c1. */
import type { Address, Field, PrimeField } from "./field.js";
import type { FunctionBuilder } from "../wasm/wasm-builder.js";
import type { Expression, Local, ValueType } from "../wasm/wasm-ops.js";
import { i32 } from "../wasm/wasm-ops.js";

/** c0 + c1 u. */
export interface QuadraticElement<E> {
  readonly c0: E;
  readonly c1: E;
}

export class QuadraticField<E> implements Field<QuadraticElement<E>> {
  readonly base: PrimeField<E>;
  readonly lanes: 1 | 2;
  readonly elementBytes: number;
  readonly reducedMax: bigint;
  readonly productMax: bigint;
  readonly localType: ValueType;
  readonly localCount: number;

  constructor(base: PrimeField<E>) {
    this.base = base;
    this.lanes = base.lanes;
    this.elementBytes = 2 * base.elementBytes;
    this.reducedMax = base.reducedMax;
    // Two products meet in each coefficient, so results are reduced at once and everything stored is.
    this.productMax = base.reducedMax;
    this.localType = base.localType;
    this.localCount = 2 * base.localCount;
  }

  /** What a factor may be: normalised, a sum or difference of two reduced elements at most. */
  get operandMax(): bigint {
    return 2n * this.reducedMax;
  }

  load(f: FunctionBuilder, addresses: readonly Address[], offset: number, max: bigint): QuadraticElement<E> {
    return {
      c0: this.base.load(f, addresses, offset, max),
      c1: this.base.load(f, addresses, offset + this.base.elementBytes, max),
    };
  }

  store(f: FunctionBuilder, addresses: readonly Address[], offset: number, element: QuadraticElement<E>): void {
    this.base.store(f, addresses, offset, element.c0);
    this.base.store(f, addresses, offset + this.base.elementBytes, element.c1);
  }

  loadBlock(f: FunctionBuilder, address: Address, offset: number, max: bigint): QuadraticElement<E> {
    return {
      c0: this.base.loadBlock(f, address, offset, max),
      c1: this.base.loadBlock(f, address, offset + this.#blockBytes, max),
    };
  }

  storeBlock(f: FunctionBuilder, address: Address, offset: number, element: QuadraticElement<E>): void {
    this.base.storeBlock(f, address, offset, element.c0);
    this.base.storeBlock(f, address, offset + this.#blockBytes, element.c1);
  }

  loadLane(f: FunctionBuilder, address: Address, offset: number, lane: 0 | 1, max: bigint): QuadraticElement<E> {
    return {
      c0: this.base.loadLane(f, address, offset, lane, max),
      c1: this.base.loadLane(f, address, offset + this.#blockBytes, lane, max),
    };
  }

  storeLane(f: FunctionBuilder, address: Address, offset: number, lane: 0 | 1, element: QuadraticElement<E>): void {
    this.base.storeLane(f, address, offset, lane, element.c0);
    this.base.storeLane(f, address, offset + this.#blockBytes, lane, element.c1);
  }

  constant(f: FunctionBuilder, coefficients: readonly bigint[]): QuadraticElement<E> {
    return { c0: this.base.constant(f, [coefficients[0] ?? 0n]), c1: this.base.constant(f, [coefficients[1] ?? 0n]) };
  }

  variable(f: FunctionBuilder, max: bigint): QuadraticElement<E> {
    return { c0: this.base.variable(f, max), c1: this.base.variable(f, max) };
  }

  assign(f: FunctionBuilder, target: QuadraticElement<E>, value: QuadraticElement<E>): void {
    this.base.assign(f, target.c0, value.c0);
    this.base.assign(f, target.c1, value.c1);
  }

  locals(element: QuadraticElement<E>): readonly Expression<ValueType>[] {
    return [...this.base.locals(element.c0), ...this.base.locals(element.c1)];
  }

  fromLocals(locals: readonly Local<ValueType>[], max: bigint): QuadraticElement<E> {
    const count = this.base.localCount;
    return {
      c0: this.base.fromLocals(locals.slice(0, count), max),
      c1: this.base.fromLocals(locals.slice(count, 2 * count), max),
    };
  }

  add(f: FunctionBuilder, a: QuadraticElement<E>, b: QuadraticElement<E>): QuadraticElement<E> {
    return { c0: this.base.add(f, a.c0, b.c0), c1: this.base.add(f, a.c1, b.c1) };
  }

  sub(f: FunctionBuilder, a: QuadraticElement<E>, b: QuadraticElement<E>): QuadraticElement<E> {
    return { c0: this.base.sub(f, a.c0, b.c0), c1: this.base.sub(f, a.c1, b.c1) };
  }

  applySigns(f: FunctionBuilder, a: QuadraticElement<E>, signs: readonly Address[]): QuadraticElement<E> {
    return { c0: this.base.applySigns(f, a.c0, signs), c1: this.base.applySigns(f, a.c1, signs) };
  }

  normalize(f: FunctionBuilder, a: QuadraticElement<E>): QuadraticElement<E> {
    return { c0: this.base.normalize(f, a.c0), c1: this.base.normalize(f, a.c1) };
  }

  reduce(f: FunctionBuilder, a: QuadraticElement<E>): QuadraticElement<E> {
    return { c0: this.base.reduce(f, a.c0), c1: this.base.reduce(f, a.c1) };
  }

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

  square(f: FunctionBuilder, a: QuadraticElement<E>): QuadraticElement<E> {
    const { base } = this;
    const c0 = base.mul(f, base.normalize(f, base.add(f, a.c0, a.c1)), base.normalize(f, base.sub(f, a.c0, a.c1)));
    const half = base.mul(f, a.c0, a.c1);
    return this.reduce(f, { c0, c1: base.add(f, half, half) });
  }

  isZero(f: FunctionBuilder, a: QuadraticElement<E>): Address {
    return i32.and(this.base.isZero(f, a.c0), this.base.isZero(f, a.c1));
  }

  /** Looks at c0 alone: enough to be sure when it answers 0. */
  mayBeZero(f: FunctionBuilder, a: QuadraticElement<E>): Address {
    return this.base.mayBeZero(f, a.c0);
  }

  storeMark(f: FunctionBuilder, address: Address): void {
    this.base.storeMark(f, address);
    this.base.storeMark(f, i32.add(address, i32.const(this.base.elementBytes)));
  }

  isMarked(f: FunctionBuilder, address: Address): Address {
    return this.base.isMarked(f, address);
  }

  get #blockBytes(): number {
    return this.base.elementBytes * this.lanes;
  }
}
