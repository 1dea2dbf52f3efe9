/**
 * Defines the parts of sums of a few multiples in G1, with as many independent sums side by side as the field has
 * lanes: a table of small multiples of each point, and an accumulator to which an entry of a table is added per lane,
 * between doublings. The formulas are complete (point/point-single.ts), so no pair of points needs a special path.
 *
 * A table is MULTIPLES + 1 projective points, from infinity to MULTIPLES times the point. An accumulator is X || Y || Z
 * as blocks.
 */
import { everyLane, halvesOf, lanesOf } from "../field/field.js";
import type { Address, Field, PrimeField } from "../field/field.js";
import { completeDouble, completeSum } from "../point/point-single.js";
import type { Projective } from "../point/point-single.js";
import type { FunctionBuilder, FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32 } from "../wasm/wasm-ops.js";

/** Bits of a window of the scalar; its signed digits are -8 to 8. */
export const WINDOW_BITS = 4;
/** The largest digit, and so the largest multiple in a table. */
export const MULTIPLES = 8;
/** Bit that is set in the byte of a digit below zero. */
export const NEGATIVE = 128;

interface LaneMultiplesOptions {
  /** Prefix of the functions' names. */
  readonly name: string;
  /** Three times the b of y^2 = x^3 + b, as coefficients over the prime field. */
  readonly threeB: readonly bigint[];
  /** beta with (x, y) -> (beta x, y) an endomorphism of the curve. */
  readonly endomorphism: bigint;
}

/**
 * Defines, with addresses; where a parameter is called "each", it stands for one address per lane:
 * - `_lane_tables` (each table, each affine point, accumulator): fills the table of each point;
 * - `_lane_accumulate` (accumulator, tables, groups, digits, windows): the accumulator becomes the sum over all groups,
 *   lane by lane. A group is a point per lane, whose tables are given by that many addresses. Digits lie window by
 *   window from the highest down, then group by group, then first those of the points and then those of their images
 *   under the endomorphism, a byte per lane: its size, and NEGATIVE;
 * - `_lane_points` (each target, accumulator): the lanes, each a projective point. Coordinates are reduced.
 */
export function defineLaneMultiples<E>(
  module: ModuleBuilder,
  field: PrimeField<E>,
  options: LaneMultiplesOptions,
): void {
  const { name, threeB } = options;
  const halves = halvesOf(field);
  const adders = defineAdders(module, field, options);
  const doubling = { name: `${name}_lane_double`, params: ["i32"], exported: false, halves } as const;
  const double = module.define(doubling, (f, accumulator) => {
    const point = variables(f, field, loadBlocks(f, field, accumulator));
    f.for(i32.const(0), i32.const(WINDOW_BITS), 1, () =>
      assign(f, field, point, completeDouble(f, field, point, threeB)),
    );
    storeBlocks(f, field, accumulator, point);
  });
  defineAccumulate(module, field, name, { double, adders });
  const signature = { name: `${name}_lane_points`, params: [...perLane(field), "i32" as const], halves };
  const points = module.define(signature, (f, ...locals) => {
    const accumulator = locals[field.lanes];
    if (accumulator === undefined) throw new Error("a parameter is missing");
    storeEach(f, field, { addresses: locals.slice(0, field.lanes), offset: 0 }, loadBlocks(f, field, accumulator));
  });
  defineTables(module, field, name, { add: adders[0], points });
}

/** Types of parameters, one for each lane. */
function perLane<E>(field: Field<E>): "i32"[] {
  return lanesOf(field).map(() => "i32" as const);
}

function defineTables<E>(
  module: ModuleBuilder,
  field: PrimeField<E>,
  name: string,
  { add, points }: { readonly add: FunctionHandle; readonly points: FunctionHandle },
): void {
  const params = [...perLane(field), ...perLane(field), "i32" as const];
  const pointBytes = 3 * field.elementBytes;
  module.define({ name: `${name}_lane_tables`, params, halves: halvesOf(field) }, (f, ...locals) => {
    const [tables, affine] = [locals.slice(0, field.lanes), locals.slice(field.lanes, 2 * field.lanes)];
    const accumulator = locals[2 * field.lanes];
    if (accumulator === undefined) throw new Error("a parameter is missing");
    storeBlocks(f, field, accumulator, infinity(f, field));
    f.call(points, [...tables, accumulator]);
    storeBlocks(f, field, accumulator, {
      x: field.load(f, affine, 0, field.reducedMax),
      y: field.load(f, affine, field.elementBytes, field.reducedMax),
      z: field.constant(f, [1n]),
    });
    const once = tables.map((table) => f.let(i32.add(table, i32.const(pointBytes))));
    f.call(points, [...once, accumulator]);
    const at = once.map((table) => f.let(table));
    f.for(i32.const(2), i32.const(MULTIPLES + 1), 1, () => {
      for (const address of at) f.set(address, i32.add(address, i32.const(pointBytes)));
      f.call(add, [accumulator, ...once, ...everyLane(field, i32.const(0))]);
      f.call(points, [...at, accumulator]);
    });
  });
}

