/**
 * Emits what multiplies many points by one number, with one inversion for many points as point-batch.ts, but without
 * its lists and special cases: all points take the same steps, and the caller has made sure that none of the steps
 * meets equal or opposite points, or infinity.
 *
 * A row is the points' x as neighbouring blocks (field.ts) and their y likewise, each of `bytes` bytes. Products are
 * emitted in place here, not called: a call costs a tenth of a product. On fused multiply-add the field has four lanes
 * (kernel-module.ts): each product waits for itself, and two vectors fill each other's gaps, without V8's pairing of
 * them (wide/). Node 20 takes 5 to 12 % less time a step for that, Node 24 and 26 take 27 to 32 % less.
 */
import { inverse } from "../../field/prime-field.js";
import { differenceOf, stored } from "./affine-sum.js";
import { everyLane, halvesOf, lanesOf } from "../field/field.js";
import type { Address, PrimeField } from "../field/field.js";
import type { Inversion } from "../field/inversion.js";
import type { FunctionBuilder, ModuleBuilder } from "../wasm/wasm-builder.js";
import type { ScratchBytes } from "../wasm/scratch-bytes.js";
import { i32 } from "../wasm/wasm-ops.js";
import type { Local } from "../wasm/wasm-ops.js";

/** The curve whose points are multiplied. */
export interface PointMultiplesOptions {
  /** Prefix of the functions' names. */
  readonly name: string;
  /** Of the curve y^2 = x^3 + b (curves/curve-parameters.ts): b is small. */
  readonly b: bigint;
  readonly endomorphismFactor: bigint;
}

/** What the functions here ask of their caller. */
export interface PointMultiples {
  /** The scratch, by points. */
  readonly scratch: ScratchBytes;
}

/** Parts of the scratch behind the inversion's, each as long as a row's x. */
const SCRATCH_ROWS = 3;

/**
 * Defines, for rows of finite points:
 * - `_row_from_points` (points, x, y, bytes) and `_row_to_points` (points, x, y, bytes, negative): from and to an
 *   array of points, of the negative ones if that is 1;
 * - `_row_endomorphism` (first x, second x, source x, bytes): the x of the points times the curve's
 *   `endomorphismScalar`, and times its square; their y are those of the source;
 * - `_row_double` (x, y, bytes, scratch): doubles in place;
 * - `_row_add` (x, y, right x, right y, negative, bytes, scratch): adds the right row, or subtracts it, in place;
 * - `_row_double_add` (same): doubles and then adds, as (P + Q) + P, which takes two products less.
 */
export function definePointMultiples<E>(
  module: ModuleBuilder,
  field: PrimeField<E>,
  inversion: Inversion,
  { name, b, endomorphismFactor }: PointMultiplesOptions,
): PointMultiples {
  const block = field.blockBytes;
  const emitter = new RowEmitter(field, inversion, b);
  defineRowConversions(module, field, name);
  const images = { first: "i32", second: "i32", source: "i32", bytes: "i32" } as const;
  module.defineNamed(
    { name: `${name}_row_endomorphism`, params: images, halves: halvesOf(field) },
    (f, { first, second, source, bytes }) => {
      f.for(i32.const(0), bytes, block, (at) => {
        const x = field.loadBlock(f, i32.add(source, at), 0, field.reducedMax);
        const image = field.reduce(f, field.mul(f, x, field.constant(f, [endomorphismFactor])));
        field.storeBlock(f, i32.add(first, at), 0, image);
        // The three cube roots of one add up to 0.
        const zero = field.rawConstant(f, 0n);
        field.storeBlock(f, i32.add(second, at), 0, field.reduce(f, field.sub(f, zero, field.add(f, x, image))));
      });
    },
  );
  const row = { x: "i32", y: "i32" } as const;
  const work = { bytes: "i32", scratch: "i32" } as const;
  module.defineNamed(
    { name: `${name}_row_double`, params: { ...row, ...work }, halves: halvesOf(field) },
    (f, params) => {
      emitter.double(f, params);
    },
  );
  const sum = { ...row, rightX: "i32", rightY: "i32", negative: "i32", ...work } as const;
  module.defineNamed(
    { name: `${name}_row_add`, params: sum, halves: halvesOf(field) },
    (f, { rightX, rightY, negative, ...left }) => {
      emitter.add(f, left, { x: rightX, y: rightY, negative });
    },
  );
  module.defineNamed(
    { name: `${name}_row_double_add`, params: sum, halves: halvesOf(field) },
    (f, { rightX, rightY, negative, ...left }) => {
      emitter.doubleAdd(f, left, { x: rightX, y: rightY, negative });
    },
  );
  return {
    scratch: { base: emitter.recordsAt, perStep: SCRATCH_ROWS * block, itemsPerStep: field.lanes },
  };
}

