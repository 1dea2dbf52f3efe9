/**
 * Defines the steps of a Miller loop over a point of a D-type twist: doubling and addition in homogeneous
 * projective coordinates with the line through the points, and the product of a value of Fq12 with a line. C. Costello,
 * T. Lange, M. Naehrig, "Faster pairing computations on curves with high-degree twists" (eprint 2009/615), in the form
 * of D. Aranha et al., eprint 2010/526, section 5, scaled so that nothing is halved.
 *
 * A line at P = (x, y) is c0 y + c1 x w + c3 w^3; it is kept as the blocks c0 || c1 || c3, or, divided by c0, as c1 ||
 * c3.
 */
import type { Fq2 } from "../../field/prime-field.js";
import { multiplyFq2, powerFq2 } from "../../field/prime-field.js";
import type { Address } from "../field/field.js";
import type { FunctionBuilder, FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32 } from "../wasm/wasm-ops.js";
import { cellsAt, coefficientsOf } from "./target-field.js";
import { nonResidueJob } from "./tower-blocks.js";
import type { CombinationJob, SumJob, TowerBlocks } from "./tower-blocks.js";
import type { TowerField } from "./tower-field.js";

interface MillerStepOptions {
  readonly prime: bigint;
  /** The xi over which Fq12 is built. */
  readonly nonResidue: Fq2;
  /** b of the twist. */
  readonly twistB: Fq2;
  /** Factors of x and y for `g2_move`; without them it does not exist. */
  readonly move: { readonly x: Fq2; readonly y: Fq2 } | undefined;
  /** Address of room for MILLER_SCRATCH_BLOCKS blocks. */
  readonly scratch: number;
}

/** Blocks of scratch that the functions of this file use. */
export const MILLER_SCRATCH_BLOCKS = 10;
/** Bytes of an entry of the table of `gt_mul_divided_lines`: two addresses. */
export const LINE_ENTRY_BYTES = 8;

/** Emits jobs on blocks in few words. */
interface Shorthand {
  /** target := the sum of products. */
  readonly sum: (target: Address, ...products: readonly (readonly [Address, Address, "twice"?])[]) => SumJob;
  /** target := the sum of multiples. */
  readonly plain: (target: Address, ...terms: readonly (readonly [number, Address])[]) => CombinationJob;
}

const { sum, plain }: Shorthand = {
  sum: (target, ...products) => ({
    target,
    products: products.map(([a, b, twice]) => ({ a, b, isDouble: twice !== undefined })),
  }),
  plain: (target, ...terms) => ({ target, terms: terms.map(([times, source]) => ({ source, times })) }),
};

/**
 * Defines, with addresses; targets must not overlap what is read, and all results are reduced:
 * - what `defineLineSteps` defines;
 * - `line_divide` (target, line): c1 / c0 || c3 / c0;
 * - `g2_move` (points, count): multiplies x and y of affine points x || y by the factors of a move, in place;
 * - `g2_negate`, `g2_psi_1` to `g2_psi_3` (target, point): of affine points x || y; psi is the untwist-Frobenius-twist
 *   map;
 * - `g2_equals` (point, other) -> 1 when a projective point is an affine one, else 0; 0 for infinity.
 */
export function defineMillerSteps<E>(
  module: ModuleBuilder,
  tower: TowerField<E>,
  blocks: TowerBlocks,
  options: MillerStepOptions,
): void {
  defineLineSteps(module, blocks, options);
  const cells = cellsAt(blocks, options.scratch);
  module.define({ name: "line_divide", params: ["i32", "i32"] }, (f, target, line) => {
    const at = blocksFrom(f, blocks, line);
    tower.invert(f, { target: cells(0), source: line, scratch: cells(1) });
    const to = blocksFrom(f, blocks, target);
    blocks.sums(
      f,
      [0, 1].map((i) => sum(to(i), [at(i + 1), cells(0)])),
    );
  });
  defineAffineMaps(module, tower, options);
}

