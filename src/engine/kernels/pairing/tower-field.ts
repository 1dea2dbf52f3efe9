/**
 * What the pairing's emitters need of Fq2, the field on which the tower stands. It handles one element at a time; where
 * the machine works on two numbers at once, they are its two coefficients. Elements at rest are blocks, always reduced.
 * For limbs and bounds see field/field.ts.
 */
import type { Address, Product } from "../field/field.js";
import type { FunctionBuilder } from "../wasm/wasm-builder.js";

/** The product of two elements at rest, by their addresses; counted twice with `isDouble`. */
export interface StoredProduct {
  readonly a: Address;
  readonly b: Address;
  readonly isDouble: boolean;
}

/** A reduced element so many times: one small integer, or one for each half. */
export interface SmallMultiple<E> {
  readonly value: E;
  readonly times: readonly number[];
}

export interface TowerField<E> {
  /** Bytes of an element at rest. */
  readonly blockBytes: number;
  /** Loads a block at address + offset. */
  load(f: FunctionBuilder, address: Address, offset: number): E;
  /** Reduces and writes. */
  store(f: FunctionBuilder, address: Address, offset: number, element: E): void;
  /** Returns a constant c0 + c1 u, from plain integers. */
  constant(f: FunctionBuilder, coefficients: readonly [bigint, bigint]): E;
  /** Adds; the sum must be normalised before it is multiplied. */
  add(f: FunctionBuilder, a: E, b: E): E;
  /** Subtracts; the difference must be normalised before it is multiplied. */
  sub(f: FunctionBuilder, a: E, b: E): E;
  /** Brings the limbs back into their range; the value stays. */
  normalize(f: FunctionBuilder, a: E): E;
  /** Returns the element normalised and reduced. */
  reduce(f: FunctionBuilder, a: E): E;
  /**
   * Adds up products of normalised factors. The sum is normalised; it must be reduced before it is multiplied again.
   */
  sumOfProducts(f: FunctionBuilder, products: readonly Product<E>[]): E;
  /** As `sumOfProducts`, of elements at rest. */
  sumOfStoredProducts(f: FunctionBuilder, products: readonly StoredProduct[]): E;
  /** Multiplies two normalised elements; the product is reduced. */
  mul(f: FunctionBuilder, a: E, b: E): E;
  /** Squares a normalised element; the square is reduced. */
  square(f: FunctionBuilder, a: E): E;
  /** Multiplies the coefficients one by one: by a number of Fq when both of b's are the same. */
  mulCoefficients(f: FunctionBuilder, a: E, b: E): E;
  /** Returns c0 - c1 u. */
  conjugate(f: FunctionBuilder, a: E): E;
  /** n of the n + u over which Fq12 is built. */
  readonly nonResidue: number;
  /** Returns u a, normalised and as large as a. */
  timesU(f: FunctionBuilder, a: E): E;
  /** Adds up small multiples of reduced elements; reduced. */
  combination(f: FunctionBuilder, terms: readonly SmallMultiple<E>[]): E;
  /** Gives 1 when the element is 0, and else 0. */
  isZero(f: FunctionBuilder, a: E): Address;
  /** Emits target := 1 / source, addresses of blocks that may be the same; 0 gives 0. */
  invert(
    f: FunctionBuilder,
    addresses: { readonly target: Address; readonly source: Address; readonly scratch: Address },
  ): void;
  /** Bytes of the scratch of `invert`. */
  readonly inversionScratchBytes: number;
}