/** Defines two times (accumulator, each entry of a table, each sign): adds the entries, and adds their images. */
function defineAdders<E>(
  module: ModuleBuilder,
  field: PrimeField<E>,
  { name, threeB, endomorphism }: LaneMultiplesOptions,
): readonly [FunctionHandle, FunctionHandle] {
  const params = ["i32" as const, ...perLane(field), ...perLane(field)];
  const halves = halvesOf(field);
  const define = (suffix: string, { isImage }: { readonly isImage: boolean }): FunctionHandle =>
    module.define({ name: `${name}_lane_${suffix}`, params, exported: false, halves }, (f, accumulator, ...locals) => {
      const entry = loadEach(f, field, { addresses: locals.slice(0, field.lanes), offset: 0 });
      const x = isImage ? field.reduce(f, field.mul(f, entry.x, field.constant(f, [endomorphism]))) : entry.x;
      const y = field.normalize(f, field.applySigns(f, entry.y, locals.slice(field.lanes)));
      const sum = completeSum(f, field, [loadBlocks(f, field, accumulator), { x, y, z: entry.z }], threeB);
      storeBlocks(f, field, accumulator, sum);
    });
  return [define("add", { isImage: false }), define("add_image", { isImage: true })];
}

function defineAccumulate<E>(
  module: ModuleBuilder,
  field: PrimeField<E>,
  name: string,
  { double, adders }: { readonly double: FunctionHandle; readonly adders: readonly FunctionHandle[] },
): void {
  const params = { accumulator: "i32", tables: "i32", groups: "i32", digits: "i32", windows: "i32" } as const;
  const entryBytes = 3 * field.elementBytes;
  module.defineNamed({ name: `${name}_lane_accumulate`, params, halves: halvesOf(field) }, (f, locals) => {
    const { accumulator, tables, groups, digits, windows } = locals;
    const next = f.let(digits);
    storeBlocks(f, field, accumulator, infinity(f, field));
    f.for(i32.const(0), windows, 1, (window) => {
      f.if(window, () => f.call(double, [accumulator]));
      const table = f.let(tables);
      f.for(i32.const(0), groups, 1, () => {
        for (const adder of adders) {
          const bytes = lanesOf(field).map((lane) => f.let(i32.load8U(next, lane)));
          const any = bytes.reduce<Address>((x, y) => i32.or(x, y), i32.const(0));
          const entries = bytes.map((byte, lane) =>
            i32.add(i32.load(table, 4 * lane), i32.mul(i32.and(byte, i32.const(NEGATIVE - 1)), i32.const(entryBytes))),
          );
          const signs = bytes.map((byte) => i32.shrU(byte, i32.const(Math.log2(NEGATIVE))));
          f.if(any, () => f.call(adder, [accumulator, ...entries, ...signs]));
          f.set(next, i32.add(next, i32.const(field.lanes)));
        }
        f.set(table, i32.add(table, i32.const(4 * field.lanes)));
      });
    });
  });
}

function infinity<E>(f: FunctionBuilder, field: Field<E>): Projective<E> {
  const zero = field.constant(f, [0n]);
  return { x: zero, y: field.constant(f, [1n]), z: zero };
}

/** Places of a projective point per lane: each at its own address, all at the same offset. */
interface EachPlace {
  readonly addresses: readonly Address[];
  readonly offset: number;
}

function loadEach<E>(f: FunctionBuilder, field: Field<E>, { addresses, offset }: EachPlace): Projective<E> {
  const at = (i: number): E => field.load(f, addresses, offset + i * field.elementBytes, field.reducedMax);
  return { x: at(0), y: at(1), z: at(2) };
}

function storeEach<E>(
  f: FunctionBuilder,
  field: Field<E>,
  { addresses, offset }: EachPlace,
  { x, y, z }: Projective<E>,
): void {
  for (const [i, coordinate] of [x, y, z].entries())
    field.store(f, addresses, offset + i * field.elementBytes, coordinate);
}

function loadBlocks<E>(f: FunctionBuilder, field: Field<E>, address: Address): Projective<E> {
  const at = (i: number): E => field.loadBlock(f, address, i * field.lanes * field.elementBytes, field.reducedMax);
  return { x: at(0), y: at(1), z: at(2) };
}

function storeBlocks<E>(f: FunctionBuilder, field: Field<E>, address: Address, { x, y, z }: Projective<E>): void {
  for (const [i, coordinate] of [x, y, z].entries())
    field.storeBlock(f, address, i * field.lanes * field.elementBytes, coordinate);
}

function variables<E>(f: FunctionBuilder, field: Field<E>, { x, y, z }: Projective<E>): Projective<E> {
  const variable = (value: E): E => {
    const target = field.variable(f, field.reducedMax);
    field.assign(f, target, value);
    return target;
  };
  return { x: variable(x), y: variable(y), z: variable(z) };
}

function assign<E>(f: FunctionBuilder, field: Field<E>, target: Projective<E>, value: Projective<E>): void {
  field.assign(f, target.x, value.x);
  field.assign(f, target.y, value.y);
  field.assign(f, target.z, value.z);
}
