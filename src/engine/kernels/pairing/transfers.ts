/**
 * Defines what moves values between neighbouring elements of Fq, as imports and exports know them, and blocks of the
 * tower: pairs of elements become the two coefficients of a block, and a point of G1 becomes the factors that its lines
 * are multiplied with.
 */
import type { Address, PrimeField } from "../field/field.js";
import type { Inversion } from "../field/inversion.js";
import type { FunctionBuilder, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32, memoryCopy } from "../wasm/wasm-ops.js";
import { blockInversionScratchBytes, defineBlockInversion } from "./block-inversion.js";
import type { BlockOperations } from "./block-inversion.js";

export interface PointTransfers {
  /** Scratch of those that take many points. */
  scratchBytes(points: number): number;
}

/**
 * Defines `fq2_gather` (target: blocks, source: pairs of elements, count), `fq2_scatter` (the other way),
 * `g1_line_factors` (target: y || x, affine point), `g1_divided_line_factors` (targets: x / y || 1 / y, affine points
 * with y <> 0, count, scratch) and `g1_all_to_affine` (targets: affine points, infinity as zeros, projective points,
 * count, scratch). In factors both coefficients of a block are the same. Of several points, one lies after the other.
 */
export function defineTransfers<E>(module: ModuleBuilder, field: PrimeField<E>, inversion: Inversion): PointTransfers {
  const { elementBytes } = field;
  const size = 2 * elementBytes;
  const each = (
    f: FunctionBuilder,
    target: Address,
    source: Address,
    count: Address,
    move: (to: Address, from: Address) => void,
  ): void => {
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
  const coordinate = (f: FunctionBuilder, point: Address, index: number): E =>
    field.load(f, everyLane(point), index * elementBytes, field.reducedMax);
  const storeTwice = (f: FunctionBuilder, target: Address, block: number, element: E): void => {
    field.storeBlock(f, target, block * size, element);
    if (field.lanes === 1) field.storeBlock(f, target, block * size + elementBytes, element);
  };
  module.define({ name: "g1_line_factors", params: ["i32", "i32"] }, (f, target, point) => {
    storeTwice(f, target, 0, coordinate(f, point, 1));
    storeTwice(f, target, 1, coordinate(f, point, 0));
  });
  const operations: BlockOperations = {
    name: "fq",
    blockBytes: elementBytes * field.lanes,
    inversionScratchBytes: inversion.scratchBytes,
    product: module.define(
      { name: "fq_product", params: ["i32", "i32", "i32"], exported: false },
      (f, target, a, b) => {
        const product = field.mul(
          f,
          field.loadBlock(f, a, 0, field.productMax),
          field.loadBlock(f, b, 0, field.productMax),
        );
        field.storeBlock(f, target, 0, field.reduce(f, product));
      },
    ),
    storeOne: (f, target) => field.storeBlock(f, target, 0, field.constant(f, [1n])),
    invert: (f, { target, source, scratch }) => f.call(inversion.handle, [target, source, scratch]),
  };
  const invertBlocks = defineBlockInversion(module, operations);
  const { blockBytes } = operations;
  // Runs over the points, with the block that belongs to each; the inversion's own scratch follows the blocks.
  const overPoints =
    (
      f: FunctionBuilder,
      points: Address,
      pointBytes: number,
      { scratch, count }: { readonly scratch: Address; readonly count: Address },
    ) =>
    (work: (point: Address, block: Address, i: Address) => void): void => {
      f.for(i32.const(0), count, 1, (i) =>
        work(
          f.let(i32.add(points, i32.mul(i, i32.const(pointBytes)))),
          f.let(i32.add(scratch, i32.mul(i, i32.const(blockBytes)))),
          i,
        ),
      );
    };
  const invert = (f: FunctionBuilder, scratch: Address, count: Address): void =>
    f.call(invertBlocks, [scratch, count, f.let(i32.add(scratch, i32.mul(count, i32.const(blockBytes))))]);
  module.define(
    { name: "g1_divided_line_factors", params: ["i32", "i32", "i32", "i32"] },
    (f, targets, points, count, scratch) => {
      const each = overPoints(f, points, 2 * elementBytes, { scratch, count });
      each((point, block) => field.storeBlock(f, block, 0, coordinate(f, point, 1)));
      invert(f, scratch, count);
      each((point, block, i) => {
        const target = f.let(i32.add(targets, i32.mul(i, i32.const(2 * size))));
        const inverse = field.loadBlock(f, block, 0, field.productMax);
        storeTwice(f, target, 0, field.reduce(f, field.mul(f, coordinate(f, point, 0), inverse)));
        storeTwice(f, target, 1, field.reduce(f, inverse));
      });
    },
  );
  module.define(
    { name: "g1_all_to_affine", params: ["i32", "i32", "i32", "i32"] },
    (f, targets, points, count, scratch) => {
      const each = overPoints(f, points, 3 * elementBytes, { scratch, count });
      each((point, block) => {
        const z = coordinate(f, point, 2);
        f.if(
          field.isZero(f, z),
          () => field.storeBlock(f, block, 0, field.constant(f, [1n])),
          () => field.storeBlock(f, block, 0, z),
        );
      });
      invert(f, scratch, count);
      each((point, block, i) => {
        const target = f.let(i32.add(targets, i32.mul(i, i32.const(2 * elementBytes))));
        const inverse = field.loadBlock(f, block, 0, field.productMax);
        for (const index of [0, 1])
          field.store(
            f,
            [target],
            index * elementBytes,
            field.reduce(f, field.mul(f, coordinate(f, point, index), inverse)),
          );
        f.if(field.isZero(f, coordinate(f, point, 2)), () => {
          for (const index of [0, 1]) field.store(f, [target], index * elementBytes, field.constant(f, [0n]));
        });
      });
    },
  );
  return { scratchBytes: (points) => points * blockBytes + blockInversionScratchBytes(operations, points) };
}