/**
 * Defines, with addresses; targets must not overlap what is read, and all results are reduced:
 * - `g2_double_step` (point, line): doubles the point X || Y || Z in place and writes the tangent;
 * - `g2_add_step` (point, other, line): adds the affine point `other` in place and writes the line through both;
 * - `gt_mul_line` (target, value, line, point): value times a line at the point y || x, given as blocks whose
 *   coefficients are the same;
 * - `gt_mul_divided_lines` (value, spare, table, count) -> the address of the product, which is that of value or of
 *   spare: for each of `count` entries of the table, the addresses of a divided line and of x / y || 1 / y, it
 *   multiplies by that line and moves the entry on to the next line.
 */
export function defineLineSteps(
  module: ModuleBuilder,
  blocks: TowerBlocks,
  options: Pick<MillerStepOptions, "prime" | "twistB" | "scratch">,
): void {
  const cells = cellsAt(blocks, options.scratch);
  defineDoubleStep(module, blocks, cells, multiplyFq2(options.twistB, { c0: 3n, c1: 0n }, options.prime));
  defineAddStep(module, blocks, cells);
  defineMulLine(module, blocks, cells);
  defineMulDividedLines(module, blocks, defineMulDividedLine(module, blocks, cells));
}

function defineDoubleStep(module: ModuleBuilder, blocks: TowerBlocks, cells: Cells, threeB: Fq2): void {
  module.define({ name: "g2_double_step", params: ["i32", "i32"] }, (f, point, line) => {
    const [at, to] = [blocksFrom(f, blocks, point), blocksFrom(f, blocks, line)];
    const [x, y, z] = [at(0), at(1), at(2)];
    const [xy, h, b, zz, xx, e, constant, minus, plus, h4] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(cells) as [
      ...[Address, Address, Address, Address, Address],
      ...[Address, Address, Address, Address, Address],
    ];
    blocks.storeConstant(f, constant, threeB);
    blocks.sums(f, [sum(xy, [x, y, "twice"]), sum(h, [y, z, "twice"])]);
    blocks.squares(f, [
      { target: b, source: y },
      { target: zz, source: z },
      { target: xx, source: x },
    ]);
    blocks.sums(f, [sum(e, [zz, constant])]);
    blocks.combinations(f, [
      plain(minus, [1, b], [-3, e]),
      plain(plus, [1, b], [3, e]),
      plain(h4, [4, h]),
      plain(to(1), [3, xx]),
      plain(to(2), [1, e], [-1, b]),
      plain(to(0), [-1, h]),
    ]);
    blocks.sums(f, [sum(x, [xy, minus]), sum(z, [b, h4])]);
    // (B + 3 E)^2 - 12 E^2
    blocks.squares(f, [
      { target: plus, source: plus },
      { target: e, source: e },
    ]);
    blocks.combinations(f, [plain(e, [4, e])]);
    blocks.combinations(f, [plain(y, [1, plus], [-3, e])]);
  });
}

function defineAddStep(module: ModuleBuilder, blocks: TowerBlocks, cells: Cells): void {
  module.define({ name: "g2_add_step", params: ["i32", "i32", "i32"] }, (f, point, other, line) => {
    const [at, added, to] = [point, other, line].map((address) => blocksFrom(f, blocks, address)) as [
      Cells,
      Cells,
      Cells,
    ];
    const [x, y, z] = [at(0), at(1), at(2)];
    const [o, d, oo, e, g, h, rest, minusE, minusY] = [0, 1, 2, 3, 4, 5, 6, 7, 8].map(cells) as [
      ...[Address, Address, Address, Address, Address],
      ...[Address, Address, Address, Address],
    ];
    const l = to(0);
    blocks.sums(f, [sum(o, [added(1), z]), sum(l, [added(0), z])]);
    blocks.combinations(f, [plain(o, [1, y], [-1, o]), plain(l, [1, x], [-1, l])]);
    blocks.squares(f, [
      { target: d, source: l },
      { target: oo, source: o },
    ]);
    blocks.sums(f, [sum(e, [l, d]), sum(g, [x, d]), sum(h, [z, oo])]);
    blocks.combinations(f, [
      plain(h, [1, h], [1, e], [-2, g]),
      plain(minusE, [-1, e]),
      plain(minusY, [-1, added(1)]),
      plain(to(1), [-1, o]),
    ]);
    blocks.combinations(f, [plain(rest, [1, g], [-1, h])]);
    blocks.sums(f, [
      sum(x, [l, h]),
      sum(z, [z, e]),
      sum(y, [o, rest], [y, minusE]),
      sum(to(2), [o, added(0)], [l, minusY]),
    ]);
  });
}

