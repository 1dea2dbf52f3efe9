/**
 * Defines the arithmetic of Fq12 that a pairing needs, as functions over memory. Fq12 = Fq2[w] / (w^6 - xi); an element
 * is its six coefficients from w^0 to w^5, each a reduced block. The scratch holds nothing between calls.
 */
import { powerFq2 } from "../../field/prime-field.js";
import type { Fq2 } from "../../field/prime-field.js";
import type { Address } from "../field/field.js";
import type { FunctionBuilder, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32, memoryCopy } from "../wasm/wasm-ops.js";
import { defineSumOfProducts } from "./sums-of-products.js";
import type { SumOfProducts } from "./sums-of-products.js";
import type { TowerField } from "./tower-field.js";

/** Coefficients of an element over Fq2. */
export const COEFFICIENTS = 6;
/** Powers of the Frobenius map that a final exponentiation needs. */
const FROBENIUS_POWERS = [1, 2, 3] as const;

interface TargetFieldOptions {
  /** Prime of the base field, and the xi over which Fq12 is built. */
  readonly prime: bigint;
  readonly nonResidue: Fq2;
  /** Address of TARGET_SCRATCH_BLOCKS blocks, which no two calls use at once. */
  readonly scratch: number;
}

/** Blocks of scratch that the functions of this file use. */
export const TARGET_SCRATCH_BLOCKS = 16;

/**
 * Defines, with addresses of elements; results are reduced:
 * - `gt_mul` (target, a, b), `gt_square` (target, a), `gt_invert` (target, a): the target must not overlap what is
 *   read;
 * - `gt_cyclotomic_square` (element, times): squares an element of the cyclotomic subgroup in place, so many times;
 * - `gt_conjugate` (target, a), `gt_frobenius_1` to `gt_frobenius_3` (target, a): the target may be the same element;
 * - `gt_is_one` (a) -> 1 or 0.
 */
export function defineTargetField<E>(module: ModuleBuilder, tower: TowerField<E>, options: TargetFieldOptions): void {
  const sums = {
    one: defineSumOfProducts(module, tower, { name: "fq2_mul", factors: [1] }),
    two: defineSumOfProducts(module, tower, { name: "fq2_sum_2", factors: [1, 1] }),
    three: defineSumOfProducts(module, tower, { name: "fq2_sum_3", factors: [1, 1, 1] }),
    six: defineSumOfProducts(module, tower, { name: "fq2_sum_6", factors: [1, 1, 1, 1, 1, 1] }),
    squares: defineSumOfProducts(module, tower, { name: "fq2_sum_squares", factors: [1, 1, 2, 2] }),
    doubled: defineSumOfProducts(module, tower, { name: "fq2_sum_doubled", factors: [2, 2, 2] }),
  };
  const cells = (i: number): Address => i32.const(options.scratch + i * tower.blockBytes);
  defineProducts(module, tower, sums, cells);
  defineCyclotomicSquare(module, tower, sums, cells);
  defineFrobenius(module, tower, options);
  defineInverse(module, tower, sums, cells);
  module.define({ name: "gt_conjugate", params: ["i32", "i32"] }, (f, target, a) => {
    for (let i = 0; i < COEFFICIENTS; i += 1) {
      const value = tower.load(f, a, i * tower.blockBytes);
      tower.store(f, target, i * tower.blockBytes, i % 2 === 0 ? value : negated(f, tower, value));
    }
  });
  module.define({ name: "gt_is_one", params: ["i32"], results: ["i32"] }, (f, a) => {
    const flags = Array.from({ length: COEFFICIENTS }, (_, i) => {
      const value = tower.load(f, a, i * tower.blockBytes);
      return f.let(
        tower.isZero(f, i === 0 ? tower.normalize(f, tower.sub(f, value, tower.constant(f, [1n, 0n]))) : value),
      );
    });
    f.return(flags.reduce<Address>((x, y) => i32.and(x, y), i32.const(1)));
  });
}

type Sums = Readonly<Record<"one" | "two" | "three" | "six" | "squares" | "doubled", SumOfProducts>>;