function defineRowConversions<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const block = field.blockBytes;
  const rowMax = rowMaxOf(field);
  const addressesOf = (f: FunctionBuilder, points: Address, at: Address): Address[] =>
    lanesOf(field).map((lane) =>
      f.let(i32.add(i32.add(points, i32.shl(at, i32.const(1))), i32.const(lane * 2 * field.elementBytes))),
    );
  const array = { points: "i32", x: "i32", y: "i32", bytes: "i32" } as const;
  module.defineNamed(
    { name: `${name}_row_from_points`, params: array, halves: halvesOf(field) },
    (f, { points, x, y, bytes }) => {
      f.for(i32.const(0), bytes, block, (at) => {
        const from = addressesOf(f, points, at);
        field.storeBlock(f, i32.add(x, at), 0, field.load(f, from, 0, field.reducedMax));
        field.storeBlock(f, i32.add(y, at), 0, field.load(f, from, field.elementBytes, field.reducedMax));
      });
    },
  );
  const signed = { ...array, negative: "i32" } as const;
  module.defineNamed(
    { name: `${name}_row_to_points`, params: signed, halves: halvesOf(field) },
    (f, { points, x, y, bytes, negative }) => {
      f.for(i32.const(0), bytes, block, (at) => {
        const to = addressesOf(f, points, at);
        field.store(f, to, 0, field.reduce(f, field.loadBlock(f, i32.add(x, at), 0, rowMax)));
        const ys = field.applySigns(f, field.loadBlock(f, i32.add(y, at), 0, rowMax), everyLane(field, negative));
        field.store(f, to, field.elementBytes, field.reduce(f, ys));
      });
    },
  );
}

interface Row {
  readonly x: Address;
  readonly y: Address;
  readonly bytes: Address;
  readonly scratch: Address;
}

interface RightRow {
  readonly x: Address;
  readonly y: Address;
  /** 1 to subtract. */
  readonly negative: Address;
}

/** Where a pass through the points stands, with the product of the denominators so far, or the inverse of the rest. */
interface Pass<E> {
  readonly at: Local<"i32">;
  readonly bytes: Address;
  readonly chain: E;
}

function rowMaxOf<E>({ productMax, remainderMax, reducedMax, radix }: PrimeField<E>): bigint {
  const factorMax = ((productMax - remainderMax) * radix) / productMax - reducedMax;
  return factorMax < productMax ? factorMax : productMax;
}

class RowEmitter<E> {
  readonly #field: PrimeField<E>;
  readonly #inversion: Inversion;
  readonly #b: bigint;
  readonly #block: number;
  /** Bound of the coordinates of a row that is doubled: what a reduced one differs by is a factor beside a product. */
  readonly #rowMax: bigint;
  /** First byte of the scratch behind the inversion's. */
  readonly recordsAt: number;

  constructor(field: PrimeField<E>, inversion: Inversion, b: bigint) {
    this.#field = field;
    this.#inversion = inversion;
    this.#b = b;
    this.#block = field.blockBytes;
    this.#rowMax = rowMaxOf(field);
    this.recordsAt = this.#block + inversion.scratchBytes;
  }