function defineAffineMaps<E>(
  module: ModuleBuilder,
  tower: TowerField<E>,
  { prime, nonResidue, move }: MillerStepOptions,
): void {
  const { blockBytes } = tower;
  if (move !== undefined) defineMove(module, tower, move);
  const sub = (f: FunctionBuilder, a: E, b: E): E => tower.normalize(f, tower.sub(f, a, b));
  module.define({ name: "g2_negate", params: ["i32", "i32"] }, (f, target, point) => {
    tower.store(f, target, 0, tower.load(f, point, 0));
    tower.store(f, target, blockBytes, sub(f, tower.constant(f, [0n, 0n]), tower.load(f, point, blockBytes)));
  });
  for (const k of [1, 2, 3]) {
    const power = prime ** BigInt(k) - 1n;
    const factors = [powerFq2(nonResidue, power / 3n, prime), powerFq2(nonResidue, power / 2n, prime)];
    module.define({ name: `g2_psi_${String(k)}`, params: ["i32", "i32"] }, (f, target, point) => {
      for (const [i, { c0, c1 }] of factors.entries()) {
        const loaded = tower.load(f, point, i * blockBytes);
        tower.store(
          f,
          target,
          i * blockBytes,
          tower.mul(f, k % 2 === 0 ? loaded : tower.conjugate(f, loaded), tower.constant(f, [c0, c1])),
        );
      }
    });
  }
  module.define({ name: "g2_equals", params: ["i32", "i32"], results: ["i32"] }, (f, point, other) => {
    const z = tower.load(f, point, 2 * blockBytes);
    const differences = [0, 1].map((i) =>
      sub(f, tower.load(f, point, i * blockBytes), tower.mul(f, tower.load(f, other, i * blockBytes), z)),
    );
    const flags = differences.map((difference) => f.let(tower.isZero(f, difference)));
    f.return(flags.reduce<Address>((x, y) => i32.and(x, y), i32.eqz(tower.isZero(f, z))));
  });
}

function defineMove<E>(
  module: ModuleBuilder,
  tower: TowerField<E>,
  { x, y }: { readonly x: Fq2; readonly y: Fq2 },
): void {
  const { blockBytes } = tower;
  module.define({ name: "g2_move", params: ["i32", "i32"] }, (f, points, count) => {
    const end = f.let(i32.add(points, i32.mul(count, i32.const(2 * blockBytes))));
    f.for(points, end, 2 * blockBytes, (point) => {
      for (const [i, { c0, c1 }] of [x, y].entries()) {
        const product = tower.mul(f, tower.load(f, point, i * blockBytes), tower.constant(f, [c0, c1]));
        tower.store(f, point, i * blockBytes, product);
      }
    });
  });
}

// Cells of the line products: l0 in cell 0, l1 and xi l1 in 1 and 2, l3 and xi l3 in 3 and 4.

const LINE_PRODUCT = { target: "i32", value: "i32", line: "i32", point: "i32" } as const;

