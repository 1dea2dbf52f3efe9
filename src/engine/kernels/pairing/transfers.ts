/**
 * Defines the moves of values between neighbouring elements of Fq, as imports and exports handle them, and blocks of
 * the tower: pairs of elements become the two coefficients of a block, and a point of G1 becomes the factors of its
 * lines.
 */
import { everyLane } from "../field/field.js";
import type { Address, PrimeField } from "../field/field.js";
import type { Inversion } from "../field/inversion.js";
import type { ScratchBytes } from "../wasm/scratch-bytes.js";
import type { FunctionBuilder, FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32, memoryCopy } from "../wasm/wasm-ops.js";
import { blockInversionScratch, defineBlockInversion } from "./block-inversion.js";
import type { BlockOperations } from "./block-inversion.js";

interface PointTransfers {
  /** The scratch of the functions that take many points. */
  readonly scratch: ScratchBytes;
}

/**
 * Defines, with several points or pairs one after the other, and all results reduced:
 * - `fq2_gather` (target, source, count): pairs of elements to blocks of the tower;
 * - `fq2_scatter` (target, source, count): blocks of the tower to pairs of elements;
 * - `g1_line_factors` (target, point): y || x of an affine point, as blocks;
 * - `g1_divided_line_factors` (targets, points, count, scratch): x / y || 1 / y of affine points with y <> 0, as
 *   blocks;
 * - `g1_all_to_affine` (targets, points, count, scratch): projective points to affine ones, infinity to zeros. Both
 *   coefficients of a factor's block are the same.
 */
export function defineTransfers<E>(module: ModuleBuilder, field: PrimeField<E>, inversion: Inversion): PointTransfers {
  defineGatherAndScatter(module, field);
  module.define({ name: "g1_line_factors", params: ["i32", "i32"] }, (f, target, point) => {
    storeTwice(f, field, { target, block: 0 }, coordinate(f, field, point, 1));
    storeTwice(f, field, { target, block: 1 }, coordinate(f, field, point, 0));
  });
  const operations = defineOperations(module, field, inversion);
  const invertBlocks = defineBlockInversion(module, operations);
  defineDividedLineFactors(module, field, invertBlocks);
  defineAllToAffine(module, field, invertBlocks);
  const { blockBytes } = operations;
  const inverted = blockInversionScratch(operations);
  return { scratch: { ...inverted, perStep: blockBytes + inverted.perStep } };
}

function defineGatherAndScatter<E>(module: ModuleBuilder, field: PrimeField<E>): void {
  const size = 2 * field.elementBytes;
  const second = (f: FunctionBuilder, address: Address): Address =>
    f.let(i32.add(address, i32.const(field.elementBytes)));
  const define = (name: string, move: (f: FunctionBuilder, to: Address, from: Address) => void): void => {
    module.define({ name, params: ["i32", "i32", "i32"] }, (f, target, source, count) => {
      f.for(i32.const(0), count, 1, (i) => {
        const offset = f.let(i32.mul(i, i32.const(size)));
        move(f, f.let(i32.add(target, offset)), f.let(i32.add(source, offset)));
      });
    });
  };
  define("fq2_gather", (f, to, from) => {
    if (field.lanes === 1) f.run(memoryCopy(to, from, i32.const(size)));
    else field.storeBlock(f, to, 0, field.load(f, [from, second(f, from)], 0, field.reducedMax));
  });
  define("fq2_scatter", (f, to, from) => {
    if (field.lanes === 1) f.run(memoryCopy(to, from, i32.const(size)));
    else field.store(f, [to, second(f, to)], 0, field.loadBlock(f, from, 0, field.reducedMax));
  });
}

/** Inversion of many blocks over Fq, each element in every lane of its block. */
function defineOperations<E>(module: ModuleBuilder, field: PrimeField<E>, inversion: Inversion): BlockOperations {
  const product = module.define(
    { name: "fq_product", params: ["i32", "i32", "i32"], exported: false },
    (f, target, a, b) => {
      const value = field.mul(
        f,
        field.loadBlock(f, a, 0, field.productMax),
        field.loadBlock(f, b, 0, field.productMax),
      );
      field.storeBlock(f, target, 0, field.reduce(f, value));
    },
  );
  return {
    name: "fq",
    blockBytes: field.elementBytes * field.lanes,
    inversionScratchBytes: inversion.scratchBytes,
    atOnce: 1,
    products: (f, jobs) => {
      for (const { target, a, b } of jobs) f.call(product, [target, a, b]);
    },
    storeOne: (f, target) => field.storeBlock(f, target, 0, field.constant(f, [1n])),
    invert: (f, { target, source, scratch }) => f.call(inversion.handle, [target, source, scratch]),
  };
}

