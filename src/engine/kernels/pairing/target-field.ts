/**
 * Defines the arithmetic of Fq12 that a pairing needs, as functions over memory. Fq12 = Fq2[w] / (w^6 - xi); an element
 * is its six coefficients from w^0 to w^5, each a reduced block. The scratch holds nothing between calls.
 */
import { powerFq2 } from "../../field/prime-field.js";
import type { Fq2 } from "../../field/prime-field.js";
import type { Address } from "../field/field.js";
import type { FunctionBuilder, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32, memoryCopy } from "../wasm/wasm-ops.js";
import { nonResidueJob } from "./tower-blocks.js";
import type { BlockProduct, CombinationJob, SumJob, TowerBlocks } from "./tower-blocks.js";
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

/** An element's coefficients, or cells of scratch, by number. */
type Cells = (index: number) => Address;

/**
 * Defines, with addresses of elements; results are reduced:
 * - what `defineTargetProducts` defines;
 * - `gt_invert` (target, a): the target must not overlap what is read;
 * - `gt_conjugate` (target, a), `gt_frobenius_1` to `gt_frobenius_3` (target, a): the target may be the same element;
 * - `gt_is_one` (a) -> 1 or 0.
 */
export function defineTargetField<E>(
  module: ModuleBuilder,
  tower: TowerField<E>,
  blocks: TowerBlocks,
  options: TargetFieldOptions,
): void {
  defineTargetProducts(module, blocks, options);
  defineFrobenius(module, tower, options);
  defineInverse(module, blocks, cellsAt(blocks, options.scratch));
  module.define({ name: "gt_conjugate", params: ["i32", "i32"] }, (f, target, a) => {
    const [to, from] = [target, a].map((element) => coefficientsOf(f, blocks, element)) as [Cells, Cells];
    blocks.combinations(
      f,
      indices().map((i) => ({ target: to(i), terms: [{ source: from(i), times: sign(i) }] })),
    );
  });
  module.define({ name: "gt_is_one", params: ["i32"], results: ["i32"] }, (f, a) => {
    const flags = indices().map((i) => {
      const value = tower.load(f, a, i * tower.blockBytes);
      return f.let(
        tower.isZero(f, i === 0 ? tower.normalize(f, tower.sub(f, value, tower.constant(f, [1n, 0n]))) : value),
      );
    });
    f.return(flags.reduce<Address>((x, y) => i32.and(x, y), i32.const(1)));
  });
}

/**
 * Defines, with addresses of elements; results are reduced:
 * - `gt_mul` (target, a, b), `gt_square` (target, a): the target must not overlap what is read;
 * - `gt_cyclotomic_square` (element, times): squares an element of the cyclotomic subgroup in place, so many times.
 */
export function defineTargetProducts(
  module: ModuleBuilder,
  blocks: TowerBlocks,
  { scratch }: Pick<TargetFieldOptions, "scratch">,
): void {
  const cells = cellsAt(blocks, scratch);
  module.define({ name: "gt_mul", params: ["i32", "i32", "i32"] }, (f, target, a, b) => {
    const [to, left, right] = [target, a, b].map((element) => coefficientsOf(f, blocks, element)) as [
      Cells,
      Cells,
      Cells,
    ];
    // xi b1 ... xi b5 in cells 1 to 5: the factors of products that pass w^5.
    blocks.combinations(
      f,
      [1, 2, 3, 4, 5].map((i) => nonResidueJob(blocks, cells(i), right(i))),
    );
    blocks.sums(
      f,
      [0, 3, 1, 4, 2, 5].map((k) => ({ target: to(k), products: productTerms(k, left, right, cells) })),
    );
  });
  module.define({ name: "gt_square", params: ["i32", "i32"] }, (f, target, a) => {
    const [to, at] = [target, a].map((element) => coefficientsOf(f, blocks, element)) as [Cells, Cells];
    blocks.combinations(
      f,
      [3, 4, 5].map((i) => nonResidueJob(blocks, cells(i), at(i))),
    );
    blocks.sums(
      f,
      [0, 2, 1, 3, 4, 5].map((k) => ({ target: to(k), products: squareTerms(k, at, cells) })),
    );
  });
  defineCyclotomicSquare(module, blocks, cells);
}

