/**
 * Defines what moves values between neighbouring elements of Fq, as imports and exports know them, and blocks of the tower: pairs of
 * elements become the two coefficients of a block, and a point of G1 becomes the factors that its lines are multiplied with.
 */
import type { Address, PrimeField } from "../field.js";
import type { Inversion } from "../inversion.js";
import type { FunctionBuilder, ModuleBuilder } from "../wasm-builder.js";
import { i32, memoryCopy } from "../wasm-ops.js";

/**
 * Defines `fq2_gather` (target: blocks, source: pairs of elements, count), `fq2_scatter` (the other way), `g1_line_factors`
 * (target: y || x, affine point) and `g1_divided_line_factors` (target: x / y || 1 / y, affine point with y <> 0, scratch). In factors
 * both coefficients of a block are the same.
 */
export function defineTransfers<E>(module: ModuleBuilder, field: PrimeField<E>, inversion: Inversion): void {
  const { elementBytes } = field;
  const size = 2 * elementBytes;
  const each = (f: FunctionBuilder, target: Address, source: Address, count: Address, move: (to: Address, from: Address) => void): void => {
    f.for(i32.const(0), count, 1, (i) => {
      const offset = f.let(i32.mul(i, i32.const(size)));
      move(f.let(i32.add(target, offset)), f.let(i32.add(source, offset)));
    });
  };
  const second = (f: FunctionBuilder, address: Address): Address => f.let(i32.add(address, i32.const(elementBytes)));
  module.define({ name: "fq2_gather", params: ["i32", "i32", "i32"] }, (f, target, source, count) => {
    each(f, target, source, count, (to, from) => {
      if (field.lanes === 1) f.run(memoryCopy(to, from, i32.const(size)));
      else field.storeBlock(f, to, 0, field.load(f, [from, second(f, from)], 0, field.reducedMax));
    });
  });
  module.define({ name: "fq2_scatter", params: ["i32", "i32", "i32"] }, (f, target, source, count) => {
    each(f, target, source, count, (to, from) => {
      if (field.lanes === 1) f.run(memoryCopy(to, from, i32.const(size)));
      else field.store(f, [to, second(f, to)], 0, field.loadBlock(f, from, 0, field.reducedMax));
    });
  });
  const everyLane = (address: Address): Address[] => Array.from({ length: field.lanes }, () => address);
  const coordinate = (f: FunctionBuilder, point: Address, index: number): E => field.load(f, everyLane(point), index * elementBytes, field.reducedMax);
  const storeTwice = (f: FunctionBuilder, target: Address, block: number, element: E): void => {
    field.storeBlock(f, target, block * size, element);
    if (field.lanes === 1) field.storeBlock(f, target, block * size + elementBytes, element);
  };
  module.define({ name: "g1_line_factors", params: ["i32", "i32"] }, (f, target, point) => {
    storeTwice(f, target, 0, coordinate(f, point, 1));
    storeTwice(f, target, 1, coordinate(f, point, 0));
  });
  module.define({ name: "g1_divided_line_factors", params: ["i32", "i32", "i32"] }, (f, target, point, scratch) => {
    field.storeBlock(f, scratch, 0, coordinate(f, point, 1));
    f.call(inversion.handle, [scratch, scratch, f.let(i32.add(scratch, i32.const(elementBytes * field.lanes)))]);
    const inverse = field.loadBlock(f, scratch, 0, field.productMax);
    storeTwice(f, target, 0, field.reduce(f, field.mul(f, coordinate(f, point, 0), inverse)));
    storeTwice(f, target, 1, field.reduce(f, inverse));
  });
}
