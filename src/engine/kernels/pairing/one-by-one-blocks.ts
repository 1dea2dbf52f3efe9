/** Arithmetic on elements of Fq2 at rest, one job at a time: on any tower, in functions of one half. */
import type { Fq2 } from "../../field/prime-field.js";
import type { Address } from "../field/field.js";
import type { FunctionBuilder, FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import type { CombinationJob, ScalingJob, SquareJob, SumJob, TowerBlocks } from "./tower-blocks.js";
import type { TowerField } from "./tower-field.js";

/**
 * Products are calls of functions of the module, defined where a job first needs one: every sum of products has a
 * single reduction for the whole sum (D. Aranha, K. Karabina, P. Longa, C. Gebotys, J. Lopez, "Faster explicit formulas
 * for computing pairings over ordinary curves", eprint 2010/526, section 4: lazy reduction).
 */
export class OneByOneBlocks<E> implements TowerBlocks {
  readonly atOnce = 1;
  readonly blockBytes: number;
  readonly nonResidue: number;
  readonly inversionScratchBytes: number;
  readonly #module: ModuleBuilder;
  readonly #tower: TowerField<E>;
  readonly #functions = new Map<string, FunctionHandle>();

  constructor(module: ModuleBuilder, tower: TowerField<E>) {
    this.#module = module;
    this.#tower = tower;
    this.blockBytes = tower.blockBytes;
    this.nonResidue = tower.nonResidue;
    this.inversionScratchBytes = tower.inversionScratchBytes;
  }

  /** Calls the function of each sum's form: (target, [addend,] a1, b1, a2, b2, ...). */
  sums(f: FunctionBuilder, jobs: readonly SumJob[]): void {
    for (const job of jobs) {
      const { target, products, addend } = job;
      f.call(this.#sumLike(job), [
        target,
        ...(addend === undefined ? [] : [addend]),
        ...products.flatMap(({ a, b }) => [a, b]),
      ]);
    }
  }

  /** Calls one function. */
  squares(f: FunctionBuilder, jobs: readonly SquareJob[]): void {
    const tower = this.#tower;
    const handle = this.#function("fq2_square", 2, (g, [target, source]) => {
      tower.store(g, required(target), 0, tower.square(g, tower.load(g, required(source), 0)));
    });
    for (const { target, source } of jobs) f.call(handle, [target, source]);
  }

  /** Inlines each. */
  combinations(f: FunctionBuilder, jobs: readonly CombinationJob[]): void {
    const tower = this.#tower;
    for (const { target, terms } of jobs) {
      const values = terms.map(({ source, times, isTurned }) => {
        const value = tower.load(f, source, 0);
        return { value: isTurned === true ? tower.timesU(f, value) : value, times: [times] };
      });
      tower.store(f, target, 0, tower.combination(f, values));
    }
  }

  /** Inlines each. */
  scalings(f: FunctionBuilder, jobs: readonly ScalingJob[]): void {
    const tower = this.#tower;
    for (const { target, a, b } of jobs)
      tower.store(f, target, 0, tower.mulCoefficients(f, tower.load(f, a, 0), tower.load(f, b, 0)));
  }

  /** Stores the constant's two coefficients. */
  storeConstant(f: FunctionBuilder, target: Address, { c0, c1 }: Fq2): void {
    this.#tower.store(f, target, 0, this.#tower.constant(f, [c0, c1]));
  }

  /** Tests both coefficients. */
  isZero(f: FunctionBuilder, block: Address): Address {
    return this.#tower.isZero(f, this.#tower.load(f, block, 0));
  }

  /** Inverts as the tower does. */
  invert(
    f: FunctionBuilder,
    addresses: { readonly target: Address; readonly source: Address; readonly scratch: Address },
  ): void {
    this.#tower.invert(f, addresses);
  }

  /** Returns the function of sums that have the form of this one. */
  #sumLike({ products, addend }: SumJob): FunctionHandle {
    const tower = this.#tower;
    const added = addend === undefined ? 0 : 1;
    const form = products.map(({ isDouble }) => (isDouble === true ? 2 : 1)).join("");
    const name = `fq2_sum_${form}${added === 1 ? "_added" : ""}`;
    return this.#function(name, 1 + added + 2 * products.length, (f, [target, ...rest]) => {
      const operands = rest.slice(added);
      const sum = tower.sumOfStoredProducts(
        f,
        products.map(({ isDouble = false }, i) => ({
          a: required(operands[2 * i]),
          b: required(operands[2 * i + 1]),
          isDouble,
        })),
      );
      tower.store(f, required(target), 0, added === 1 ? tower.add(f, sum, tower.load(f, required(rest[0]), 0)) : sum);
    });
  }

  /** Returns the function of that name, which takes so many addresses; defined once. */
  #function(name: string, count: number, build: (f: FunctionBuilder, params: readonly Address[]) => void) {
    let handle = this.#functions.get(name);
    if (handle === undefined) {
      const params = Array.from({ length: count }, () => "i32" as const);
      handle = this.#module.define({ name, params, exported: false }, (f, ...locals) => build(f, locals));
      this.#functions.set(name, handle);
    }
    return handle;
  }
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a parameter is missing");
  return value;
}
