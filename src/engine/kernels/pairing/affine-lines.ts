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
import type { BlockMultiple, CombinationJob, TowerBlocks } from "./tower-blocks.js";
import type { TowerField } from "./tower-field.js";

const FLAG_BYTES = 16;

interface AffineLines {
  /** Bytes of the record of a point. */
  readonly recordBytes: number;
  /** The scratch of a step, by points. */
  readonly scratch: ScratchBytes;
}

/** Blocks of scratch for each point that is handled at once. */
const CELLS = 5;
/** Points for each job that is done at once: while one waits for its product, the other goes on. */
const POINTS_FOR_EACH = 2;
/** The most points that are handled together: scratch is the same whether or not two jobs are done at once. */
const POINTS_MAX = 2 * POINTS_FOR_EACH;

/**
 * Defines, for `count` points in `records`, whose lines go to lines + i * stride and whose affine points are x || y as
 * blocks, one after the other:
 * - `g2_lines_double` (records, lines, stride, scratch, count): doubles each point;
 * - `g2_lines_add` (records, points, lines, stride, scratch, count): adds to each point the affine point of its number.
 *   Coordinates and lines are reduced.
 */
export function defineAffineLines(module: ModuleBuilder, blocks: TowerBlocks): AffineLines {
  const operations: BlockOperations = {
    name: "fq2",
    blockBytes: blocks.blockBytes,
    inversionScratchBytes: blocks.inversionScratchBytes,
    atOnce: blocks.atOnce,
    products: (f, jobs) =>
      blocks.sums(
        f,
        jobs.map(({ target, a, b }) => ({ target, products: [{ a, b }] })),
      ),
    storeOne: (f, target) => blocks.storeConstant(f, target, { c0: 1n, c1: 0n }),
    invert: (f, addresses) => blocks.invert(f, addresses),
  };
  const inversion = defineBlockInversion(module, operations);
  defineDoubleLines(module, blocks, inversion);
  defineAddLines(module, blocks, inversion);
  const inverted = blockInversionScratch(operations);
  return {
    recordBytes: recordBytesOf(blocks),
    scratch: {
      ...inverted,
      base: POINTS_MAX * CELLS * blocks.blockBytes + inverted.base,
      perStep: blocks.blockBytes + inverted.perStep,
    },
  };
}

/**
 * Defines `g2_lines_end` (record, point) -> 1 when the record's point is that affine point and the record has no flag,
 * else 0.
 */
export function defineAffineEnd<E>(module: ModuleBuilder, tower: TowerField<E>): void {
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

function defineDoubleLines(module: ModuleBuilder, blocks: TowerBlocks, inversion: FunctionHandle): void {
  const params = { records: "i32", lines: "i32", stride: "i32", scratch: "i32", count: "i32" } as const;
  module.defineNamed({ name: "g2_lines_double", params }, (f, { records, lines, stride, scratch, count }) => {
    emitPasses(f, blocks, { records, scratch, count, inversion }, [
      ({ y }) => [{ source: y, times: 2 }],
      (passes) => {
        blocks.squares(
          f,
          passes.map(({ x, cells }) => ({ target: cells.numerator, source: x })),
        );
        blocks.combinations(
          f,
          passes.map(({ cells: { numerator } }) => ({
            target: numerator,
            terms: [{ source: numerator, times: 3 }],
          })),
        );
        emitFinish(
          f,
          blocks,
          passes.map((pass) => ({ ...pass, other: pass.x, line: itemAt(f, lines, pass.i, stride) })),
        );
      },
    ]);
  });
}

function defineAddLines(module: ModuleBuilder, blocks: TowerBlocks, inversion: FunctionHandle): void {
  const { blockBytes } = blocks;
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
    emitPasses(f, blocks, { records, scratch, count, inversion }, [
      ({ i, x }) => difference(x, pointOf(i)),
      (passes) => {
        const added = passes.map((pass) => ({
          ...pass,
          other: pointOf(pass.i),
          line: itemAt(f, lines, pass.i, stride),
        }));
        blocks.combinations(
          f,
          added.map(({ y, other, cells }) => ({
            target: cells.numerator,
            terms: difference(y, f.let(i32.add(other, i32.const(blockBytes)))),
          })),
        );
        emitFinish(f, blocks, added);
      },
    ]);
  });
}

interface Passes {
  readonly records: Address;
  /** The cells, then a block for each point, then the scratch of the inversion. */
  readonly scratch: Address;
  readonly count: Address;
  readonly inversion: FunctionHandle;
}

/** A point in one of the two passes. */
interface Pass {
  readonly i: Address;
  readonly record: Address;
  readonly x: Address;
  readonly y: Address;
  /** The point's block: its denominator, and then the inverse of that. */
  readonly block: Address;
  readonly cells: PointCells;
}

/** Scratch of a point while its step is finished. */
interface PointCells {
  readonly numerator: Address;
  readonly slope: Address;
  readonly squared: Address;
  readonly nextX: Address;
  readonly product: Address;
}

/**
 * Emits two passes over the points, several at a time: `denominator` of each, then, when all are inverted, `finish`.
 * The last ones come as many at a time as jobs are done at once; past the end, the last point is taken once more.
 */