function defineProducts<E>(
  module: ModuleBuilder,
  tower: TowerField<E>,
  sums: Sums,
  cells: (i: number) => Address,
): void {
  module.define({ name: "gt_mul", params: ["i32", "i32", "i32"] }, (f, target, a, b) => {
    // xi b1 ... xi b5 in cells 1 to 5: the factors of products that pass w^5.
    for (let i = 1; i < COEFFICIENTS; i += 1) timesNonResidue(f, tower, cells(i), coefficient(f, tower, b, i));
    for (let k = 0; k < COEFFICIENTS; k += 1) {
      sums.six.call(
        f,
        coefficient(f, tower, target, k),
        indices().map((i) => {
          const j = (k - i + COEFFICIENTS) % COEFFICIENTS;
          return [coefficient(f, tower, a, i), i + j < COEFFICIENTS ? coefficient(f, tower, b, j) : cells(j)];
        }),
      );
    }
  });
  module.define({ name: "gt_square", params: ["i32", "i32"] }, (f, target, a) => {
    const at = (i: number): Address => coefficient(f, tower, a, i);
    for (const i of [3, 4, 5]) timesNonResidue(f, tower, cells(i), at(i));
    const put = (k: number): Address => coefficient(f, tower, target, k);
    sums.squares.call(f, put(0), [
      [at(0), at(0)],
      [at(3), cells(3)],
      [at(1), cells(5)],
      [at(2), cells(4)],
    ]);
    sums.doubled.call(f, put(1), [
      [at(0), at(1)],
      [at(2), cells(5)],
      [at(3), cells(4)],
    ]);
    sums.squares.call(f, put(2), [
      [at(1), at(1)],
      [at(4), cells(4)],
      [at(0), at(2)],
      [at(3), cells(5)],
    ]);
    sums.doubled.call(f, put(3), [
      [at(0), at(3)],
      [at(1), at(2)],
      [at(4), cells(5)],
    ]);
    sums.squares.call(f, put(4), [
      [at(2), at(2)],
      [at(5), cells(5)],
      [at(0), at(4)],
      [at(1), at(3)],
    ]);
    sums.doubled.call(f, put(5), [
      [at(0), at(5)],
      [at(1), at(4)],
      [at(2), at(3)],
    ]);
  });
}

/**
 * R. Granger, M. Scott, "Faster squaring in the cyclotomic subgroup of sixth degree extensions" (eprint 2009/565),
 * section 3: with s = w^3 and a = A + B w + C w^2 over Fq4 = Fq2[s], a^2 = (3 A^2 - 2 A') + (3 s C^2 + 2 B') w + (3 B^2
 * - 2 C') w^2, ' taking s to -s.
 */
function defineCyclotomicSquare<E>(
  module: ModuleBuilder,
  tower: TowerField<E>,
  sums: Sums,
  cells: (i: number) => Address,
): void {
  const three = (f: FunctionBuilder, x: E): E => tower.add(f, tower.add(f, x, x), x);
  const twice = (f: FunctionBuilder, x: E): E => tower.add(f, x, x);
  module.define({ name: "gt_cyclotomic_square", params: ["i32", "i32"] }, (f, a, times) => {
    const at = (i: number): Address => coefficient(f, tower, a, i);
    const load = (address: Address): E => tower.load(f, address, 0);
    f.for(i32.const(0), times, 1, () => {
      // Cells i and i + 3: the parts of (a_i + a_(i+3) s)^2 without and with s.
      for (const i of [0, 1, 2]) {
        timesNonResidue(f, tower, cells(6), at(i + 3));
        sums.one.call(f, cells(i + 3), [[at(i), at(i + 3)]]);
        sums.two.call(f, cells(i), [
          [at(i), at(i)],
          [at(i + 3), cells(6)],
        ]);
      }
      const combine = (target: number, square: E, sign: 1 | -1): void => {
        const tripled = tower.reduce(f, tower.normalize(f, three(f, square)));
        const old = twice(f, load(at(target)));
        tower.store(
          f,
          at(target),
          0,
          tower.normalize(f, sign === 1 ? tower.add(f, tripled, old) : tower.sub(f, tripled, old)),
        );
      };
      const doubledPart = (i: number): E => tower.normalize(f, twice(f, load(cells(i + 3))));
      combine(0, load(cells(0)), -1);
      combine(3, doubledPart(0), 1);
      combine(1, tower.mulByNonResidue(f, tower.reduce(f, doubledPart(2))), 1);
      combine(4, load(cells(2)), -1);
      combine(2, load(cells(1)), -1);
      combine(5, doubledPart(1), 1);
    });
  });
}

/** (sum a_i w^i)^(q^k) = sum conj^k(a_i) xi^(i (q^k - 1) / 6) w^i. */
function defineFrobenius<E>(
  module: ModuleBuilder,
  tower: TowerField<E>,
  { prime, nonResidue }: TargetFieldOptions,
): void {
  for (const k of FROBENIUS_POWERS) {
    module.define({ name: `gt_frobenius_${String(k)}`, params: ["i32", "i32"] }, (f, target, a) => {
      for (let i = 0; i < COEFFICIENTS; i += 1) {
        const factor = powerFq2(nonResidue, (BigInt(i) * (prime ** BigInt(k) - 1n)) / BigInt(COEFFICIENTS), prime);
        const loaded = tower.load(f, a, i * tower.blockBytes);
        const value = k % 2 === 0 ? loaded : tower.conjugate(f, loaded);
        tower.store(
          f,
          target,
          i * tower.blockBytes,
          i === 0 ? value : tower.mul(f, value, tower.constant(f, [factor.c0, factor.c1])),
        );
      }
    });
  }
}

/**
 * 1 / a = a' / (a a') with a' the conjugate over Fq6; the norm a a' = g0 + g2 v + g4 v^2, v = w^2, is inverted over
 * Fq2.
 */
