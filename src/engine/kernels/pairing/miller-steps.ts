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
import { defineSumOfProducts } from "./sums-of-products.js";
import type { SumOfProducts } from "./sums-of-products.js";
import { coefficient, timesNonResidue } from "./target-field.js";
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
export const MILLER_SCRATCH_BLOCKS = 8;
/** Bytes of an entry of the table of `gt_mul_divided_lines`: two addresses. */
export const LINE_ENTRY_BYTES = 8;

/**
 * Defines, with addresses; targets must not overlap what is read, and all results are reduced:
 * - `g2_double_step` (point, line): doubles the point X || Y || Z in place and writes the tangent;
 * - `g2_add_step` (point, other, line): adds the affine point `other` in place and writes the line through both;
 * - `line_divide` (target, line): c1 / c0 || c3 / c0;
 * - `gt_mul_line` (target, value, line, point): value times a line at the point y || x, given as blocks whose
 *   coefficients are the same;
 * - `gt_mul_divided_lines` (value, spare, table, count) -> the address of the product, which is that of value or of
 *   spare: for each of `count` entries of the table, the addresses of a divided line and of x / y || 1 / y, it
 *   multiplies by that line and moves the entry on to the next line;
 * - `g2_move` (points, count): multiplies x and y of affine points x || y by the factors of a move, in place;
 * - `g2_negate`, `g2_psi_1` to `g2_psi_3` (target, point): of affine points x || y; psi is the untwist-Frobenius-twist
 *   map;
 * - `g2_equals` (point, other) -> 1 when a projective point is an affine one, else 0; 0 for infinity.
 */
export function defineMillerSteps<E>(module: ModuleBuilder, tower: TowerField<E>, options: MillerStepOptions): void {
  const { blockBytes } = tower;
  defineDoubleStep(module, tower, options);
  defineAddStep(module, tower);
  const cells = (i: number): Address => i32.const(options.scratch + i * blockBytes);
  module.define({ name: "line_divide", params: ["i32", "i32"] }, (f, target, line) => {
    tower.invert(f, { target: cells(0), source: line, scratch: cells(1) });
    const inverse = tower.load(f, cells(0), 0);
    for (const i of [1, 2])
      tower.store(f, target, (i - 1) * blockBytes, tower.mul(f, tower.load(f, line, i * blockBytes), inverse));
  });
  defineLineProducts(module, tower, cells);
  defineAffineMaps(module, tower, options);
}

function defineDoubleStep<E>(module: ModuleBuilder, tower: TowerField<E>, { twistB, prime }: MillerStepOptions): void {
  const { blockBytes } = tower;
  const threeB = multiplyFq2(twistB, { c0: 3n, c1: 0n }, prime);
  module.define({ name: "g2_double_step", params: ["i32", "i32"] }, (f, point, line) => {
    const [x, y, z] = [0, 1, 2].map((i) => tower.load(f, point, i * blockBytes)) as [E, E, E];
    const { twice, times, sub } = shortcuts(f, tower);
    const xy = twice(tower.mul(f, x, y));
    const b = tower.square(f, y);
    const e = tower.mul(f, tower.square(f, z), tower.constant(f, [threeB.c0, threeB.c1]));
    const threeE = times(3, e);
    const h = twice(tower.mul(f, y, z));
    tower.store(f, point, 0, tower.mul(f, xy, sub(b, threeE)));
    // (B + 3 E)^2 - 12 E^2
    const outer = tower.square(f, tower.reduce(f, tower.normalize(f, tower.add(f, b, threeE))));
    tower.store(f, point, blockBytes, sub(outer, times(4, times(3, tower.square(f, e)))));
    tower.store(f, point, 2 * blockBytes, times(4, tower.mul(f, b, h)));
    tower.store(f, line, 0, sub(tower.constant(f, [0n, 0n]), h));
    tower.store(f, line, blockBytes, times(3, tower.square(f, x)));
    tower.store(f, line, 2 * blockBytes, sub(e, b));
  });
}