/** a_i b_j for i + j = k, and a_i (xi b_j) for i + j = k + 6, with xi b_j in cell j. */
function productTerms(k: number, left: Cells, right: Cells, cells: Cells): BlockProduct[] {
  return indices().map((i) => {
    const j = (k - i + COEFFICIENTS) % COEFFICIENTS;
    return { a: left(i), b: i + j < COEFFICIENTS ? right(j) : cells(j) };
  });
}

/** As `productTerms` of an element with itself: products of different coefficients once, and twice as much. */
function squareTerms(k: number, at: Cells, cells: Cells): BlockProduct[] {
  return indices().flatMap((i): BlockProduct[] => {
    const j = (k - i + COEFFICIENTS) % COEFFICIENTS;
    if (j < i) return [];
    return [{ a: at(i), b: i + j < COEFFICIENTS ? at(j) : cells(j), isDouble: i < j }];
  });
}

/**
 * R. Granger, M. Scott, "Faster squaring in the cyclotomic subgroup of sixth degree extensions" (eprint 2009/565),
 * section 3: with s = w^3 and a = A + B w + C w^2 over Fq4 = Fq2[s], a^2 = (3 A^2 - 2 A') + (3 s C^2 + 2 B') w + (3 B^2
 * - 2 C') w^2, ' taking s to -s.
 */