function emitPasses(
  f: FunctionBuilder,
  blocks: TowerBlocks,
  { records, scratch, count, inversion }: Passes,
  [denominator, finish]: readonly [(pass: Pass) => BlockMultiple[], (passes: readonly Pass[]) => void],
): void {
  const { blockBytes, atOnce } = blocks;
  const recordBytes = recordBytesOf(blocks);
  const inverted = f.let(i32.add(scratch, i32.const(POINTS_MAX * CELLS * blockBytes)));
  const last = f.let(i32.sub(count, i32.const(1)));
  const cells = Array.from({ length: POINTS_FOR_EACH * atOnce }, (_, k) => cellsOf(f, blocks, scratch, k));
  const passesFrom = (first: Address, own: readonly PointCells[]): Pass[] =>
    own.map((each, k) => {
      const next = f.let(i32.add(first, i32.const(k)));
      const i = f.let(i32.select(next, last, i32.ltU(next, count)));
      const record = itemAt(f, records, i, i32.const(recordBytes));
      const block = itemAt(f, inverted, i, i32.const(blockBytes));
      return { i, record, x: record, y: f.let(i32.add(record, i32.const(blockBytes))), block, cells: each };
    });
  const each = (work: (passes: readonly Pass[]) => void): void => {
    const first = f.let(i32.const(0));
    for (const own of [cells, cells.slice(0, atOnce)]) {
      const isEnough =
        own === cells ? i32.ltU(i32.add(first, i32.const(own.length - 1)), count) : i32.ltU(first, count);
      f.while(isEnough, () => {
        work(passesFrom(first, own));
        f.set(first, i32.add(first, i32.const(own.length)));
      });
    }
  };
  each((passes) => {
    blocks.combinations(
      f,
      passes.map((pass) => ({ target: pass.block, terms: denominator(pass) })),
    );
    for (const { block, record } of passes)
      f.if(blocks.isZero(f, block), () => {
        f.run(i32.store(record, i32.const(1), 2 * blockBytes));
        blocks.storeConstant(f, block, { c0: 1n, c1: 0n });
      });
  });
  f.call(inversion, [inverted, count, f.let(i32.add(inverted, i32.mul(count, i32.const(blockBytes))))]);
  each(finish);
}

function cellsOf(f: FunctionBuilder, { blockBytes }: TowerBlocks, scratch: Address, k: number): PointCells {
  const at = (i: number): Address => f.let(i32.add(scratch, i32.const((k * CELLS + i) * blockBytes)));
  return { numerator: at(0), slope: at(1), squared: at(2), nextX: at(3), product: at(4) };
}

function recordBytesOf({ blockBytes }: Pick<TowerBlocks, "blockBytes">): number {
  return 2 * blockBytes + FLAG_BYTES;
}

function itemAt(f: FunctionBuilder, base: Address, i: Address, step: Address): Address {
  return f.let(i32.add(base, i32.mul(i, step)));
}

function difference(a: Address, b: Address): BlockMultiple[] {
  return [
    { source: a, times: 1 },
    { source: b, times: -1 },
  ];
}

/**
 * Emits for each point the line of slope s = numerator / denominator, and the point x3 = s^2 - x1 - x2, y3 = s (x1 -
 * x3) - y1 in place of it; x2 is that of the other point.
 */
function emitFinish(
  f: FunctionBuilder,
  blocks: TowerBlocks,
  passes: readonly (Pass & { readonly other: Address; readonly line: Address })[],
): void {
  const each = (job: (pass: (typeof passes)[number]) => CombinationJob): CombinationJob[] => passes.map(job);
  blocks.sums(
    f,
    passes.map(({ cells: { slope, numerator }, block }) => ({ target: slope, products: [{ a: numerator, b: block }] })),
  );
  blocks.squares(
    f,
    passes.map(({ cells: { squared, slope } }) => ({ target: squared, source: slope })),
  );
  blocks.combinations(f, [
    ...each(({ cells: { nextX, squared }, x, other }) => ({
      target: nextX,
      terms: [...difference(squared, x), { source: other, times: -1 }],
    })),
    // x1 - x3, in place of the square.
    ...each(({ cells: { squared }, x, other }) => ({
      target: squared,
      terms: [{ source: x, times: 2 }, ...difference(other, squared)],
    })),
  ]);
  blocks.sums(f, [
    ...passes.map(({ cells: { product, slope }, x }) => ({ target: product, products: [{ a: slope, b: x }] })),
    ...passes.map(({ cells: { squared, slope } }) => ({ target: squared, products: [{ a: slope, b: squared }] })),
  ]);
  blocks.combinations(f, [
    ...each(({ cells: { slope }, line }) => ({ target: line, terms: [{ source: slope, times: -1 }] })),
    ...each(({ cells: { product }, line, y }) => ({
      target: f.let(i32.add(line, i32.const(blocks.blockBytes))),
      terms: difference(product, y),
    })),
    ...each(({ cells: { squared }, y }) => ({ target: y, terms: difference(squared, y) })),
    ...each(({ cells: { nextX }, x }) => ({ target: x, terms: [{ source: nextX, times: 1 }] })),
  ]);
}
