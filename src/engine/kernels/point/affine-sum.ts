/** Emits the parts of an affine addition: points from their words, the sum by its slope, and how it is stored. */
import { i32 } from "../wasm/wasm-ops.js";
import type { Address, Field } from "../field/field.js";
import type { FunctionBuilder } from "../wasm/wasm-builder.js";

export interface Coordinates<E> {
  readonly x: E;
  readonly y: E;
}

/** x3 = s^2 - x1 - x2, y3 = s (x1 - x3) - y1. */
export function sumBy<E>(
  f: FunctionBuilder,
  field: Field<E>,
  slope: E,
  { p, qx }: { readonly p: Coordinates<E>; readonly qx: E },
): Coordinates<E> {
  const x = field.reduce(f, field.sub(f, field.square(f, slope), field.add(f, p.x, qx)));
  return { x, y: field.reduce(f, field.sub(f, field.mul(f, slope, differenceOf(f, field, p.x, x)), p.y)) };
}

/** Stores the coordinates of each lane at its own address. */
export function storePoint<E>(
  f: FunctionBuilder,
  field: Field<E>,
  targets: readonly Address[],
  { x, y }: Coordinates<E>,
): void {
  field.store(f, targets, 0, x);
  field.store(f, targets, field.elementBytes, y);
}

/** The points that the words name, with their signs; y is reduced but, for the integer kernel, not normalised. */
export function loadPoint<E>(f: FunctionBuilder, field: Field<E>, words: readonly Address[]): Coordinates<E> {
  const addresses = words.map((word) => f.let(addressOf(word)));
  const unique = words.every((word) => word === words[0]) ? words.map(() => addresses[0] as Address) : addresses;
  const signs = words.map((word) => f.let(i32.and(word, i32.const(1))));
  const y = field.load(f, unique, field.elementBytes, field.reducedMax);
  return { x: field.load(f, unique, 0, field.reducedMax), y: field.applySigns(f, y, signs) };
}

/** The address of a point without its sign. */
export function addressOf(word: Address): Address {
  return i32.and(word, i32.const(-2));
}

/** a - b of reduced elements, as a factor. */
export function differenceOf<E>(f: FunctionBuilder, field: Field<E>, a: E, b: E): E {
  return field.normalize(f, field.sub(f, a, b));
}

/** A product as an element within productMax. */
export function stored<E>(f: FunctionBuilder, field: Field<E>, product: E): E {
  const variable = field.variable(f, field.productMax);
  field.assign(f, variable, product);
  return variable;
}
