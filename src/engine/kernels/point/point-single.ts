/**
 * Emits single point operations in homogeneous projective coordinates, for the few hundred steps of a multi-scalar
 * multiplication that are sequential. Complete formulas without branches: J. Renes, C. Costello, L. Batina, "Complete
 * addition formulas for prime order elliptic curves" (2015), algorithms 7 and 9 (a = 0); right for every pair of points
 * whose difference has odd order.
 *
 * A projective point is X || Y || Z, three reduced elements at rest, infinity (0 : 1 : 0). Affine points and point
 * words: see point-batch.ts.
 */
import { i32 } from "../wasm/wasm-ops.js";
import { everyLane } from "../field/field.js";
import type { Address, Field } from "../field/field.js";
import type { Inversion } from "../field/inversion.js";
import type { FunctionBuilder, ModuleBuilder } from "../wasm/wasm-builder.js";

interface SinglePointOptions {
  /** Prefix of the functions' names: "g1" or "g2". */
  readonly name: string;
  /** Three times the b of y^2 = x^3 + b, as coefficients over the prime field. */
  readonly threeB: readonly bigint[];
}

export interface Projective<E> {
  readonly x: E;
  readonly y: E;
  readonly z: E;
}

/**
 * Defines, with addresses as parameters, coordinates in and out reduced, and targets that may be operands:
 * - `_mark` (target): stores the affine point at infinity;
 * - `_is_marked` (point) -> 1 for the affine point at infinity, else 0;
 * - `_copy_for_export` (target, word): copies the affine point of a point word; infinity and the word 0 become zeros,
 *   as zkey files have it;
 * - `_add_points` (target, a, b): target := a + b, projective;
 * - `_double_point` (point, times): doubles a projective point in place, so many times;
 * - `_to_projective` (target, word): from the affine point of a point word;
 * - `_to_affine` (target, source, scratch): from a projective point, with one inversion; the scratch has a block more
 *   than the inversion's.
 */
export function defineSinglePoint<E>(
  module: ModuleBuilder,
  field: Field<E>,
  inversion: Inversion,
  { name, threeB }: SinglePointOptions,
): void {
  module.define({ name: `${name}_mark`, params: ["i32"] }, (f, target) => field.storeMark(f, target));
  defineCopyForExport(module, field, name);
  module.define({ name: `${name}_is_marked`, params: ["i32"], results: ["i32"] }, (f, point) =>
    f.return(field.isMarked(f, point)),
  );
  module.define({ name: `${name}_add_points`, params: ["i32", "i32", "i32"] }, (f, target, a, b) => {
    const sum = completeSum(f, field, [loadProjective(f, field, a), loadProjective(f, field, b)], threeB);
    storeProjective(f, field, target, sum);
  });
  defineDoublePoint(module, field, { name, threeB });
  defineToProjective(module, field, name);
  defineToAffine(module, field, inversion, name);
}

function defineCopyForExport<E>(module: ModuleBuilder, field: Field<E>, name: string): void {
  module.define({ name: `${name}_copy_for_export`, params: ["i32", "i32"] }, (f, target, word) => {
    const address = f.let(i32.and(word, i32.const(-2)));
    const zero = field.constant(f, [0n]);
    const [x, y] = [field.variable(f, field.reducedMax), field.variable(f, field.reducedMax)];
    for (const coordinate of [x, y]) field.assign(f, coordinate, zero);
    f.if(i32.and(i32.ne(word, i32.const(0)), i32.eqz(field.isMarked(f, address))), () => {
      const addresses = everyLane(field, address);
      const sign = f.let(i32.and(word, i32.const(1)));
      field.assign(f, x, field.load(f, addresses, 0, field.reducedMax));
      const signed = field.applySigns(
        f,
        field.load(f, addresses, field.elementBytes, field.reducedMax),
        everyLane(field, sign),
      );
      field.assign(f, y, field.normalize(f, signed));
    });
    field.store(f, [target], 0, x);
    field.store(f, [target], field.elementBytes, y);
  });
}

function defineDoublePoint<E>(module: ModuleBuilder, field: Field<E>, { name, threeB }: SinglePointOptions): void {
  module.define({ name: `${name}_double_point`, params: ["i32", "i32"] }, (f, point, times) => {
    const [x, y, z] = [0, 1, 2].map(() => field.variable(f, field.reducedMax)) as [E, E, E];
    const start = loadProjective(f, field, point);
    for (const [variable, value] of [
      [x, start.x],
      [y, start.y],
      [z, start.z],
    ] as const)
      field.assign(f, variable, value);
    f.for(i32.const(0), times, 1, () => {
      const doubled = completeDouble(f, field, { x, y, z }, threeB);
      for (const [variable, value] of [
        [x, doubled.x],
        [y, doubled.y],
        [z, doubled.z],
      ] as const)
        field.assign(f, variable, value);
    });
    storeProjective(f, field, point, { x, y, z });
  });
}

function defineToProjective<E>(module: ModuleBuilder, field: Field<E>, name: string): void {
  module.define({ name: `${name}_to_projective`, params: ["i32", "i32"] }, (f, target, word) => {
    const address = f.let(i32.and(word, i32.const(-2)));
    f.if(
      field.isMarked(f, address),
      () =>
        storeProjective(f, field, target, {
          x: field.constant(f, [0n]),
          y: field.constant(f, [1n]),
          z: field.constant(f, [0n]),
        }),
      () => {
        const addresses = everyLane(field, address);
        const sign = f.let(i32.and(word, i32.const(1)));
        const y = field.load(f, addresses, field.elementBytes, field.reducedMax);
        const signed = field.normalize(f, field.applySigns(f, y, everyLane(field, sign)));
        storeProjective(f, field, target, {
          x: field.load(f, addresses, 0, field.reducedMax),
          y: signed,
          z: field.constant(f, [1n]),
        });
      },
    );
  });
}