function defineCyclotomicSquare(module: ModuleBuilder, blocks: TowerBlocks, cells: Cells): void {
  // C = a2 + a5 s first, which is turned once more.
  const parts = [2, 0, 1] as const;
  // Of the parts' squares what is without s and what is with it, and xi times the latter of C.
  const [even, odd, xi] = [0, 3, 6].map((first) => (i: number) => cells(first + i)) as [Cells, Cells, Cells];
  const turned = cells(9);
  const multiples = (target: Address, ...terms: readonly (readonly [number, Address])[]): CombinationJob => ({
    target,
    terms: terms.map(([times, source]) => ({ source, times })),
  });
  module.define({ name: "gt_cyclotomic_square", params: ["i32", "i32"] }, (f, a, times) => {
    const at = coefficientsOf(f, blocks, a);
    const evenJob = (i: number): SumJob => ({
      target: even(i),
      products: [
        { a: at(i), b: at(i) },
        { a: at(i + 3), b: xi(i) },
      ],
    });
    const oddJob = (i: number): SumJob => ({
      target: odd(i),
      products: [{ a: at(i), b: at(i + 3), isDouble: true }],
    });
    f.for(i32.const(0), times, 1, () => {
      blocks.combinations(
        f,
        parts.map((i) => nonResidueJob(blocks, xi(i), at(i + 3))),
      );
      blocks.sums(f, [evenJob(2), oddJob(2), evenJob(0), evenJob(1), oddJob(0), oddJob(1)]);
      blocks.combinations(f, [
        nonResidueJob(blocks, turned, odd(2)),
        multiples(at(0), [3, even(0)], [-2, at(0)]),
        multiples(at(2), [3, even(1)], [-2, at(2)]),
        multiples(at(3), [3, odd(0)], [2, at(3)]),
        multiples(at(5), [3, odd(1)], [2, at(5)]),
        multiples(at(4), [3, even(2)], [-2, at(4)]),
        multiples(at(1), [3, turned], [2, at(1)]),
      ]);
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
function defineInverse(module: ModuleBuilder, blocks: TowerBlocks, cells: Cells): void {
  module.define({ name: "gt_invert", params: ["i32", "i32"] }, (f, target, a) => {
    const at = coefficientsOf(f, blocks, a);
    // a a' has no odd coefficients. Cells 0 to 5: xi a_j and -xi a_j for the conjugate; 6 to 8: the norm.
    const minus = coefficientsOf(f, blocks, target);
    const copy = (to: Address, from: Address, times: 1 | -1) => ({ target: to, terms: [{ source: from, times }] });
    blocks.combinations(
      f,
      indices().map((i) => copy(minus(i), at(i), sign(i))),
    );
    blocks.combinations(
      f,
      [1, 2, 3, 4, 5].map((i) => nonResidueJob(blocks, cells(i), minus(i))),
    );
    blocks.sums(
      f,
      [0, 2, 4].map((k) => ({ target: cells(6 + k / 2), products: productTerms(k, at, minus, cells) })),
    );
    const [g0, g2, g4] = [cells(6), cells(7), cells(8)];
    // A = g0^2 - xi g2 g4, B = xi g4^2 - g0 g2, C = g2^2 - g0 g4 in cells 9 to 11; F = g0 A + xi (g4 B + g2 C) in cell
    // 12.
    const [xiG2, xiG4, minusG0, minusXiG2] = [cells(0), cells(1), cells(2), cells(3)];
    blocks.combinations(f, [nonResidueJob(blocks, xiG2, g2), nonResidueJob(blocks, xiG4, g4)]);
    blocks.combinations(f, [copy(minusG0, g0, -1), copy(minusXiG2, xiG2, -1)]);
    const sum = (to: Address, ...products: readonly (readonly [Address, Address])[]): SumJob => ({
      target: to,
      products: products.map(([left, right]) => ({ a: left, b: right })),
    });
    blocks.sums(f, [
      sum(cells(9), [g0, g0], [minusXiG2, g4]),
      sum(cells(10), [xiG4, g4], [minusG0, g2]),
      sum(cells(11), [g2, g2], [minusG0, g4]),
    ]);
    blocks.sums(f, [sum(cells(12), [g0, cells(9)], [xiG4, cells(10)], [xiG2, cells(11)])]);
    blocks.invert(f, { target: cells(12), source: cells(12), scratch: cells(13) });
    blocks.sums(
      f,
      [9, 10, 11].map((i) => sum(cells(i), [cells(i), cells(12)])),
    );
    // a' times A + B v + C v^2; the conjugate lies in the target.
    emitTimesEven(f, blocks, minus, cells);
  });
}

/** value := value * (cells 9, 10, 11 as coefficients of w^0, w^2, w^4). */
function emitTimesEven(f: FunctionBuilder, blocks: TowerBlocks, value: Cells, cells: Cells): void {
  const [x0, x2, x4, xi2, xi4] = [cells(9), cells(10), cells(11), cells(12), cells(13)];
  blocks.combinations(f, [nonResidueJob(blocks, xi2, x2), nonResidueJob(blocks, xi4, x4)]);
  const factors = [
    [x0, xi4, xi2],
    [x2, x0, xi4],
    [x4, x2, x0],
  ] as const;
  for (const odd of [0, 1]) {
    const parts = [0, 2, 4].map((i) => value(i + odd)) as [Address, Address, Address];
    blocks.sums(
      f,
      factors.map((row, i) => ({ target: cells(i), products: row.map((b, j) => ({ a: parts[j] as Address, b })) })),
    );
    for (const [i, to] of parts.entries()) f.run(memoryCopy(to, cells(i), i32.const(blocks.blockBytes)));
  }
}

/** Returns the addresses of an element's coefficients, each computed once. */
export function coefficientsOf(
  f: FunctionBuilder,
  { blockBytes }: Pick<TowerBlocks, "blockBytes">,
  element: Address,
): Cells {
  const addresses = indices().map((i) => (i === 0 ? element : f.let(i32.add(element, i32.const(i * blockBytes)))));
  return (i) => {
    const address = addresses[i];
    if (address === undefined) throw new Error("there is no such coefficient");
    return address;
  };
}

/** Returns the addresses of blocks that follow each other at a fixed place, each one the same expression always. */
export function cellsAt({ blockBytes }: Pick<TowerBlocks, "blockBytes">, first: number): Cells {
  const addresses = new Map<number, Address>();
  return (i) => {
    const known = addresses.get(i) ?? i32.const(first + i * blockBytes);
    addresses.set(i, known);
    return known;
  };
}

function sign(i: number): 1 | -1 {
  return i % 2 === 0 ? 1 : -1;
}

function indices(): number[] {
  return Array.from({ length: COEFFICIENTS }, (_, i) => i);
}