  /**
   * With x^3 = y^2 - b the duplication formula (J. Silverman, "The Arithmetic of Elliptic Curves", III.2.3) has powers
   * of y alone: for j = 3 / 2 y the double's x is x (1 / 4 - b j^2), and its y is y / 8 + b j (3 / 2 - b j^2). That is
   * a square less than by the slope. The 3 / 2 goes into the product of all inverses, once for all points, and from
   * there into each; 1 / 8 is Montgomery's radix divided by 8, of which one limb is not 0 where half the prime is above
   * that. No point has order two: none does on these curves.
   */
  double(f: FunctionBuilder, { x, y, bytes, scratch }: Row): void {
    const field = this.#field;
    const fraction = (a: bigint, b: bigint) => field.constant(f, [a * inverse(b, field.prime)]);
    const pass = this.#pass(f, bytes);
    const { at, chain } = pass;
    const prefixes = f.let(i32.add(scratch, i32.const(this.recordsAt)));
    this.#upwards(f, pass, () => {
      this.#store(f, prefixes, at, chain);
      field.assign(f, chain, field.mul(f, chain, this.#loadRow(f, y, at)));
    });
    this.#invert(f, pass, scratch, (field.prime + 3n) / 2n);
    this.#downwards(f, pass, () => {
      const j = stored(f, field, field.mul(f, chain, this.#load(f, prefixes, at, field.productMax)));
      const [px, py] = [this.#loadRow(f, x, at), this.#loadRow(f, y, at)];
      field.assign(f, chain, field.mul(f, chain, py));
      const fall = field.reduce(f, field.sub(f, this.#times(f, field.square(f, j)), fraction(1n, 4n)));
      const doubleX = field.sumOfProducts(f, [{ a: px, b: fall, negate: true }]);
      this.#store(f, x, at, this.#inRow(f, doubleX));
      const rise = field.reduce(f, this.#times(f, field.sub(f, fraction(5n, 4n), fall)));
      const doubleY = field.sumOfProducts(f, [
        { a: j, b: rise },
        { a: py, b: fraction(1n, 8n) },
      ]);
      this.#store(f, y, at, this.#inRow(f, doubleY));
    });
  }

  /** The slope is (y2 - y1) / (x2 - x1). */
  add(f: FunctionBuilder, { x, y, bytes, scratch }: Row, right: RightRow): void {
    const field = this.#field;
    const pass = this.#pass(f, bytes);
    const { at, chain } = pass;
    const [prefixes, differences] = this.#scratchRows(f, scratch, bytes);
    this.#upwards(f, pass, () => {
      this.#forwardDifference(f, { x, right, prefixes, differences }, pass);
    });
    this.#invert(f, pass, scratch);
    this.#downwards(f, pass, () => {
      const inverted = stored(f, field, field.mul(f, chain, this.#load(f, prefixes, at, field.productMax)));
      field.assign(f, chain, field.mul(f, chain, this.#load(f, differences, at, this.#differenceMax)));
      const [px, py] = [this.#loadRow(f, x, at), this.#loadRow(f, y, at)];
      const slope = field.mul(f, differenceOf(f, field, this.#signedY(f, right, at), py), inverted);
      const qx = this.#load(f, right.x, at);
      const sum = field.reduce(f, field.sub(f, field.square(f, slope), field.add(f, px, qx)));
      this.#store(f, x, at, sum);
      const fall = field.mul(f, slope, differenceOf(f, field, px, sum));
      this.#store(f, y, at, field.reduce(f, field.sub(f, fall, py)));
    });
  }

  /**
   * P + Q has the slope s = (y2 - y1) / (x2 - x1) and the x3 = s^2 - x1 - x2; its y is not needed, since the slope of
   * (P + Q) + P is -s - 2 y1 / (x3 - x1) (K. Eisenträger, K. Lauter, P. Montgomery, "Fast elliptic curve arithmetic and
   * improved Weil pairing evaluation", 2003, section 2). The second batch of inversions runs through the points in the
   * other direction, so that one pass ends the first and begins the second.
   */
  doubleAdd(f: FunctionBuilder, { x, y, bytes, scratch }: Row, right: RightRow): void {
    const field = this.#field;
    const pass = this.#pass(f, bytes);
    const { at, chain } = pass;
    const [prefixes, slopes, seconds] = this.#scratchRows(f, scratch, bytes);
    this.#upwards(f, pass, () => {
      this.#forwardDifference(f, { x, right, prefixes, differences: slopes }, pass);
    });
    this.#invert(f, pass, scratch);
    const next: Pass<E> = { ...pass, chain: this.#one(f) };
    this.#downwards(f, pass, () => {
      const inverted = stored(f, field, field.mul(f, chain, this.#load(f, prefixes, at, field.productMax)));
      field.assign(f, chain, field.mul(f, chain, this.#load(f, slopes, at, this.#differenceMax)));
      const [px, py] = [this.#loadRow(f, x, at), this.#loadRow(f, y, at)];
      const rise = differenceOf(f, field, this.#signedY(f, right, at), py);
      const slope = stored(f, field, field.mul(f, rise, inverted));
      this.#store(f, slopes, at, slope);
      const qx = this.#load(f, right.x, at);
      const sum = field.reduce(f, field.sub(f, field.square(f, slope), field.add(f, px, qx)));
      const second = differenceOf(f, field, sum, px);
      this.#store(f, seconds, at, second);
      this.#store(f, prefixes, at, next.chain);
      field.assign(f, next.chain, field.mul(f, next.chain, second));
    });
    this.#invert(f, next, scratch, 2n);
    this.#upwards(f, next, () => {
      const inverted = stored(f, field, field.mul(f, next.chain, this.#load(f, prefixes, at, field.productMax)));
      const second = this.#load(f, seconds, at, this.#differenceMax);
      field.assign(f, next.chain, field.mul(f, next.chain, second));
      const [px, py] = [this.#loadRow(f, x, at), this.#loadRow(f, y, at)];
      const slope = this.#load(f, slopes, at, field.productMax);
      // The negative of the slope.
      const fall = field.reduce(f, field.add(f, slope, field.mul(f, py, inverted)));
      const others = field.add(f, field.add(f, px, px), second);
      const sum = field.reduce(f, field.sub(f, field.square(f, fall), others));
      this.#store(f, x, at, sum);
      const product = field.mul(f, fall, differenceOf(f, field, sum, px));
      this.#store(f, y, at, field.reduce(f, field.sub(f, product, py)));
    });
  }

  #forwardDifference(
    f: FunctionBuilder,
    rows: { readonly x: Address; readonly right: RightRow; readonly prefixes: Address; readonly differences: Address },
    { at, chain }: Pass<E>,
  ): void {
    const field = this.#field;
    const difference = differenceOf(f, field, this.#load(f, rows.right.x, at), this.#loadRow(f, rows.x, at));
    this.#store(f, rows.differences, at, difference);
    this.#store(f, rows.prefixes, at, chain);
    field.assign(f, chain, field.mul(f, chain, difference));
  }

  #pass(f: FunctionBuilder, bytes: Address): Pass<E> {
    return { at: f.let(i32.const(0)), bytes, chain: this.#one(f) };
  }

  #one(f: FunctionBuilder): E {
    const chain = this.#field.variable(f, this.#field.productMax);
    this.#field.assign(f, chain, this.#field.constant(f, [1n]));
    return chain;
  }

  #scratchRows(f: FunctionBuilder, scratch: Address, bytes: Address): [Address, Address, Address] {
    const first = f.let(i32.add(scratch, i32.const(this.recordsAt)));
    const second = f.let(i32.add(first, bytes));
    return [first, second, f.let(i32.add(second, bytes))];
  }

  /** From the first block to the last one. */
  #upwards(f: FunctionBuilder, { at, bytes }: Pass<E>, emit: () => void): void {
    f.while(i32.ltU(at, bytes), () => {
      emit();
      f.set(at, i32.add(at, i32.const(this.#block)));
    });
  }

  /** From the last block to the first one. */
  #downwards(f: FunctionBuilder, { at }: Pass<E>, emit: () => void): void {
    f.while(at, () => {
      f.set(at, i32.sub(at, i32.const(this.#block)));
      emit();
    });
  }

  /** Turns the product of a pass into its inverse, times a factor that each of its inverses then has. */
  #invert(f: FunctionBuilder, { chain }: Pass<E>, scratch: Address, factor = 1n): void {
    const field = this.#field;
    field.storeBlock(f, scratch, 0, chain);
    f.call(this.#inversion.handle, [scratch, scratch, i32.add(scratch, i32.const(this.#block))]);
    const whole = field.loadBlock(f, scratch, 0, field.productMax);
    field.assign(f, chain, factor === 1n ? whole : field.mul(f, whole, field.constant(f, [factor])));
  }

  /** b times an element, neither normalised nor reduced. */
  #times(f: FunctionBuilder, element: E): E {
    let sum = element;
    for (let i = 1n; i < this.#b; i += 1n) sum = this.#field.add(f, sum, element);
    return sum;
  }

  /** Of a coordinate of a row that is doubled and a reduced one. */
  get #differenceMax(): bigint {
    return this.#field.reducedMax + this.#rowMax;
  }

  #loadRow(f: FunctionBuilder, row: Address, at: Address): E {
    return this.#load(f, row, at, this.#rowMax);
  }

  /** A product as a coordinate of a row. */
  #inRow(f: FunctionBuilder, product: E): E {
    const variable = this.#field.variable(f, this.#rowMax);
    this.#field.assign(f, variable, product);
    return variable;
  }

  #load(f: FunctionBuilder, row: Address, at: Address, max = this.#field.reducedMax): E {
    return this.#field.loadBlock(f, f.let(i32.add(row, at)), 0, max);
  }

  #store(f: FunctionBuilder, row: Address, at: Address, element: E): void {
    this.#field.storeBlock(f, f.let(i32.add(row, at)), 0, element);
  }

  #signedY(f: FunctionBuilder, { y, negative }: RightRow, at: Address): E {
    return this.#field.applySigns(f, this.#load(f, y, at), everyLane(this.#field, negative));
  }
}
