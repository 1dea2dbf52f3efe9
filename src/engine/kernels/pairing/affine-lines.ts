/**
 * Defines the steps of the Miller loops over many points of a D-type twist side by side, in affine coordinates: each
 * step inverts all their denominators at once, and its lines come out divided, as `gt_mul_divided_line` takes them
 * (miller-steps.ts). With slope s, the line through (x, y) is -s || s x - y. One point alone is faster in projective
 * coordinates, where nothing is inverted.
 *
 * A denominator of zero (2y of a point of order 2, or the difference of equal x) never occurs for a point of order r:
 * its multiples in the loop are neither infinity nor each other's negatives. So a point with such a denominator is
 * outside the subgroup. It is flagged, and 1 takes the place of the denominator, so that the shared inversion still
 * works for the other points.
 *
 * Record of a point: x || y || flag (16 bytes, 1 for a point that had such a denominator).
 */
import type { Address } from "../field/field.js";
import type { ScratchBytes } from "../wasm/scratch-bytes.js";
import type { FunctionBuilder, FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32 } from "../wasm/wasm-ops.js";
import { blockInversionScratch, defineBlockInversion } from "./block-inversion.js";
import type { BlockOperations } from "./block-inversion.js";
import type { TowerField } from "./tower-field.js";

const FLAG_BYTES = 16;

interface AffineLines {
  /** Bytes of the record of a point. */
  readonly recordBytes: number;
  /** The scratch of a step, by points. */
  readonly scratch: ScratchBytes;
}

/**
 * Defines, for `count` points in `records`, whose lines go to lines + i * stride and whose affine points are x || y as
 * blocks, one after the other:
 * - `g2_lines_double` (records, lines, stride, scratch, count): doubles each point;
 * - `g2_lines_add` (records, points, lines, stride, scratch, count): adds to each point the affine point of its number;
 * - `g2_lines_end` (record, point) -> 1 when the record's point is that affine point and the record has no flag, else
 *   0. Coordinates and lines are reduced.
 */
export function defineAffineLines<E>(module: ModuleBuilder, tower: TowerField<E>): AffineLines {
  const { blockBytes } = tower;
  const product = module.define(
    { name: "fq2_product", params: ["i32", "i32", "i32"], exported: false },
    (f, target, a, b) => {
      tower.store(f, target, 0, tower.sumOfStoredProducts(f, [{ a, b, isDouble: false }]));
    },
  );
  const operations: BlockOperations = {
    name: "fq2",
    blockBytes,
    inversionScratchBytes: tower.inversionScratchBytes,
    product,
    storeOne: (f, target) => tower.store(f, target, 0, tower.constant(f, [1n, 0n])),
    invert: (f, addresses) => tower.invert(f, addresses),
  };
  const inversion = defineBlockInversion(module, operations);
  const finish = defineFinish(module, tower, product);
  const helpers = { product, inversion, finish };
  defineDoubleLines(module, tower, helpers);
  defineAddLines(module, tower, helpers);
  defineEnd(module, tower);
  const inverted = blockInversionScratch(operations);
  return {
    recordBytes: recordBytesOf(tower),
    scratch: { ...inverted, base: 2 * blockBytes + inverted.base, perStep: blockBytes + inverted.perStep },
  };
}

/** Functions inside the module. */
interface Helpers {
  readonly product: FunctionHandle;
  readonly inversion: FunctionHandle;
  readonly finish: FunctionHandle;
}

function defineDoubleLines<E>(module: ModuleBuilder, tower: TowerField<E>, helpers: Helpers): void {
  const { blockBytes } = tower;
  const { product, inversion, finish } = helpers;
  const params = { records: "i32", lines: "i32", stride: "i32", scratch: "i32", count: "i32" } as const;
  module.defineNamed({ name: "g2_lines_double", params }, (f, { records, lines, stride, scratch, count }) => {
    const denominator = ({ record }: Pass): E => {
      const y = tower.load(f, record, blockBytes);
      return tower.normalize(f, tower.add(f, y, y));
    };
    emitPasses(f, tower, { records, scratch, count, inversion }, [
      denominator,
      ({ i, record, block: inverse }) => {
        const squared = tower.square(f, tower.load(f, record, 0));
        const triple = tower.normalize(f, tower.add(f, tower.add(f, squared, squared), squared));
        tower.store(f, scratch, 0, triple);
        f.call(product, [scratch, scratch, inverse]);
        f.call(finish, [record, record, itemAt(f, lines, i, stride), scratch]);
      },
    ]);
  });
}