function defineMulLine(module: ModuleBuilder, blocks: TowerBlocks, cells: Cells): void {
  const [l0, l1, xiL1, xiL3] = [cells(0), cells(1), cells(2), cells(4)];
  module.defineNamed({ name: "gt_mul_line", params: LINE_PRODUCT }, (f, { target, value, line, point }) => {
    const [from, factors] = [blocksFrom(f, blocks, line), blocksFrom(f, blocks, point)];
    blocks.scalings(f, [
      { target: l0, a: from(0), b: factors(0) },
      { target: l1, a: from(1), b: factors(1) },
    ]);
    const third = from(2);
    blocks.combinations(f, [nonResidueJob(blocks, xiL1, l1), nonResidueJob(blocks, xiL3, third)]);
    const [to, at] = [target, value].map((element) => coefficientsOf(f, blocks, element)) as [Cells, Cells];
    blocks.sums(
      f,
      sparseTerms(l1, xiL1, third, xiL3).map(([k, below1, by1, below3, by3]) =>
        sum(to(k), [l0, at(k)], [by1, at(below1)], [by3, at(below3)]),
      ),
    );
  });
}

function defineMulDividedLine(module: ModuleBuilder, blocks: TowerBlocks, cells: Cells): FunctionHandle {
  const [l1, xiL1, l3, xiL3] = [cells(1), cells(2), cells(3), cells(4)];
  const signature = { name: "gt_mul_divided_line", params: LINE_PRODUCT, exported: false };
  return module.defineNamed(signature, (f, { target, value, line, point }) => {
    const [from, factors] = [blocksFrom(f, blocks, line), blocksFrom(f, blocks, point)];
    blocks.scalings(f, [
      { target: l1, a: from(0), b: factors(0) },
      { target: l3, a: from(1), b: factors(1) },
    ]);
    blocks.combinations(f, [nonResidueJob(blocks, xiL1, l1), nonResidueJob(blocks, xiL3, l3)]);
    const [to, at] = [target, value].map((element) => coefficientsOf(f, blocks, element)) as [Cells, Cells];
    blocks.sums(
      f,
      sparseTerms(l1, xiL1, l3, xiL3).map(([k, below1, by1, below3, by3]) => ({
        ...sum(to(k), [by1, at(below1)], [by3, at(below3)]),
        addend: at(k),
      })),
    );
  });
}

function defineMulDividedLines(module: ModuleBuilder, { blockBytes }: TowerBlocks, timesDivided: FunctionHandle): void {
  const params = { value: "i32", spare: "i32", table: "i32", count: "i32" } as const;
  module.defineNamed(
    { name: "gt_mul_divided_lines", params, results: ["i32"] },
    (f, { value, spare, table, count }) => {
      const [from, to] = [f.let(value), f.let(spare)];
      const entry = f.let(table);
      f.for(i32.const(0), count, 1, () => {
        const line = f.let(i32.load(entry));
        f.call(timesDivided, [to, from, line, i32.load(entry, 4)]);
        f.run(i32.store(entry, i32.add(line, i32.const(2 * blockBytes))));
        const swapped = f.let(from);
        f.set(from, to);
        f.set(to, swapped);
        f.set(entry, i32.add(entry, i32.const(LINE_ENTRY_BYTES)));
      });
      f.return(from);
    },
  );
}

/**
 * For each power of w: which coefficients of the value meet c1 w and c3 w^3, times xi where the product passes w^5.
 * Neighbours have factors in common.
 */
function sparseTerms(
  l1: Address,
  xiL1: Address,
  l3: Address,
  xiL3: Address,
): (readonly [number, number, Address, number, Address])[] {
  return [0, 3, 1, 4, 2, 5].map((k) => [k, (k + 5) % 6, k < 1 ? xiL1 : l1, (k + 3) % 6, k < 3 ? xiL3 : l3] as const);
}

type Cells = (index: number) => Address;

/** Returns the addresses of the first three blocks from an address on, each computed once. */
function blocksFrom(f: FunctionBuilder, { blockBytes }: Pick<TowerBlocks, "blockBytes">, address: Address): Cells {
  const addresses = [0, 1, 2].map((i) => (i === 0 ? address : f.let(i32.add(address, i32.const(i * blockBytes)))));
  return (i) => {
    const found = addresses[i];
    if (found === undefined) throw new Error("there is no such block");
    return found;
  };
}
