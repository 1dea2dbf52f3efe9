/**
 * Defines the steps of the Miller loops over many points of the D-type twist side by side, in affine coordinates: each
 * step inverts all their denominators at once, and its lines come out divided, as `gt_mul_divided_line` takes them
 * (miller-steps.ts). With slope s, the line through (x, y) is -s || s x - y. One point alone is faster in projective
 * coordinates, where nothing is inverted.
 *
 * A denominator of zero (2y of a point of order 2, or the difference of equal x) never occurs on the way of a point of
 * order r: its multiples there are neither infinity nor each other's negatives. So a point that meets one is outside
 * the subgroup; it is flagged, and goes on with 1 in that place, so that the shared inversion still serves the others.
 *
 * Record of a point: x || y || flag (16 bytes, 1 for a point that met such a denominator).
 */
import type { Address } from "../field/field.js";
import type { FunctionBuilder, FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32 } from "../wasm/wasm-ops.js";
import { blockInversionScratchBytes, defineBlockInversion } from "./block-inversion.js";
import type { BlockOperations } from "./block-inversion.js";
import type { TowerField } from "./tower-field.js";

const FLAG_BYTES = 16;

export interface AffineLines {
  readonly recordBytes: number;
  /** Scratch of a step over so many points. */
  scratchBytes(points: number): number;
}

/**
 * Defines `g2_lines_double` (records, lines, stride, scratch, count) and `g2_lines_add` (records, affine points, lines,
 * stride, scratch, count): each record's point is replaced by the result, and its line goes to lines + i stride.
 * `g2_lines_end` (record, affine point) -> whether the record's point is that one and the record has no flag. Points
 * are x || y as blocks, one after the other.
 */
export function defineAffineLines<E>(module: ModuleBuilder, tower: TowerField<E>): AffineLines {
  const { blockBytes } = tower;
  const recordBytes = 2 * blockBytes + FLAG_BYTES;
  const operations: BlockOperations = {
    name: "fq2",
    blockBytes,
    inversionScratchBytes: tower.inversionScratchBytes,
    product: module.define(
      { name: "fq2_product", params: ["i32", "i32", "i32"], exported: false },
      (f, target, a, b) => {
        tower.store(f, target, 0, tower.sumOfStoredProducts(f, [{ a, b, isDouble: false }]));
      },
    ),
    storeOne: (f, target) => tower.store(f, target, 0, tower.constant(f, [1n, 0n])),
    invert: (f, addresses) => tower.invert(f, addresses),
  };
  const inversion = defineBlockInversion(module, operations);
  const finish = defineFinish(module, tower, operations.product);
  // Denominators, then the inversion's own scratch, then two blocks for the slope.
  const passes = (
    f: FunctionBuilder,
    { records, scratch, count }: Passes,
    denominator: (record: Address, i: Address) => E,
    slope: (target: Address, record: Address, inverse: Address, i: Address) => void,
  ): void => {
    const blocks = f.let(i32.add(scratch, i32.const(2 * blockBytes)));
    const each = (work: (i: Address, record: Address, block: Address) => void): void => {
      f.for(i32.const(0), count, 1, (i) => {
        work(
          i,
          f.let(i32.add(records, i32.mul(i, i32.const(recordBytes)))),
          f.let(i32.add(blocks, i32.mul(i, i32.const(blockBytes)))),
        );
      });
    };
    each((i, record, block) => {
      const value = tower.reduce(f, denominator(record, i));
      tower.store(f, block, 0, value);
      f.if(tower.isZero(f, value), () => {
        f.run(i32.store(record, i32.const(1), 2 * blockBytes));
        tower.store(f, block, 0, tower.constant(f, [1n, 0n]));
      });
    });
    f.call(inversion, [blocks, count, f.let(i32.add(blocks, i32.mul(count, i32.const(blockBytes))))]);
    each((i, record, block) => slope(scratch, record, block, i));
  };
  const at = (f: FunctionBuilder, base: Address, i: Address, step: Address): Address =>
    f.let(i32.add(base, i32.mul(i, step)));
  module.define(
    { name: "g2_lines_double", params: ["i32", "i32", "i32", "i32", "i32"] },
    (f, records, lines, stride, scratch, count) => {
      const denominator = (record: Address): E => {
        const y = tower.load(f, record, blockBytes);
        return tower.normalize(f, tower.add(f, y, y));
      };
      passes(f, { records, scratch, count }, denominator, (target, record, inverse, i) => {
        const squared = tower.square(f, tower.load(f, record, 0));
        const triple = tower.normalize(f, tower.add(f, tower.add(f, squared, squared), squared));
        tower.store(f, target, 0, triple);
        f.call(operations.product, [target, target, inverse]);
        f.call(finish, [record, record, at(f, lines, i, stride), target]);
      });
    },
  );
  module.define(
    { name: "g2_lines_add", params: ["i32", "i32", "i32", "i32", "i32", "i32"] },
    (f, records, points, lines, stride, scratch, count) => {
      const pointOf = (i: Address): Address => at(f, points, i, i32.const(2 * blockBytes));
      const difference = (record: Address, point: Address, offset: number): E =>
        tower.normalize(f, tower.sub(f, tower.load(f, record, offset), tower.load(f, point, offset)));
      passes(
        f,
        { records, scratch, count },
        (record, i) => difference(record, pointOf(i), 0),
        (target, record, inverse, i) => {
          const point = pointOf(i);
          tower.store(f, target, 0, difference(record, point, blockBytes));
          f.call(operations.product, [target, target, inverse]);
          f.call(finish, [record, point, at(f, lines, i, stride), target]);
        },
      );
    },
  );
  module.define({ name: "g2_lines_end", params: ["i32", "i32"], results: ["i32"] }, (f, record, point) => {
    const flags = [0, blockBytes].map((offset) =>
      f.let(
        tower.isZero(f, tower.normalize(f, tower.sub(f, tower.load(f, record, offset), tower.load(f, point, offset)))),
      ),
    );
    f.return(flags.reduce<Address>((x, y) => i32.and(x, y), i32.eqz(i32.load(record, 2 * blockBytes))));
  });
  return {
    recordBytes,
    scratchBytes: (points) => (2 + points) * blockBytes + blockInversionScratchBytes(operations, points),
  };
}

interface Passes {
  readonly records: Address;
  readonly scratch: Address;
  readonly count: Address;
}

/** (record, other point, line, slope || a block of scratch): x3 = s^2 - x1 - x2, y3 = s (x1 - x3) - y1. */
function defineFinish<E>(module: ModuleBuilder, tower: TowerField<E>, product: FunctionHandle): FunctionHandle {
  const { blockBytes } = tower;
  return module.define(
    { name: "g2_lines_finish", params: ["i32", "i32", "i32", "i32"], exported: false },
    (f, record, other, line, slope) => {
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
