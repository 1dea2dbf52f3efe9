/**
 * Emits inversion of a block, lane by lane, on plain integers (integer-inversion.ts). Its time depends on the value,
 * which tells nothing of a secret: the kernels only invert products of many differences. Measured 4 microseconds for
 * two values, where the 254 dependent squarings of a power take 11. Zero gives zero.
 */
import { i32 } from "../wasm/wasm-ops.js";
import { everyLane } from "./field.js";
import type { Address, Field, PrimeField } from "./field.js";
import type { QuadraticElement, QuadraticField } from "./quadratic-field.js";
import { emitIntegerInversion } from "./integer-inversion.js";
import type { FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";

export interface Inversion {
  /**
   * (target, source, scratch): target := 1 / source, lane by lane; addresses of blocks, which may be the same. The
   * source keeps productMax, the result is reduced.
   */
  readonly handle: FunctionHandle;
  /** Bytes that the third parameter must point at. */
  readonly scratchBytes: number;
}

interface InversionOptions {
  readonly name: string;
  readonly bytes: number;
  readonly isSplat?: boolean;
}

/**
 * Defines the inversion over a prime field, `name`_invert_block inside the module.
 * @param options.bytes bytes of a packed integer below the prime, a multiple of 8
 * @param options.isSplat whether all lanes of every block hold the same element, which is then inverted once
 */
export function defineInversion<E>(
  module: ModuleBuilder,
  field: PrimeField<E>,
  { name, bytes, isSplat = false }: InversionOptions,
): Inversion {
  const integer = defineIntegerInversion(module, field.prime, bytes, name);
  const count = isSplat ? 1 : field.lanes;
  const handle = module.define(
    { name: `${name}_invert_block`, params: ["i32", "i32", "i32"], exported: false },
    (f, target, source, scratch) => {
      const places = Array.from({ length: count }, (_, i) => f.let(i32.add(scratch, i32.const(i * bytes))));
      field.pack(f, places, bytes, field.loadBlock(f, source, 0, field.productMax));
      for (const place of places) f.call(integer, [place, place]);
      const lanes = Array.from({ length: field.lanes }, (_, lane) => places[isSplat ? 0 : lane] as Address);
      // (a R)^-1 R^3 / R = a^-1 R.
      const inverse = field.sumOfProducts(f, [
        { a: field.unpack(f, lanes, bytes), b: field.rawConstant(f, field.radix ** 3n) },
      ]);
      field.storeBlock(f, target, 0, field.reduce(f, inverse));
    },
  );
  return { handle, scratchBytes: count * bytes };
}

/**
 * Defines the inversion of blocks in which either no lane is 0 or all are: as `defineInversion`, with one inversion for
 * both lanes of two, 1 / a = b / (a b) and 1 / b = a / (a b). That takes half the time.
 */
export function defineJointInversion<E>(
  module: ModuleBuilder,
  field: PrimeField<E>,
  { name, bytes }: Omit<InversionOptions, "isSplat">,
): Inversion {
  if (field.lanes === 1) return defineInversion(module, field, { name, bytes });
  const integer = defineIntegerInversion(module, field.prime, bytes, name);
  const handle = module.define(
    { name: `${name}_invert_joint_block`, params: ["i32", "i32", "i32"], exported: false },
    (f, target, source, scratch) => {
      const value = field.loadBlock(f, source, 0, field.productMax);
      // Each lane in both.
      const [a, b] = field.transpose(f, value, value);
      field.pack(f, [scratch], bytes, field.mul(f, a, b));
      f.call(integer, [scratch, scratch]);
      // (a b R)^-1 R^3 / R = (a b)^-1 R.
      const inverse = field.sumOfProducts(f, [
        { a: field.unpack(f, everyLane(field, scratch), bytes), b: field.rawConstant(f, field.radix ** 3n) },
      ]);
      const [others] = field.transpose(f, b, a);
      field.storeBlock(f, target, 0, field.reduce(f, field.mul(f, field.reduce(f, inverse), others)));
    },
  );
  return { handle, scratchBytes: bytes };
}

/** The two ways to see a block of four: its halves as blocks of two, and such blocks by themselves. */
interface FoldedFields<E> {
  readonly half: Field<E>;
  readonly narrow: Field<E>;
}

/** Bytes from the first half of an interleaved block of four to the second. */
const SECOND_HALF = 16;

/**
 * Defines the inversion of interleaved blocks of four by one of blocks of two, which costs half as much: 1 / a = b / (a
 * b), 1 / b = a / (a b). Zero in one lane makes zero of the same lane of the other half.
 */
export function defineFoldedInversion<E>(
  module: ModuleBuilder,
  { half, narrow }: FoldedFields<E>,
  base: Inversion,
  name: string,
): Inversion {
  const productBytes = narrow.blockBytes;
  const handle = module.define(
    { name: `${name}_invert_wide_block`, params: ["i32", "i32", "i32"], exported: false },
    (f, target, source, scratch) => {
      const product = (a: E, b: E): E => {
        const within = narrow.variable(f, narrow.productMax);
        narrow.assign(f, within, narrow.mul(f, a, b));
        return within;
      };
      const second = (block: Address): Address => f.let(i32.add(block, i32.const(SECOND_HALF)));
      const a = half.loadBlock(f, source, 0, half.productMax);
      const b = half.loadBlock(f, second(source), 0, half.productMax);
      narrow.storeBlock(f, scratch, 0, product(a, b));
      f.call(base.handle, [scratch, scratch, i32.add(scratch, i32.const(productBytes))]);
      const inverse = narrow.loadBlock(f, scratch, 0, narrow.productMax);
      half.storeBlock(f, target, 0, product(inverse, b));
      half.storeBlock(f, second(target), 0, product(inverse, a));
    },
  );
  return { handle, scratchBytes: productBytes + base.scratchBytes };
}

/** Defines the inversion over the quadratic extension: 1 / (c0 + c1 u) = (c0 - c1 u) / (c0^2 + c1^2). */
export function defineQuadraticInversion<E>(
  module: ModuleBuilder,
  field: QuadraticField<E>,
  base: Inversion,
  name: string,
): Inversion {
  const { base: prime } = field;
  const handle = module.define(
    { name: `${name}_invert_block`, params: ["i32", "i32", "i32"], exported: false },
    (f, target, source, scratch) => {
      const rest = i32.add(scratch, i32.const(field.elementBytes * field.lanes));
      const value = field.loadBlock(f, source, 0, field.productMax);
      const norm = prime.sumOfProducts(f, [
        { a: value.c0, b: value.c0 },
        { a: value.c1, b: value.c1 },
      ]);
      prime.storeBlock(f, scratch, 0, prime.reduce(f, norm));
      f.call(base.handle, [scratch, scratch, rest]);
      const inverse = prime.loadBlock(f, scratch, 0, prime.productMax);
      const zero = prime.constant(f, [0n]);
      const result: QuadraticElement<E> = {
        c0: prime.reduce(f, prime.mul(f, value.c0, inverse)),
        c1: prime.reduce(f, prime.sub(f, zero, prime.mul(f, value.c1, inverse))),
      };
      field.storeBlock(f, target, 0, result);
    },
  );
  return { handle, scratchBytes: field.elementBytes * field.lanes + base.scratchBytes };
}

/**
 * Defines (target, source): 1 / source modulo the prime, both canonical little-endian integers of `bytes` bytes; 0 for
 * 0.
 */
function defineIntegerInversion(module: ModuleBuilder, prime: bigint, bytes: number, name: string): FunctionHandle {
  return module.define(
    { name: `${name}_invert_integer`, params: ["i32", "i32"], exported: false },
    (f, target, source) => emitIntegerInversion(f, { target, source }, { prime, bytes }),
  );
}