function defineAddStep<E>(module: ModuleBuilder, tower: TowerField<E>): void {
  const { blockBytes } = tower;
  module.define({ name: "g2_add_step", params: ["i32", "i32", "i32"] }, (f, point, other, line) => {
    const [x, y, z] = [0, 1, 2].map((i) => tower.load(f, point, i * blockBytes)) as [E, E, E];
    const [otherX, otherY] = [0, 1].map((i) => tower.load(f, other, i * blockBytes)) as [E, E];
    const { twice, sub } = shortcuts(f, tower);
    const o = sub(y, tower.mul(f, otherY, z));
    const l = sub(x, tower.mul(f, otherX, z));
    const d = tower.square(f, l);
    const e = tower.mul(f, l, d);
    const g = tower.mul(f, x, d);
    const h = sub(tower.reduce(f, tower.normalize(f, tower.add(f, e, tower.mul(f, z, tower.square(f, o))))), twice(g));
    tower.store(f, point, 0, tower.mul(f, l, h));
    tower.store(
      f,
      point,
      blockBytes,
      tower.sumOfProducts(f, [
        { a: o, b: sub(g, h) },
        { a: y, b: e, negate: true },
      ]),
    );
    tower.store(f, point, 2 * blockBytes, tower.mul(f, z, e));
    tower.store(f, line, 0, l);
    tower.store(f, line, blockBytes, sub(tower.constant(f, [0n, 0n]), o));
    tower.store(
      f,
      line,
      2 * blockBytes,
      tower.sumOfProducts(f, [
        { a: o, b: otherX },
        { a: l, b: otherY, negate: true },
      ]),
    );
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

/** A factor of a line's coefficients: the block at an offset from an address. */
type BlockPlace = readonly [address: Address, offset: number];

function defineLineProducts<E>(module: ModuleBuilder, tower: TowerField<E>, cells: (i: number) => Address): void {
  const three = defineSumOfProducts(module, tower, { name: "line_sum_3", factors: [1, 1, 1] });
  const plusTwo = defineSumOfProducts(module, tower, { name: "line_sum_2", factors: [1, 1], hasAddend: true });
  defineMulLine(module, tower, cells, three);
  const timesDivided = defineMulDividedLine(module, tower, cells, plusTwo);
  defineMulDividedLines(module, tower, timesDivided);
}

const LINE_PRODUCT = { target: "i32", value: "i32", line: "i32", point: "i32" } as const;

/** target := value * factor, both coefficients with the same number of Fq. */
function emitScale<E>(
  f: FunctionBuilder,
  tower: TowerField<E>,
  target: Address,
  [value, factor]: readonly [BlockPlace, BlockPlace],
): void {
  tower.store(f, target, 0, tower.mulCoefficients(f, tower.load(f, ...value), tower.load(f, ...factor)));
}

// Cells of the line products: l0 in cell 0, l1 and xi l1 in 1 and 2, l3 and xi l3 in 3 and 4.

function defineMulLine<E>(
  module: ModuleBuilder,
  tower: TowerField<E>,
  cells: (i: number) => Address,
  three: SumOfProducts,
): void {
  const { blockBytes } = tower;
  const [l0, l1, xiL1, xiL3] = [cells(0), cells(1), cells(2), cells(4)];
  module.defineNamed({ name: "gt_mul_line", params: LINE_PRODUCT }, (f, { target, value, line, point }) => {
    emitScale(f, tower, l0, [
      [line, 0],
      [point, 0],
    ]);
    emitScale(f, tower, l1, [
      [line, blockBytes],
      [point, blockBytes],
    ]);
    const third = f.let(i32.add(line, i32.const(2 * blockBytes)));
    timesNonResidue(f, tower, xiL1, l1);
    timesNonResidue(f, tower, xiL3, third);
    const at = (i: number): Address => coefficient(f, tower, value, i);
    for (const [k, [below1, by1, below3, by3]] of sparseTerms(l1, xiL1, third, xiL3).entries()) {
      three.call(f, coefficient(f, tower, target, k), [
        [at(k), l0],
        [at(below1), by1],
        [at(below3), by3],
      ]);
    }
  });
}

function defineMulDividedLine<E>(
  module: ModuleBuilder,
  tower: TowerField<E>,
  cells: (i: number) => Address,
  plusTwo: SumOfProducts,
): FunctionHandle {
  const { blockBytes } = tower;
  const [l1, xiL1, l3, xiL3] = [cells(1), cells(2), cells(3), cells(4)];
  const signature = { name: "gt_mul_divided_line", params: LINE_PRODUCT, exported: false };
  return module.defineNamed(signature, (f, { target, value, line, point }) => {
    emitScale(f, tower, l1, [
      [line, 0],
      [point, 0],
    ]);
    emitScale(f, tower, l3, [
      [line, blockBytes],
      [point, blockBytes],
    ]);
    timesNonResidue(f, tower, xiL1, l1);
    timesNonResidue(f, tower, xiL3, l3);
    const at = (i: number): Address => coefficient(f, tower, value, i);
    for (const [k, [below1, by1, below3, by3]] of sparseTerms(l1, xiL1, l3, xiL3).entries()) {
      plusTwo.call(
        f,
        coefficient(f, tower, target, k),
        [
          [at(below1), by1],
          [at(below3), by3],
        ],
        at(k),
      );
    }
  });
}

function defineMulDividedLines<E>(module: ModuleBuilder, tower: TowerField<E>, timesDivided: FunctionHandle): void {
  const params = { value: "i32", spare: "i32", table: "i32", count: "i32" } as const;
  module.defineNamed(
    { name: "gt_mul_divided_lines", params, results: ["i32"] },
    (f, { value, spare, table, count }) => {
      const [from, to] = [f.let(value), f.let(spare)];
      const entry = f.let(table);
      f.for(i32.const(0), count, 1, () => {
        const line = f.let(i32.load(entry));
        f.call(timesDivided, [to, from, line, i32.load(entry, 4)]);
        f.run(i32.store(entry, i32.add(line, i32.const(2 * tower.blockBytes))));
        const swapped = f.let(from);
        f.set(from, to);
        f.set(to, swapped);
        f.set(entry, i32.add(entry, i32.const(LINE_ENTRY_BYTES)));
      });
      f.return(from);
    },
  );
}

/** For each power of w: which coefficients of the value meet c1 w and c3 w^3, times xi where the product passes w^5. */
function sparseTerms(
  l1: Address,
  xiL1: Address,
  l3: Address,
  xiL3: Address,
): (readonly [number, Address, number, Address])[] {
  return [0, 1, 2, 3, 4, 5].map((k) => [(k + 5) % 6, k < 1 ? xiL1 : l1, (k + 3) % 6, k < 3 ? xiL3 : l3] as const);
}

/** Small multiples and differences, reduced. */
function shortcuts<E>(
  f: FunctionBuilder,
  tower: TowerField<E>,
): { twice: (a: E) => E; times: (n: 3 | 4, a: E) => E; sub: (a: E, b: E) => E } {
  const twice = (a: E): E => tower.reduce(f, tower.normalize(f, tower.add(f, a, a)));
  return {
    twice,
    times: (n, a) => {
      const two = tower.add(f, a, a);
      return tower.reduce(f, tower.normalize(f, tower.add(f, two, n === 3 ? a : two)));
    },
    sub: (a, b) => tower.reduce(f, tower.normalize(f, tower.sub(f, a, b))),
  };
}