function defineInverse<E>(
  module: ModuleBuilder,
  tower: TowerField<E>,
  sums: Sums,
  cells: (i: number) => Address,
): void {
  module.define({ name: "gt_invert", params: ["i32", "i32"] }, (f, target, a) => {
    const at = (i: number): Address => coefficient(f, tower, a, i);
    const copy = (to: Address, from: Address, sign: 1 | -1): void => {
      const value = tower.load(f, from, 0);
      tower.store(f, to, 0, sign === 1 ? value : negated(f, tower, value));
    };
    // a a' has no odd coefficients. Cells 0 to 5: xi a_j and -xi a_j for the conjugate; 6 to 8: the norm.
    const minus = (i: number): Address => coefficient(f, tower, target, i);
    for (let i = 0; i < COEFFICIENTS; i += 1) copy(minus(i), at(i), i % 2 === 0 ? 1 : -1);
    for (let i = 1; i < COEFFICIENTS; i += 1) timesNonResidue(f, tower, cells(i), minus(i));
    for (const [cell, k] of [
      [6, 0],
      [7, 2],
      [8, 4],
    ] as const) {
      sums.six.call(
        f,
        cells(cell),
        indices().map((i) => {
          const j = (k - i + COEFFICIENTS) % COEFFICIENTS;
          return [at(i), i + j < COEFFICIENTS ? minus(j) : cells(j)];
        }),
      );
    }
    const [g0, g2, g4] = [cells(6), cells(7), cells(8)];
    // A = g0^2 - xi g2 g4, B = xi g4^2 - g0 g2, C = g2^2 - g0 g4 in cells 9 to 11; F = g0 A + xi (g4 B + g2 C) in cell
    // 12.
    const [xiG2, xiG4, minusG0, minusXiG2] = [cells(0), cells(1), cells(2), cells(3)];
    timesNonResidue(f, tower, xiG2, g2);
    timesNonResidue(f, tower, xiG4, g4);
    copy(minusG0, g0, -1);
    copy(minusXiG2, xiG2, -1);
    sums.two.call(f, cells(9), [
      [g0, g0],
      [minusXiG2, g4],
    ]);
    sums.two.call(f, cells(10), [
      [xiG4, g4],
      [minusG0, g2],
    ]);
    sums.two.call(f, cells(11), [
      [g2, g2],
      [minusG0, g4],
    ]);
    sums.three.call(f, cells(12), [
      [g0, cells(9)],
      [xiG4, cells(10)],
      [xiG2, cells(11)],
    ]);
    tower.invert(f, { target: cells(12), source: cells(12), scratch: cells(13) });
    for (const i of [9, 10, 11]) sums.one.call(f, cells(i), [[cells(i), cells(12)]]);
    // a' times A + B v + C v^2; the conjugate lies in the target.
    emitTimesEven(f, tower, target, { sums, cells });
  });
}

/** target := target * (cells 9, 10, 11 as coefficients of w^0, w^2, w^4). */
function emitTimesEven<E>(
  f: FunctionBuilder,
  tower: TowerField<E>,
  target: Address,
  { sums, cells }: { readonly sums: Sums; readonly cells: (i: number) => Address },
): void {
  const [x0, x2, x4, xi2, xi4] = [cells(9), cells(10), cells(11), cells(12), cells(13)];
  timesNonResidue(f, tower, xi2, x2);
  timesNonResidue(f, tower, xi4, x4);
  for (const odd of [0, 1]) {
    const [p, q, r] = [0, 2, 4].map((i) => coefficient(f, tower, target, i + odd)) as [Address, Address, Address];
    sums.three.call(f, cells(0), [
      [p, x0],
      [q, xi4],
      [r, xi2],
    ]);
    sums.three.call(f, cells(1), [
      [p, x2],
      [q, x0],
      [r, xi4],
    ]);
    sums.three.call(f, cells(2), [
      [p, x4],
      [q, x2],
      [r, x0],
    ]);
    for (const [i, to] of [p, q, r].entries()) f.run(memoryCopy(to, cells(i), i32.const(tower.blockBytes)));
  }
}

/** Returns the address of a coefficient of an element, computed once. */
export function coefficient<E>(f: FunctionBuilder, tower: TowerField<E>, element: Address, index: number): Address {
  return index === 0 ? element : f.let(i32.add(element, i32.const(index * tower.blockBytes)));
}

/** Emits target := xi source, both addresses of blocks. */
export function timesNonResidue<E>(f: FunctionBuilder, tower: TowerField<E>, target: Address, source: Address): void {
  tower.store(f, target, 0, tower.mulByNonResidue(f, tower.load(f, source, 0)));
}

function negated<E>(f: FunctionBuilder, tower: TowerField<E>, a: E): E {
  return tower.normalize(f, tower.sub(f, tower.constant(f, [0n, 0n]), a));
}

function indices(): number[] {
  return Array.from({ length: COEFFICIENTS }, (_, i) => i);
}
