/**
 * Fq2 on fused multiply-add with the two coefficients of one element side by side in a vector, so that a single pairing
 * keeps both lanes busy: (a0 + a1 u)(b0 + b1 u) = a0 (b0, b1) + a1 (-b1, b0), two products of vectors and one
 * reduction. At rest limb by limb, c0 beside c1: the block of fma-field.ts.
 */
import { f64x2, i32, perHalf, v128 } from "../wasm/wasm-ops.js";
import type { FmaElement } from "../field/fma-arithmetic.js";
import type { FmaField } from "../field/fma-field.js";
import type { Address, Product } from "../field/field.js";
import type { Inversion } from "../field/inversion.js";
import type { FunctionBuilder } from "../wasm/wasm-builder.js";
import type { Expression } from "../wasm/wasm-ops.js";
import type { SmallMultiple, StoredProduct, TowerField } from "./tower-field.js";

const LOW_TWICE = [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7];
const HIGH_TWICE = [8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15];
const SWAPPED = [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7];
/** Low lane of the first operand, high lane of the second. */
const LOW_THEN_HIGH = [0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31];
const SIGN = 1n << 63n;
/** Integers up to here are exact in a double. */
const EXACT_MAX = 1n << 53n;

export interface FmaTowerOptions {
  /** n of the non-residue n + u. */
  readonly nonResidue: number;
  readonly inversion: Inversion;
  /** Address of `fmaTowerScratchBytes` bytes, which hold nothing between operations. */
  readonly scratch: number;
}

/** Number of products of the longest sum. */
const SUM_MAX = 6;

/** Returns the bytes of scratch that a tower over this field needs. */
export function fmaTowerScratchBytes(base: FmaField): number {
  return 2 * SUM_MAX * 2 * base.elementBytes;
}

/** Fq2 with c0 in the low lane and c1 in the high one. */
export class FmaTower implements TowerField<FmaElement> {
  readonly blockBytes: number;
  readonly nonResidue: number;
  readonly inversionScratchBytes: number;
  readonly #base: FmaField;
  readonly #options: FmaTowerOptions;

  constructor(base: FmaField, options: FmaTowerOptions) {
    this.#base = base;
    this.#options = options;
    this.blockBytes = 2 * base.elementBytes;
    this.nonResidue = options.nonResidue;
    this.inversionScratchBytes = this.blockBytes + options.inversion.scratchBytes;
  }

  /** Loads both coefficients of an element at rest; they are reduced. */
  load(f: FunctionBuilder, address: Address, offset: number): FmaElement {
    return this.#base.loadBlock(f, address, offset, this.#base.reducedMax);
  }

  /** Reduces, unless the element is known to be reduced, and writes. */
  store(f: FunctionBuilder, address: Address, offset: number, element: FmaElement): void {
    this.#base.storeBlock(f, address, offset, this.reduce(f, element));
  }

