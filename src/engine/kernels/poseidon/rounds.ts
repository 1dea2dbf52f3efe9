/** Emits the rounds of Poseidon on a state in memory, a hash in each lane, with the constants of sparse-rounds.ts. */
import { everyLane } from "../field/field.js";
import type { PrimeField, Product } from "../field/field.js";
import type { FunctionBuilder, FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32 } from "../wasm/wasm-ops.js";

/** A hash and the places of its constants. */
export interface HashShape {
  /** Elements that it takes; its state has one more. */
  readonly inputs: 2 | 3;
  /** Bytes of one canonical little-endian integer. */
  readonly integerBytes: number;
  /** Bytes of the constants of the full rounds before and after, and of the partial ones between. */
  readonly halfBytes: number;
  readonly partialBytes: number;
}

const INTEGER_PRODUCTS_AT_ONCE = 2;

/** Defines (state, constants, end): rounds with an S-box for each element, until the constants end. */
export function defineFullRounds<E>(module: ModuleBuilder, field: PrimeField<E>, width: number): FunctionHandle {
  const { elementBytes } = field;
  const blockBytes = elementBytes * field.lanes;
  return module.define(
    { name: `full_rounds_${String(width)}`, params: ["i32", "i32", "i32"], exported: false },
    (f, state, constants, end) => {
      const at = f.let(constants);
      const constant = (place: number): E =>
        field.load(f, everyLane(field, at), place * elementBytes, field.reducedMax);
      f.while(i32.ltU(at, end), () => {
        const powers = Array.from({ length: width }, (_, i) =>
          fifthPower(
            f,
            field,
            field.normalize(f, field.add(f, field.loadBlock(f, state, i * blockBytes, field.reducedMax), constant(i))),
          ),
        );
        for (let row = 0; row < width; row += 1) {
          const products = powers.map((a, column) => ({ a, b: constant(width + row * width + column) }));
          field.storeBlock(f, state, row * blockBytes, field.reduce(f, sumOfProducts(f, field, products)));
        }
        f.set(at, i32.add(at, i32.const((width + width * width) * elementBytes)));
      });
    },
  );
}

/** Defines (state, constants, end): rounds with an S-box for element 0 alone, in the sparse form. */
export function definePartialRounds<E>(module: ModuleBuilder, field: PrimeField<E>, width: number): FunctionHandle {
  const { elementBytes } = field;
  const blockBytes = elementBytes * field.lanes;
  return module.define(
    { name: `partial_rounds_${String(width)}`, params: ["i32", "i32", "i32"], exported: false },
    (f, state, constants, end) => {
      const at = f.let(constants);
      const constant = (place: number): E =>
        field.load(f, everyLane(field, at), place * elementBytes, field.reducedMax);
      const [head, ...others] = Array.from({ length: width }, () => field.variable(f, field.reducedMax));
      if (head === undefined) throw new Error("a state has elements");
      for (const [i, other] of others.entries())
        field.assign(f, other, field.loadBlock(f, state, (i + 1) * blockBytes, field.reducedMax));
      // The constant of a round is added before the reduction of the round before: the rounds depend on each other, and
      // every step between two of them counts.
      const before = field.add(f, field.loadBlock(f, state, 0, field.reducedMax), constant(0));
      field.assign(f, head, field.reduce(f, before));
      f.set(at, i32.add(at, i32.const(elementBytes)));
      f.while(i32.ltU(at, end), () => {
        const power = fifthPower(f, field, head);
        const products = others.map((a, i) => ({ a, b: constant(i) }));
        const sum = field.add(f, sumOfProducts(f, field, products), constant(2 * width - 2));
        field.assign(f, head, field.reduce(f, field.add(f, sum, power)));
        for (const [i, other] of others.entries()) {
          const product = field.mul(f, power, constant(width - 1 + i));
          field.assign(f, other, field.reduce(f, field.add(f, other, product)));
        }
        f.set(at, i32.add(at, i32.const((2 * width - 1) * elementBytes)));
      });
      field.storeBlock(f, state, 0, head);
      for (const [i, other] of others.entries()) field.storeBlock(f, state, (i + 1) * blockBytes, other);
    },
  );
}

/**
 * Adds up products, with one reduction where the field's columns have the room: those of 64 bits hold two products of
 * long numbers beside the reduction.
 */
export function sumOfProducts<E>(f: FunctionBuilder, field: PrimeField<E>, products: readonly Product<E>[]): E {
  const atOnce = field.lanes === 2 ? products.length : INTEGER_PRODUCTS_AT_ONCE;
  const first = field.sumOfProducts(f, products.slice(0, atOnce));
  return products.length <= atOnce ? first : field.add(f, first, sumOfProducts(f, field, products.slice(atOnce)));
}

/** The S-box of a normalised element, of up to two reduced ones. */
export function fifthPower<E>(f: FunctionBuilder, field: PrimeField<E>, base: E): E {
  return field.mul(f, field.square(f, field.square(f, base)), base);
}
