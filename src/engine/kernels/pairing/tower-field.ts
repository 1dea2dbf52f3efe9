/**
 * What the pairing's emitters need of Fq2, the field on which the tower stands. One element at a time; where the
 * machine works on two numbers at once, they are the two coefficients. Elements at rest are blocks, and always reduced.
 */
import type { Address, Product } from "../field/field.js";
import type { FunctionBuilder } from "../wasm/wasm-builder.js";

export interface StoredProduct {
  readonly a: Address;
  readonly b: Address;
  readonly isDouble: boolean;
}

export interface TowerField<E> {
  /** Bytes of an element at rest. */
  readonly blockBytes: number;
  load(f: FunctionBuilder, address: Address, offset: number): E;
  /** Reduces and writes. */
  store(f: FunctionBuilder, address: Address, offset: number, element: E): void;
  constant(f: FunctionBuilder, coefficients: readonly [bigint, bigint]): E;
  add(f: FunctionBuilder, a: E, b: E): E;
  sub(f: FunctionBuilder, a: E, b: E): E;
  /** Brings the limbs back into their range; the value stays. */
  normalize(f: FunctionBuilder, a: E): E;
  reduce(f: FunctionBuilder, a: E): E;
  /** Normalised, with whatever bound the products give: to be reduced before it is multiplied again. */
  sumOfProducts(f: FunctionBuilder, products: readonly Product<E>[]): E;
  /** As `sumOfProducts` of reduced elements in memory; `isDouble` counts a product twice. */
  sumOfStoredProducts(f: FunctionBuilder, products: readonly StoredProduct[]): E;
  mul(f: FunctionBuilder, a: E, b: E): E;
  square(f: FunctionBuilder, a: E): E;
  /** Multiplies the coefficients one by one: by a number of Fq when both of b's are the same. */
  mulCoefficients(f: FunctionBuilder, a: E, b: E): E;
  /** c0 - c1 u. */
  conjugate(f: FunctionBuilder, a: E): E;
  /** Times the n + u over which Fq12 is built; reduced. */
  mulByNonResidue(f: FunctionBuilder, a: E): E;
  isZero(f: FunctionBuilder, a: E): Address;
  /** target := 1 / source, both blocks; zero gives zero. `scratch` has `inversionScratchBytes`. */
  invert(
    f: FunctionBuilder,
    addresses: { readonly target: Address; readonly source: Address; readonly scratch: Address },
  ): void;
  readonly inversionScratchBytes: number;
}