  /** Puts c0 into the low lane and c1 into the high one. */
  constant(f: FunctionBuilder, [c0, c1]: readonly [bigint, bigint]): FmaElement {
    return shuffled(f, this.#base.constant(f, [c0]), this.#base.constant(f, [c1]), LOW_THEN_HIGH);
  }

  /** Adds limb by limb. */
  add(f: FunctionBuilder, a: FmaElement, b: FmaElement): FmaElement {
    return this.#base.add(f, a, b);
  }

  /** Subtracts limb by limb. */
  sub(f: FunctionBuilder, a: FmaElement, b: FmaElement): FmaElement {
    return this.#base.sub(f, a, b);
  }

  /** Carries from limb to limb. */
  normalize(f: FunctionBuilder, a: FmaElement): FmaElement {
    return this.#base.normalize(f, a);
  }

  /** Reduces, unless the bounds of the element show that it is reduced, and normalises only where that must be. */
  reduce(f: FunctionBuilder, a: FmaElement): FmaElement {
    if (a.max <= this.#base.reducedMax && this.#isNormal(a)) return a;
    return this.#base.reduce(f, this.#base.isReducible(a) ? a : this.#base.normalize(f, a));
  }

  /** Adds up two products of vectors for each product: the low lane of a times b, and the high lane of a times u b. */
  sumOfProducts(f: FunctionBuilder, products: readonly Product<FmaElement>[]): FmaElement {
    return this.#base.sumOfProducts(
      f,
      products.flatMap(({ a, b, negate = false }) => [
        { a: shuffled(f, a, a, LOW_TWICE), b, negate },
        { a: shuffled(f, a, a, HIGH_TWICE), b: timesU(f, b), negate },
      ]),
    );
  }

  /** Adds up with factors that are loaded where they are used. */
  sumOfStoredProducts(f: FunctionBuilder, products: readonly StoredProduct[]): FmaElement {
    const base = this.#base;
    const { scratch } = this.#options;
    const place = (i: number): Address => i32.const(scratch + i * this.blockBytes);
    // u b of each product, and 2 b where it counts twice, lie in scratch.
    const factors = products.flatMap(({ a, b, isDouble }, i) => {
      const loaded = this.load(f, b, 0);
      const right = isDouble ? this.normalize(f, this.add(f, loaded, loaded)) : loaded;
      const [turned, doubled] = [place(2 * i), place(2 * i + 1)];
      base.storeBlock(f, turned, 0, timesU(f, right));
      if (isDouble) base.storeBlock(f, doubled, 0, right);
      return [
        { a: base.factor(a, base.reducedMax, 0), b: base.factor(isDouble ? doubled : b, right.max) },
        { a: base.factor(a, base.reducedMax, 1), b: base.factor(turned, right.max) },
      ];
    });
    return base.sumOfProducts(f, factors);
  }

  /** Multiplies and reduces. */
  mul(f: FunctionBuilder, a: FmaElement, b: FmaElement): FmaElement {
    return this.#base.reduce(f, this.sumOfProducts(f, [{ a, b }]));
  }

  /** Squares as ((c0 + c1)(c0 - c1), 2 c0 c1) and reduces. */
  square(f: FunctionBuilder, a: FmaElement): FmaElement {
    const low = shuffled(f, a, a, LOW_TWICE);
    const left = this.#base.add(f, low, shuffled(f, a, a, SWAPPED));
    // (c0 - c1, c1): only the low lane takes the difference.
    const right = this.#base.sub(f, a, masked(f, shuffled(f, a, a, HIGH_TWICE)));
    return this.#base.reduce(
      f,
      this.#base.mul(
        f,
        this.#base.normalize(f, shuffled(f, left, this.#base.add(f, low, low), LOW_THEN_HIGH)),
        this.#base.normalize(f, right),
      ),
    );
  }

  /** Multiplies lane by lane. */
  mulCoefficients(f: FunctionBuilder, a: FmaElement, b: FmaElement): FmaElement {
    return this.#base.mul(f, a, b);
  }

  /** Flips the sign of the high lane. */
  conjugate(f: FunctionBuilder, a: FmaElement): FmaElement {
    return withSigns(f, a, v128.const(0n, SIGN));
  }

  /** Swaps the lanes and flips the sign of one. */
  timesU(f: FunctionBuilder, a: FmaElement): FmaElement {
    return timesU(f, a);
  }

  /** Puts one coefficient into both lanes. */
  coefficient(f: FunctionBuilder, a: FmaElement, lane: 0 | 1): FmaElement {
    return shuffled(f, a, a, lane === 0 ? LOW_TWICE : HIGH_TWICE);
  }

  /** Returns a reduced element times a number in every lane, normalised but not reduced. */
  multiple(
    f: FunctionBuilder,
    {
      value,
      number,
      numberMax,
    }: { readonly value: FmaElement; readonly number: Expression<"v128">; readonly numberMax: bigint },
  ): FmaElement {
    const limbs = value.limbs.map(({ local, max }) => {
      if (numberMax * max > EXACT_MAX) throw new Error("a limb may leave the exact range");
      return { local: f.let(f64x2.mul(local, number)), max: numberMax * max };
    });
    return this.#base.normalize(f, { limbs, max: numberMax * value.max });
  }

  /** Carries where a limb would leave the exact range: nine times a limb would not be exact. */
  combination(f: FunctionBuilder, terms: readonly SmallMultiple<FmaElement>[]): FmaElement {
    let sum: FmaElement | undefined;
    for (const { value, times } of terms) {
      let rest = times;
      while (rest.some((each) => each !== 0)) {
        if (sum !== undefined && roomFor(sum, value) < 1) sum = this.#base.normalize(f, sum);
        const room = roomFor(sum, value);
        const share = rest.map((each) => Math.sign(each) * Math.min(Math.abs(each), room));
        sum = scaledSum(f, value, share, sum);
        rest = rest.map((each, i) => each - (share[i] ?? 0));
      }
    }
    if (sum === undefined) throw new Error("a sum without terms");
    return this.reduce(f, sum);
  }

  /** Tests both coefficients. */
  isZero(f: FunctionBuilder, a: FmaElement): Address {
    return this.#base.isZero(f, a);
  }

  /** Inverts as (c0 - c1 u) / (c0^2 + c1^2), with the norm in both lanes. */
  invert(
    f: FunctionBuilder,
    { target, source, scratch }: { readonly target: Address; readonly source: Address; readonly scratch: Address },
  ): void {
    const base = this.#base;
    const value = this.load(f, source, 0);
    base.storeBlock(f, scratch, 0, base.reduce(f, base.sumOfLanes(f, base.square(f, value))));
    f.call(this.#options.inversion.handle, [scratch, scratch, i32.add(scratch, i32.const(this.blockBytes))]);
    const inverse = base.loadBlock(f, scratch, 0, base.productMax);
    this.store(f, target, 0, base.mul(f, this.conjugate(f, value), inverse));
  }

  #isNormal(a: FmaElement): boolean {
    return a.limbs.slice(0, -1).every((limb) => limb.max <= this.#base.halfLimb);
  }
}