function defineDividedLineFactors<E>(module: ModuleBuilder, field: PrimeField<E>, invert: FunctionHandle): void {
  const size = 2 * field.elementBytes;
  module.defineNamed({ name: "g1_divided_line_factors", params: MANY }, (f, { targets, points, count, scratch }) => {
    const each = overPoints(f, field, { points, scratch, count, pointBytes: size });
    each((point, block) => field.storeBlock(f, block, 0, coordinate(f, field, point, 1)));
    emitInversion(f, field, invert, { scratch, count });
    each((point, block, i) => {
      const target = f.let(i32.add(targets, i32.mul(i, i32.const(2 * size))));
      const inverse = field.loadBlock(f, block, 0, field.productMax);
      const quotient = field.reduce(f, field.mul(f, coordinate(f, field, point, 0), inverse));
      storeTwice(f, field, { target, block: 0 }, quotient);
      storeTwice(f, field, { target, block: 1 }, field.reduce(f, inverse));
    });
  });
}

function defineAllToAffine<E>(module: ModuleBuilder, field: PrimeField<E>, invert: FunctionHandle): void {
  const { elementBytes } = field;
  module.defineNamed({ name: "g1_all_to_affine", params: MANY }, (f, { targets, points, count, scratch }) => {
    const each = overPoints(f, field, { points, scratch, count, pointBytes: 3 * elementBytes });
    each((point, block) => {
      const z = coordinate(f, field, point, 2);
      f.if(
        field.isZero(f, z),
        () => field.storeBlock(f, block, 0, field.constant(f, [1n])),
        () => field.storeBlock(f, block, 0, z),
      );
    });
    emitInversion(f, field, invert, { scratch, count });
    each((point, block, i) => {
      const target = f.let(i32.add(targets, i32.mul(i, i32.const(2 * elementBytes))));
      const inverse = field.loadBlock(f, block, 0, field.productMax);
      for (const index of [0, 1])
        field.store(
          f,
          [target],
          index * elementBytes,
          field.reduce(f, field.mul(f, coordinate(f, field, point, index), inverse)),
        );
      f.if(field.isZero(f, coordinate(f, field, point, 2)), () => {
        for (const index of [0, 1]) field.store(f, [target], index * elementBytes, field.constant(f, [0n]));
      });
    });
  });
}

/** Parameters of what takes many points; the scratch is that of `PointTransfers`. */
const MANY = { targets: "i32", points: "i32", count: "i32", scratch: "i32" } as const;

interface Points {
  readonly points: Address;
  readonly pointBytes: number;
  readonly count: Address;
  /** A block for each point, then the scratch of the inversion. */
  readonly scratch: Address;
}

/** Returns an emitter of loops over the points, with the block that belongs to each. */
function overPoints<E>(f: FunctionBuilder, field: PrimeField<E>, { points, pointBytes, count, scratch }: Points) {
  const blockBytes = field.elementBytes * field.lanes;
  return (work: (point: Address, block: Address, i: Address) => void): void => {
    f.for(i32.const(0), count, 1, (i) => {
      const point = f.let(i32.add(points, i32.mul(i, i32.const(pointBytes))));
      const block = f.let(i32.add(scratch, i32.mul(i, i32.const(blockBytes))));
      work(point, block, i);
    });
  };
}

/** Inverts the blocks of all points. */
function emitInversion<E>(
  f: FunctionBuilder,
  field: PrimeField<E>,
  invert: FunctionHandle,
  { scratch, count }: Pick<Points, "scratch" | "count">,
): void {
  const blockBytes = field.elementBytes * field.lanes;
  f.call(invert, [scratch, count, f.let(i32.add(scratch, i32.mul(count, i32.const(blockBytes))))]);
}

/** A coordinate of a point at rest, in every lane. */
function coordinate<E>(f: FunctionBuilder, field: PrimeField<E>, point: Address, index: number): E {
  return field.load(f, everyLane(field, point), index * field.elementBytes, field.reducedMax);
}

/** Stores an element as both coefficients of a block of the tower. */
function storeTwice<E>(
  f: FunctionBuilder,
  field: PrimeField<E>,
  { target, block }: { readonly target: Address; readonly block: number },
  element: E,
): void {
  const size = 2 * field.elementBytes;
  field.storeBlock(f, target, block * size, element);
  if (field.lanes === 1) field.storeBlock(f, target, block * size + field.elementBytes, element);
}
