/**
 * Defines x^((q - 3) / 4), from which a square root and its inverse follow: for a square x = s^2 with q = 3 mod 4 it is
 * 1 / s up to sign, and x times it is s. A fixed exponent in windows of 4 bits.
 */
import { halvesOf } from "../field/field.js";
import type { PrimeField } from "../field/field.js";
import type { FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32, memoryCopy } from "../wasm/wasm-ops.js";

const WINDOW_BITS = 4;
const ENTRIES = 2 ** WINDOW_BITS;

/** Returns the bytes of scratch of `_root_powers`: all powers below 2^WINDOW_BITS, as blocks. */
export function rootPowerScratchBytes(field: { readonly elementBytes: number; readonly lanes: number }): number {
  return ENTRIES * field.elementBytes * field.lanes;
}

/** Defines `_root_powers` (elements, count, scratch): raises neighbouring elements at rest in place; reduced. */
export function defineRootPower<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const block = field.elementBytes * field.lanes;
  const halves = halvesOf(field);
  const square = defineSquares(module, field, name);
  const multiply = module.define(
    { name: `${name}_mul_block`, params: ["i32", "i32"], exported: false, halves },
    (f, target, factor) => {
      const product = field.mul(
        f,
        field.loadBlock(f, target, 0, field.productMax),
        field.loadBlock(f, factor, 0, field.productMax),
      );
      field.storeBlock(f, target, 0, field.reduce(f, product));
    },
  );
  const digits = ((field.prime - 3n) / 4n)
    .toString(ENTRIES)
    .split("")
    .map((digit) => Number.parseInt(digit, ENTRIES));
  const power = module.define({ name: `${name}_power_block`, params: ["i32"], exported: false }, (f, scratch) => {
    const entry = (i: number) => i32.add(scratch, i32.const(i * block));
    for (let i = 2; i < ENTRIES; i += 1) {
      f.run(memoryCopy(entry(i), entry(i - 1), i32.const(block)));
      f.call(multiply, [entry(i), entry(1)]);
    }
    const [first = 1, ...rest] = digits;
    f.run(memoryCopy(entry(0), entry(first), i32.const(block)));
    for (const digit of rest) {
      f.call(square, [entry(0), i32.const(WINDOW_BITS)]);
      if (digit !== 0) f.call(multiply, [entry(0), entry(digit)]);
    }
  });
  module.define(
    { name: `${name}_root_powers`, params: ["i32", "i32", "i32"], halves },
    (f, elements, count, scratch) => {
      const last = f.let(i32.sub(count, i32.const(1)));
      f.for(i32.const(0), count, field.lanes, (i) => {
        // Past the end, the last element is taken once more.
        const addresses = Array.from({ length: field.lanes }, (_, lane) => {
          const index = f.let(i32.add(i, i32.const(lane)));
          return f.let(
            i32.add(elements, i32.mul(i32.select(index, last, i32.ltU(index, count)), i32.const(field.elementBytes))),
          );
        });
        field.storeBlock(
          f,
          f.let(i32.add(scratch, i32.const(block))),
          0,
          field.load(f, addresses, 0, field.reducedMax),
        );
        f.call(power, [scratch]);
        field.store(f, addresses, 0, field.loadBlock(f, scratch, 0, field.reducedMax));
      });
    },
  );
}

function defineSquares<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): FunctionHandle {
  return module.define(
    { name: `${name}_square_block`, params: ["i32", "i32"], exported: false, halves: halvesOf(field) },
    (f, target, times) => {
      const value = field.variable(f, field.productMax);
      field.assign(f, value, field.loadBlock(f, target, 0, field.productMax));
      f.for(i32.const(0), times, 1, () => field.assign(f, value, field.square(f, value)));
      field.storeBlock(f, target, 0, field.reduce(f, value));
    },
  );
}