/** u a = (-c1, c0). */
function timesU(f: FunctionBuilder, a: FmaElement): FmaElement {
  return withSigns(f, shuffled(f, a, a, SWAPPED), v128.const(SIGN, 0n));
}

function shuffled(f: FunctionBuilder, a: FmaElement, b: FmaElement, lanes: readonly number[]): FmaElement {
  return combined(
    a,
    b,
    (x, y) => f.let(v128.shuffle(x, y, lanes)),
    (x, y) => (x > y ? x : y),
  );
}

function withSigns(f: FunctionBuilder, a: FmaElement, mask: Expression<"v128">): FmaElement {
  return combined(
    a,
    a,
    (x) => f.let(v128.xor(x, mask)),
    (x) => x,
  );
}

/** The high lane set to zero. */
function masked(f: FunctionBuilder, a: FmaElement): FmaElement {
  return combined(
    a,
    a,
    (x) => f.let(v128.and(x, v128.const((1n << 64n) - 1n, 0n))),
    (x) => x,
  );
}

/** How many times an element may be added to a sum before a limb might leave the exact range. */
function roomFor(sum: FmaElement | undefined, value: FmaElement): number {
  const rooms = value.limbs.map((limb, j) => (EXACT_MAX - (sum?.limbs[j]?.max ?? 0n)) / (limb.max + 1n));
  return Number(rooms.reduce((x, y) => (x < y ? x : y)));
}

/** times a + b, limb by limb, with a factor for each half or one for all. */
function scaledSum(f: FunctionBuilder, a: FmaElement, times: readonly number[], b: FmaElement | undefined): FmaElement {
  const [first = 0, second = first] = times;
  const factor = first === second ? f.number(first) : perHalf((half) => f64x2.constSplat(half === 0 ? first : second));
  const size = BigInt(Math.max(Math.abs(first), Math.abs(second)));
  const limbs = a.limbs.map(({ local, max }, j) => {
    const other = b?.limbs[j];
    const sum = { local: f.let(multipleSum(factor, [first, second], local, other?.local)), max: size * max };
    return other === undefined ? sum : { local: sum.local, max: sum.max + other.max };
  });
  return { limbs, max: size * a.max + (b?.max ?? 0n) };
}

function multipleSum(
  factor: Expression<"v128">,
  [first, second]: readonly [number, number],
  a: Expression<"v128">,
  b: Expression<"v128"> | undefined,
): Expression<"v128"> {
  if (b === undefined) return first === 1 && second === 1 ? a : f64x2.mul(a, factor);
  if (first === second && Math.abs(first) === 1) return first === 1 ? f64x2.add(b, a) : f64x2.sub(b, a);
  return f64x2.relaxedMadd(a, factor, b);
}

function combined(
  a: FmaElement,
  b: FmaElement,
  emit: (
    x: FmaElement["limbs"][number]["local"],
    y: FmaElement["limbs"][number]["local"],
  ) => FmaElement["limbs"][number]["local"],
  bound: (x: bigint, y: bigint) => bigint,
): FmaElement {
  const limbs = a.limbs.map((x, j) => {
    const y = b.limbs[j];
    if (y === undefined) throw new Error("limb count differs");
    return { local: emit(x.local, y.local), max: bound(x.max, y.max) };
  });
  return { limbs, max: bound(a.max, b.max) };
}
