/**
 * Emits the conversions between a prime field's elements at rest and little-endian integers: plain, or in the
 * Montgomery form of other software ("foreign": radix 2^(8 * bytes), as snarkjs files hold it). Results written as
 * bytes are always canonical.
 */
import { i32 } from "../wasm/wasm-ops.js";
import type { Address, PrimeField } from "./field.js";
import type { FunctionBuilder, ModuleBuilder } from "../wasm/wasm-builder.js";

/** Multiples of the prime that `reduce` takes off any integer that was unpacked. */
const MULTIPLES_REDUCED = 6n;

/**
 * Defines the conversions of arrays, each (target, source, count) with addresses of neighbouring elements at rest and
 * of neighbouring integers of `bytes` bytes (a multiple of 8; the largest integer may exceed the prime):
 * - `_import_plain`, `_import_foreign`: integers to reduced elements in Montgomery form;
 * - `_import_raw`: integers to reduced elements that are not in Montgomery form;
 * - `_export_plain`, `_export_foreign`: elements in Montgomery form, within productMax, to canonical integers;
 * - `_export_raw`: the stored residue itself to a canonical integer.
 */
export function defineConversions<E>(module: ModuleBuilder, field: PrimeField<E>, bytes: number, name: string): void {
  const foreignRadix = 1n << BigInt(8 * bytes);
  const imports = [
    { suffix: "plain", factor: field.radix * field.radix },
    { suffix: "foreign", factor: field.radix * field.radix * inverseOfPowerOfTwo(8 * bytes, field.prime) },
    // One reduction brings a few multiples of the prime down; where the bytes hold more, a product with 1 in Montgomery
    // form does.
    { suffix: "raw", factor: foreignRadix <= MULTIPLES_REDUCED * field.prime ? undefined : field.radix },
  ];
  for (const { suffix, factor } of imports) {
    module.define({ name: `${name}_import_${suffix}`, params: ["i32", "i32", "i32"] }, (f, target, source, count) => {
      forEachVector(f, field, count, (indices) => {
        const value = field.unpack(
          f,
          indices.map((index) => f.let(i32.add(source, i32.mul(index, i32.const(bytes))))),
          bytes,
        );
        const element = factor === undefined ? value : field.mul(f, value, field.rawConstant(f, factor));
        field.store(
          f,
          indices.map((index) => f.let(i32.add(target, i32.mul(index, i32.const(field.elementBytes))))),
          0,
          field.reduce(f, element),
        );
      });
    });
  }
  const exports = [
    { suffix: "plain", factor: 1n },
    { suffix: "foreign", factor: foreignRadix },
    { suffix: "raw", factor: undefined },
  ];
  for (const { suffix, factor } of exports) {
    module.define({ name: `${name}_export_${suffix}`, params: ["i32", "i32", "i32"] }, (f, target, source, count) => {
      forEachVector(f, field, count, (indices) => {
        const value = field.load(
          f,
          indices.map((index) => f.let(i32.add(source, i32.mul(index, i32.const(field.elementBytes))))),
          0,
          field.productMax,
        );
        const element = factor === undefined ? value : field.mul(f, value, field.rawConstant(f, factor));
        field.pack(
          f,
          indices.map((index) => f.let(i32.add(target, i32.mul(index, i32.const(bytes))))),
          bytes,
          element,
        );
      });
    });
  }
}

/** Runs over the indices, `lanes` at a time. Past the end it takes the last index again. */
function forEachVector<E>(
  f: FunctionBuilder,
  field: PrimeField<E>,
  count: Address,
  body: (indices: readonly Address[]) => void,
): void {
  const last = f.let(i32.sub(count, i32.const(1)));
  f.for(i32.const(0), count, field.lanes, (i) => {
    const second = f.local("i32");
    f.set(second, i32.add(i, i32.const(1)));
    f.if(i32.gtU(second, last), () => f.set(second, last));
    body(field.lanes === 2 ? [i, second] : [i]);
  });
}

function inverseOfPowerOfTwo(exponent: number, prime: bigint): bigint {
  const half = (prime + 1n) / 2n;
  let result = 1n;
  for (let i = 0; i < exponent; i += 1) result = (result * half) % prime;
  return result;
}