function defineAddLines<E>(module: ModuleBuilder, tower: TowerField<E>, helpers: Helpers): void {
  const { blockBytes } = tower;
  const { product, inversion, finish } = helpers;
  const params = {
    records: "i32",
    points: "i32",
    lines: "i32",
    stride: "i32",
    scratch: "i32",
    count: "i32",
  } as const;
  module.defineNamed({ name: "g2_lines_add", params }, (f, { records, points, lines, stride, scratch, count }) => {
    const pointOf = (i: Address): Address => itemAt(f, points, i, i32.const(2 * blockBytes));
    const difference = (record: Address, point: Address, offset: number): E =>
      tower.normalize(f, tower.sub(f, tower.load(f, record, offset), tower.load(f, point, offset)));
    emitPasses(f, tower, { records, scratch, count, inversion }, [
      ({ i, record }) => difference(record, pointOf(i), 0),
      ({ i, record, block: inverse }) => {
        const point = pointOf(i);
        tower.store(f, scratch, 0, difference(record, point, blockBytes));
        f.call(product, [scratch, scratch, inverse]);
        f.call(finish, [record, point, itemAt(f, lines, i, stride), scratch]);
      },
    ]);
  });
}

function defineEnd<E>(module: ModuleBuilder, tower: TowerField<E>): void {
  const { blockBytes } = tower;
  module.define({ name: "g2_lines_end", params: ["i32", "i32"], results: ["i32"] }, (f, record, point) => {
    const flags = [0, blockBytes].map((offset) =>
      f.let(
        tower.isZero(f, tower.normalize(f, tower.sub(f, tower.load(f, record, offset), tower.load(f, point, offset)))),
      ),
    );
    f.return(flags.reduce<Address>((x, y) => i32.and(x, y), i32.eqz(i32.load(record, 2 * blockBytes))));
  });
}

interface Passes {
  readonly records: Address;
  /** Two blocks for the slope, then a block for each point, then the scratch of the inversion. */
  readonly scratch: Address;
  readonly count: Address;
  readonly inversion: FunctionHandle;
}

/** A point in one of the two passes. */
interface Pass {
  readonly i: Address;
  readonly record: Address;
  /** The point's block: its denominator, and then the inverse of that. */
  readonly block: Address;
}

/** Emits two passes over the points: `denominator` of each, then, when all are inverted, `finish` for each. */
function emitPasses<E>(
  f: FunctionBuilder,
  tower: TowerField<E>,
  { records, scratch, count, inversion }: Passes,
  [denominator, finish]: readonly [(pass: Pass) => E, (pass: Pass) => void],
): void {
  const { blockBytes } = tower;
  const recordBytes = recordBytesOf(tower);
  const blocks = f.let(i32.add(scratch, i32.const(2 * blockBytes)));
  const each = (work: (pass: Pass) => void): void => {
    f.for(i32.const(0), count, 1, (i) => {
      const record = f.let(i32.add(records, i32.mul(i, i32.const(recordBytes))));
      const block = f.let(i32.add(blocks, i32.mul(i, i32.const(blockBytes))));
      work({ i, record, block });
    });
  };
  each((pass) => {
    const value = tower.reduce(f, denominator(pass));
    tower.store(f, pass.block, 0, value);
    f.if(tower.isZero(f, value), () => {
      f.run(i32.store(pass.record, i32.const(1), 2 * blockBytes));
      tower.store(f, pass.block, 0, tower.constant(f, [1n, 0n]));
    });
  });
  f.call(inversion, [blocks, count, f.let(i32.add(blocks, i32.mul(count, i32.const(blockBytes))))]);
  each(finish);
}

function recordBytesOf<E>(tower: TowerField<E>): number {
  return 2 * tower.blockBytes + FLAG_BYTES;
}

function itemAt(f: FunctionBuilder, base: Address, i: Address, step: Address): Address {
  return f.let(i32.add(base, i32.mul(i, step)));
}

/**
 * Defines (record, other point, line, slope || a block of scratch): writes the line of slope s through the record's
 * point and replaces the point by x3 = s^2 - x1 - x2, y3 = s (x1 - x3) - y1.
 */
function defineFinish<E>(module: ModuleBuilder, tower: TowerField<E>, product: FunctionHandle): FunctionHandle {
  const { blockBytes } = tower;
  const params = { record: "i32", other: "i32", line: "i32", slope: "i32" } as const;
  return module.defineNamed(
    { name: "g2_lines_finish", params, exported: false },
    (f, { record, other, line, slope }) => {
      const sub = (a: E, b: E): E => tower.reduce(f, tower.normalize(f, tower.sub(f, a, b)));
      const temporary = f.let(i32.add(slope, i32.const(blockBytes)));
      const lineY = f.let(i32.add(line, i32.const(blockBytes)));
      f.call(product, [temporary, slope, record]);
      const y = tower.load(f, record, blockBytes);
      tower.store(f, lineY, 0, sub(tower.load(f, temporary, 0), y));
      const s = tower.load(f, slope, 0);
      tower.store(f, line, 0, sub(tower.constant(f, [0n, 0n]), s));
      const x = tower.load(f, record, 0);
      const x3 = sub(sub(tower.square(f, s), x), tower.load(f, other, 0));
      tower.store(f, temporary, 0, sub(x, x3));
      tower.store(f, record, 0, x3);
      f.call(product, [temporary, temporary, slope]);
      tower.store(f, record, blockBytes, sub(tower.load(f, temporary, 0), y));
    },
  );
}