function defineToAffine<E>(module: ModuleBuilder, field: Field<E>, inversion: Inversion, name: string): void {
  module.define({ name: `${name}_to_affine`, params: ["i32", "i32", "i32"] }, (f, target, source, scratch) => {
    const { x, y, z } = loadProjective(f, field, source);
    f.if(field.isZero(f, z), () => {
      field.storeMark(f, target);
      f.return();
    });
    field.storeBlock(f, scratch, 0, z);
    f.call(inversion.handle, [scratch, scratch, i32.add(scratch, i32.const(field.elementBytes * field.lanes))]);
    const inverse = field.loadBlock(f, scratch, 0, field.productMax);
    field.store(f, [target], 0, field.reduce(f, field.mul(f, x, inverse)));
    field.store(f, [target], field.elementBytes, field.reduce(f, field.mul(f, y, inverse)));
  });
}

/** Emits p + q, lane by lane (algorithm 7); coordinates in and out are reduced. */
export function completeSum<E>(
  f: FunctionBuilder,
  field: Field<E>,
  [p, q]: readonly [Projective<E>, Projective<E>],
  threeB: readonly bigint[],
): Projective<E> {
  const mul = (a: E, b: E): E => field.reduce(f, field.mul(f, a, b));
  const add = (a: E, b: E): E => field.normalize(f, field.add(f, a, b));
  const sub = (a: E, b: E): E => field.reduce(f, field.sub(f, a, b));
  /** a d + b c, from the products a c and b d. */
  const cross = ([a, b]: readonly [E, E], [c, d]: readonly [E, E], ac: E, bd: E): E =>
    field.reduce(f, field.sub(f, field.sub(f, field.mul(f, add(a, b), add(c, d)), ac), bd));
  const timesB3 = constantProduct(f, field, threeB);
  const xx = mul(p.x, q.x);
  const yy = mul(p.y, q.y);
  const zz = mul(p.z, q.z);
  const xy = cross([p.x, p.y], [q.x, q.y], xx, yy);
  const yz = cross([p.y, p.z], [q.y, q.z], yy, zz);
  const xz = cross([p.x, p.z], [q.x, q.z], xx, zz);
  const xx3 = field.reduce(f, field.add(f, field.add(f, xx, xx), xx));
  const bzz = timesB3(zz);
  const bxz = timesB3(xz);
  const plus = field.reduce(f, field.add(f, yy, bzz));
  const minus = sub(yy, bzz);
  return {
    x: sub(mul(xy, minus), mul(yz, bxz)),
    y: field.reduce(f, field.add(f, mul(bxz, xx3), mul(minus, plus))),
    z: field.reduce(f, field.add(f, mul(plus, yz), mul(xx3, xy))),
  };
}

/** Emits 2 p, lane by lane (algorithm 9); coordinates in and out are reduced. */
export function completeDouble<E>(
  f: FunctionBuilder,
  field: Field<E>,
  p: Projective<E>,
  threeB: readonly bigint[],
): Projective<E> {
  const mul = (a: E, b: E): E => field.reduce(f, field.mul(f, a, b));
  const twice = (a: E): E => field.reduce(f, field.add(f, a, a));
  const timesB3 = constantProduct(f, field, threeB);
  const yy = field.reduce(f, field.square(f, p.y));
  const yy8 = twice(twice(twice(yy)));
  const bzz = timesB3(field.reduce(f, field.square(f, p.z)));
  const plus = field.reduce(f, field.add(f, yy, bzz));
  const bzz3 = field.reduce(f, field.add(f, field.add(f, bzz, bzz), bzz));
  const minus = field.reduce(f, field.sub(f, yy, bzz3));
  return {
    x: twice(mul(minus, mul(p.x, p.y))),
    y: field.reduce(f, field.add(f, mul(minus, plus), mul(bzz, yy8))),
    z: mul(mul(p.y, p.z), yy8),
  };
}

/** Reduced elements times a constant; by the 9 of BN254 as 8 + 1, which is a tenth of a product's instructions. */
function constantProduct<E>(f: FunctionBuilder, field: Field<E>, coefficients: readonly bigint[]): (a: E) => E {
  if (coefficients.length === 1 && coefficients[0] === 9n) {
    return (a) => {
      const double = field.add(f, a, a);
      const four = field.normalize(f, field.add(f, double, double));
      return field.reduce(f, field.normalize(f, field.add(f, field.add(f, four, four), a)));
    };
  }
  const constant = field.constant(f, coefficients);
  return (a) => field.reduce(f, field.mul(f, a, constant));
}

function loadProjective<E>(f: FunctionBuilder, field: Field<E>, address: Address): Projective<E> {
  const at = (i: number) => field.load(f, everyLane(field, address), i * field.elementBytes, field.reducedMax);
  return { x: at(0), y: at(1), z: at(2) };
}

/** Only the first lane is stored: all lanes hold the same point. */
function storeProjective<E>(f: FunctionBuilder, field: Field<E>, address: Address, point: Projective<E>): void {
  for (const [i, coordinate] of [point.x, point.y, point.z].entries())
    field.store(f, [address], i * field.elementBytes, coordinate);
}
