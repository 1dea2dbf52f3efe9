/**
 * Defines sums of products of Fq2 elements in memory as functions: every product of the tower is one of them per
 * coefficient, with a single reduction for the whole sum (D. Aranha, K. Karabina, P. Longa, C. Gebotys, J. Lopez,
 * "Faster explicit formulas for computing pairings over ordinary curves", eprint 2010/526, section 4: lazy reduction).
 */
import type { Address } from "../field/field.js";
import type { FunctionBuilder, FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import type { TowerField } from "./tower-field.js";

interface SumOptions {
  readonly name: string;
  /** One for each product: 2 counts it twice. */
  readonly factors: readonly (1 | 2)[];
  /** Whether an element is added to the products. */
  readonly hasAddend?: boolean;
}

/**
 * A sum of products ready to be called: (target, [addend,] a1, b1, a2, b2, ...). The target may be one of the factors.
 */
export class SumOfProducts {
  readonly #handle: FunctionHandle;

  constructor(handle: FunctionHandle) {
    this.#handle = handle;
  }

  /** Emits a call of the sum; `factors` has the addresses of one pair for each product. */
  call(f: FunctionBuilder, target: Address, factors: readonly (readonly [Address, Address])[], addend?: Address): void {
    f.call(this.#handle, [target, ...(addend === undefined ? [] : [addend]), ...factors.flat()]);
  }
}

/** Defines a sum of products inside the module; target and factors are addresses of reduced blocks. */
export function defineSumOfProducts<E>(
  module: ModuleBuilder,
  tower: TowerField<E>,
  options: SumOptions,
): SumOfProducts {
  const { name, factors, hasAddend = false } = options;
  const params = Array.from({ length: 1 + (hasAddend ? 1 : 0) + 2 * factors.length }, () => "i32" as const);
  const handle = module.define({ name, params, exported: false }, (f, ...locals) => {
    const [target, ...rest] = locals;
    const operands = hasAddend ? rest.slice(1) : rest;
    const at = (index: number): Address => required(operands[index]);
    const sum = tower.sumOfStoredProducts(
      f,
      factors.map((factor, i) => ({ a: at(2 * i), b: at(2 * i + 1), isDouble: factor === 2 })),
    );
    tower.store(
      f,
      required(target),
      0,
      hasAddend ? tower.normalize(f, tower.add(f, sum, tower.load(f, required(rest[0]), 0))) : sum,
    );
  });
  return new SumOfProducts(handle);
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a parameter is missing");
  return value;
}
