/**
 * Defines what sums of a few multiples in G1 need, with as many independent sums side by side as the field has lanes: a table of small
 * multiples of each point, and an accumulator that is doubled and takes an entry of a table per lane. The formulas are complete
 * (point-single.ts), so no pair of points needs a special path.
 *
 * A table is MULTIPLES + 1 projective points, from infinity to MULTIPLES times the point. An accumulator is X || Y || Z as blocks.
 */
import type { Address, Field, PrimeField } from "../field.js";
import { completeDouble, completeSum } from "../point-single.js";
import type { Projective } from "../point-single.js";
import type { FunctionBuilder, ModuleBuilder } from "../wasm-builder.js";
import { i32 } from "../wasm-ops.js";

/** Signed digits of 4 bits: -8 to 8. */
export const MULTIPLES = 8;

export interface LaneMultiplesOptions {
  readonly name: string;
  readonly threeB: readonly bigint[];
  /** beta with (x, y) -> (beta x, y) an endomorphism of the curve. */
  readonly endomorphism: bigint;
}

/**
 * Defines, an address per lane wherever a parameter is called "each": `_lane_tables` (each table, each affine point),
 * `_lane_clear` (accumulator), `_lane_add` and, for the entry's image under the endomorphism, `_lane_add_image` (accumulator, each
 * table entry, each sign), `_lane_double` (accumulator, times), `_lane_sum` (target: a projective point, accumulator) and
 * `_lane_points` (each target: a projective point, accumulator).
 */
export function defineLaneMultiples<E>(module: ModuleBuilder, field: PrimeField<E>, options: LaneMultiplesOptions): void {
  const { name, threeB } = options;
  const lanes = Array.from({ length: field.lanes }, () => "i32" as const);
  module.define({ name: `${name}_lane_tables`, params: [...lanes, ...lanes] }, (f, ...locals) => {
    const [tables, points] = [locals.slice(0, field.lanes), locals.slice(field.lanes)];
    const one = field.constant(f, [1n]);
    const point = { x: field.load(f, points, 0, field.reducedMax), y: field.load(f, points, field.elementBytes, field.reducedMax), z: one };
    storeEach(f, field, tables, 0, infinity(f, field));
    storeEach(f, field, tables, 1, point);
    storeEach(f, field, tables, 2, completeDouble(f, field, point, threeB));
    const sum = variables(f, field, loadEach(f, field, tables, 2));
    // Unrolled loops of eight sums would be compiled eight times.
    const at = tables.map((table) => f.let(table));
    f.for(i32.const(3), i32.const(MULTIPLES + 1), 1, () => {
      assign(f, field, sum, completeSum(f, field, sum, point, threeB));
      storeEach(f, field, at, 3, sum);
      for (const address of at) f.set(address, i32.add(address, i32.const(3 * field.elementBytes)));
    });
  });
  module.define({ name: `${name}_lane_clear`, params: ["i32"] }, (f, accumulator) => storeBlocks(f, field, accumulator, infinity(f, field)));
  for (const { suffix, isImage } of [{ suffix: "add", isImage: false }, { suffix: "add_image", isImage: true }]) {
    module.define({ name: `${name}_lane_${suffix}`, params: ["i32", ...lanes, ...lanes] }, (f, accumulator, ...locals) => {
      const entry = loadEach(f, field, locals.slice(0, field.lanes), 0);
      const x = isImage ? field.reduce(f, field.mul(f, entry.x, field.constant(f, [options.endomorphism]))) : entry.x;
      const y = field.normalize(f, field.applySigns(f, entry.y, locals.slice(field.lanes)));
      storeBlocks(f, field, accumulator, completeSum(f, field, loadBlocks(f, field, accumulator), { x, y, z: entry.z }, threeB));
    });
  }
  module.define({ name: `${name}_lane_double`, params: ["i32", "i32"] }, (f, accumulator, times) => {
    const point = variables(f, field, loadBlocks(f, field, accumulator));
    f.for(i32.const(0), times, 1, () => assign(f, field, point, completeDouble(f, field, point, threeB)));
    storeBlocks(f, field, accumulator, point);
  });
  module.define({ name: `${name}_lane_sum`, params: ["i32", "i32"] }, (f, target, accumulator) => {
    let sum = loadLane(f, field, accumulator, 0);
    if (field.lanes === 2) sum = completeSum(f, field, sum, loadLane(f, field, accumulator, 1), threeB);
    storeEach(f, field, [target], 0, sum);
  });
  module.define({ name: `${name}_lane_points`, params: [...lanes, "i32"] }, (f, ...locals) => {
    const accumulator = locals[field.lanes];
    if (accumulator === undefined) throw new Error("a parameter is missing");
    storeEach(f, field, locals.slice(0, field.lanes), 0, loadBlocks(f, field, accumulator));
  });
}

function infinity<E>(f: FunctionBuilder, field: Field<E>): Projective<E> {
  const zero = field.constant(f, [0n]);
  return { x: zero, y: field.constant(f, [1n]), z: zero };
}

function loadEach<E>(f: FunctionBuilder, field: Field<E>, addresses: readonly Address[], index: number): Projective<E> {
  const at = (i: number): E => field.load(f, addresses, (3 * index + i) * field.elementBytes, field.reducedMax);
  return { x: at(0), y: at(1), z: at(2) };
}

function storeEach<E>(f: FunctionBuilder, field: Field<E>, addresses: readonly Address[], index: number, { x, y, z }: Projective<E>): void {
  for (const [i, coordinate] of [x, y, z].entries()) field.store(f, addresses, (3 * index + i) * field.elementBytes, coordinate);
}

function loadBlocks<E>(f: FunctionBuilder, field: Field<E>, address: Address): Projective<E> {
  const at = (i: number): E => field.loadBlock(f, address, i * field.lanes * field.elementBytes, field.reducedMax);
  return { x: at(0), y: at(1), z: at(2) };
}

function storeBlocks<E>(f: FunctionBuilder, field: Field<E>, address: Address, { x, y, z }: Projective<E>): void {
  for (const [i, coordinate] of [x, y, z].entries()) field.storeBlock(f, address, i * field.lanes * field.elementBytes, coordinate);
}

function loadLane<E>(f: FunctionBuilder, field: Field<E>, address: Address, lane: 0 | 1): Projective<E> {
  const at = (i: number): E => field.loadLane(f, address, i * field.lanes * field.elementBytes, lane, field.reducedMax);
  return { x: at(0), y: at(1), z: at(2) };
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
