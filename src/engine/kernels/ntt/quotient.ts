/**
 * Emits the two ends of Groth16's quotient polynomial: the values of A and B on the domain from the witness, and the
 * scalars of the H points from A, B and C on the coset. J. Groth, "On the size of pairing-based non-interactive
 * arguments" (2016), section 3.
 */
import { i32 } from "../wasm/wasm-ops.js";
import { forEachBlock } from "./ntt.js";
import { lanesOf } from "../field/field.js";
import type { PrimeField } from "../field/field.js";
import type { ModuleBuilder } from "../wasm/wasm-builder.js";

/** Bytes of one term of a row: index of the coefficient u32 || wire u32. */
export const TERM_BYTES = 8;

/**
 * Defines, with addresses:
 * - `_sum_rows` (target, rows, count, terms, coefficients, witness): element r of the blocks at `target` becomes the
 *   sum over the terms rows[r] to rows[r + 1] - 1 of coefficient * witness[wire], reduced. Coefficients are elements in
 *   Montgomery form and witness values plain ones, so that the sums are plain. With two lanes, `count` and the number
 *   of terms of every row are even.
 * - `_join` (target, a, b, c, count): canonical little-endian integers of `bytes` bytes, a * b - c * radix for plain a
 *   and b over `count` blocks. `_mul_blocks`, which c comes from, divides by the radix: that makes it a * b - c.
 */
export function defineQuotient<E>(module: ModuleBuilder, field: PrimeField<E>, bytes: number, name: string): void {
  defineSumRows(module, field, name);
  defineJoin(module, field, bytes, name);
}

function defineSumRows<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const { lanes, elementBytes } = field;
  const params = {
    target: "i32",
    rows: "i32",
    count: "i32",
    terms: "i32",
    coefficients: "i32",
    witness: "i32",
  } as const;
  module.defineNamed(
    { name: `${name}_sum_rows`, params },
    (f, { target, rows, count, terms, coefficients, witness }) => {
      const row = f.let(rows);
      const into = f.let(target);
      const at = f.let(i32.add(terms, i32.mul(i32.load(rows), i32.const(TERM_BYTES))));
      f.for(i32.const(0), count, lanes, () => {
        for (const lane of lanesOf(field)) {
          const sum = field.variable(f, field.reducedMax);
          field.assign(f, sum, field.constant(f, [0n]));
          const end = f.let(i32.add(terms, i32.mul(i32.load(row, 4), i32.const(TERM_BYTES))));
          f.while(i32.ltU(at, end), () => {
            const each = Array.from({ length: lanes }, (_, i) => i * TERM_BYTES);
            const factors = each.map((offset) =>
              f.let(i32.add(coefficients, i32.mul(i32.load(at, offset), i32.const(elementBytes)))),
            );
            const values = each.map((offset) =>
              f.let(i32.add(witness, i32.mul(i32.load(at, offset + 4), i32.const(elementBytes)))),
            );
            const product = field.mul(
              f,
              field.load(f, factors, 0, field.reducedMax),
              field.load(f, values, 0, field.reducedMax),
            );
            field.assign(f, sum, field.reduce(f, field.add(f, sum, product)));
            f.set(at, i32.add(at, i32.const(lanes * TERM_BYTES)));
          });
          const total = lanes === 2 ? field.reduce(f, field.sumOfLanes(f, sum)) : sum;
          field.storeLane(f, { address: into, offset: 0, lane }, total);
          f.set(row, i32.add(row, i32.const(4)));
        }
        f.set(into, i32.add(into, i32.const(elementBytes * lanes)));
      });
    },
  );
}

function defineJoin<E>(module: ModuleBuilder, field: PrimeField<E>, bytes: number, name: string): void {
  const { lanes, elementBytes } = field;
  const params = { target: "i32", a: "i32", b: "i32", c: "i32", count: "i32" } as const;
  module.defineNamed({ name: `${name}_join`, params }, (f, { target, a, b, c, count }) => {
    const out = f.let(target);
    // (a b / R - c) * R^2 / R = a b - c R.
    const radixSquared = field.rawConstant(f, field.radix ** 2n);
    forEachBlock(f, { arrays: [a, b, c], count, blockBytes: elementBytes * lanes }, (left, right, third) => {
      const product = field.mul(
        f,
        field.loadBlock(f, left, 0, field.productMax),
        field.loadBlock(f, right, 0, field.productMax),
      );
      const difference = field.sub(f, product, field.loadBlock(f, third, 0, field.productMax));
      const value = field.mul(f, difference, radixSquared);
      const targets = Array.from({ length: lanes }, (_, lane) => f.let(i32.add(out, i32.const(lane * bytes))));
      field.pack(f, targets, bytes, value);
      f.set(out, i32.add(out, i32.const(lanes * bytes)));
    });
  });
}
