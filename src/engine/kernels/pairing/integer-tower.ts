/** Fq2 for the pairing on 64-bit integers: the quadratic extension of quadratic-field.ts, at rest c0 || c1. */
import { QuadraticField } from "../field/quadratic-field.js";
import type { IntegerElement, IntegerField } from "../field/integer-field.js";
import type { Address, Product } from "../field/field.js";
import type { Inversion } from "../field/inversion.js";
import type { QuadraticElement } from "../field/quadratic-field.js";
import type { FunctionBuilder } from "../wasm/wasm-builder.js";
import type { SmallMultiple, StoredProduct, TowerField } from "./tower-field.js";

type E = QuadraticElement<IntegerElement>;

interface IntegerTowerOptions {
  /** n of the non-residue n + u. */
  readonly nonResidue: number;
  /** Inversion in Fq2. */
  readonly inversion: Inversion;
}

/** Fq2 as two elements of Fq. */
export class IntegerTower implements TowerField<E> {
  readonly blockBytes: number;
  readonly nonResidue: number;
  readonly inversionScratchBytes: number;
  readonly #field: QuadraticField<IntegerElement>;
  readonly #options: IntegerTowerOptions;

  constructor(base: IntegerField, options: IntegerTowerOptions) {
    this.#field = new QuadraticField(base);
    this.#options = options;
    this.blockBytes = this.#field.elementBytes;
    this.nonResidue = options.nonResidue;
    this.inversionScratchBytes = options.inversion.scratchBytes;
  }

  /** Loads both coefficients of an element at rest; they are reduced. */
  load(f: FunctionBuilder, address: Address, offset: number): E {
    return this.#field.loadBlock(f, address, offset, this.#field.reducedMax);
  }

  /** Reduces and writes. */
  store(f: FunctionBuilder, address: Address, offset: number, element: E): void {
    this.#field.storeBlock(f, address, offset, this.#field.reduce(f, element));
  }

  /** Takes c0 and c1 as plain integers. */
  constant(f: FunctionBuilder, coefficients: readonly [bigint, bigint]): E {
    return this.#field.constant(f, coefficients);
  }

  /** Adds and normalises: a column of products has no room for wider limbs. */
  add(f: FunctionBuilder, a: E, b: E): E {
    return this.#field.normalize(f, this.#field.add(f, a, b));
  }

  /** Subtracts and normalises. */
  sub(f: FunctionBuilder, a: E, b: E): E {
    return this.#field.normalize(f, this.#field.sub(f, a, b));
  }

  /** Normalises both coefficients. */
  normalize(f: FunctionBuilder, a: E): E {
    return this.#field.normalize(f, a);
  }

  /** Reduces both coefficients. */
  reduce(f: FunctionBuilder, a: E): E {
    return this.#field.reduce(f, a);
  }

  /** Adds up products, each reduced by itself: three of them do not fit into a column of 64 bits. */
  sumOfProducts(f: FunctionBuilder, products: readonly Product<E>[]): E {
    let sum: E | undefined;
    for (const { a, b, negate } of products) {
      const product = this.#field.mul(f, a, b);
      if (sum === undefined) sum = negate === true ? this.sub(f, this.#field.constant(f, [0n, 0n]), product) : product;
      else sum = negate === true ? this.sub(f, sum, product) : this.add(f, sum, product);
    }
    if (sum === undefined) throw new Error("a sum without products");
    return sum;
  }

  /** Loads the factors and adds up their products, each reduced by itself. */
  sumOfStoredProducts(f: FunctionBuilder, products: readonly StoredProduct[]): E {
    return this.sumOfProducts(
      f,
      products.map(({ a, b, isDouble }) => {
        const left = this.load(f, a, 0);
        return { a: isDouble ? this.add(f, left, left) : left, b: this.load(f, b, 0) };
      }),
    );
  }

  /** Multiplies and reduces. */
  mul(f: FunctionBuilder, a: E, b: E): E {
    return this.#field.mul(f, a, b);
  }

  /** Squares and reduces. */
  square(f: FunctionBuilder, a: E): E {
    return this.#field.square(f, a);
  }

  /** Multiplies coefficient by coefficient. */
  mulCoefficients(f: FunctionBuilder, a: E, b: E): E {
    return { c0: this.#field.base.mul(f, a.c0, b.c0), c1: this.#field.base.mul(f, a.c1, b.c1) };
  }

  /** Negates c1. */
  conjugate(f: FunctionBuilder, a: E): E {
    const zero = this.#field.base.constant(f, [0n]);
    return { c0: a.c0, c1: this.#field.base.normalize(f, this.#field.base.sub(f, zero, a.c1)) };
  }

  /** Returns (-c1, c0). */
  timesU(f: FunctionBuilder, { c0, c1 }: E): E {
    const { base } = this.#field;
    return { c0: base.normalize(f, base.sub(f, base.constant(f, [0n]), c1)), c1: c0 };
  }

  /** Adds each as often as it counts. */
  combination(f: FunctionBuilder, terms: readonly SmallMultiple<E>[]): E {
    let sum: E | undefined;
    for (const { value, times } of terms) {
      const [count = 0] = times;
      for (let i = 0; i < Math.abs(count); i += 1)
        sum = count < 0 ? this.#field.sub(f, sum ?? this.#field.constant(f, [0n]), value) : this.#sum(f, sum, value);
    }
    if (sum === undefined) throw new Error("a sum without terms");
    return this.#field.reduce(f, this.#field.normalize(f, sum));
  }

  /** Tests both coefficients. */
  isZero(f: FunctionBuilder, a: E): Address {
    return this.#field.isZero(f, a);
  }

  /** Inverts in Fq2 and reduces. */
  invert(
    f: FunctionBuilder,
    { target, source, scratch }: { readonly target: Address; readonly source: Address; readonly scratch: Address },
  ): void {
    f.call(this.#options.inversion.handle, [target, source, scratch]);
    this.store(f, target, 0, this.#field.loadBlock(f, target, 0, this.#field.productMax));
  }

  #sum(f: FunctionBuilder, sum: E | undefined, value: E): E {
    return sum === undefined ? value : this.#field.add(f, sum, value);
  }
}
