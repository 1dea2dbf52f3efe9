/**
 * Emits what multiplies many points by one number, beside the additions of point-batch.ts: doubling of a whole array,
 * which is two thirds of such a multiplication, and the curve's endomorphism, which halves the number of doublings.
 */
import { batchLayout, chainsOf, emitChainInverses, emitSum, stored } from "./point-batch.js";
import { lanesOf } from "../field/field.js";
import type { Address, Field } from "../field/field.js";
import type { Inversion } from "../field/inversion.js";
import type { FunctionBuilder, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32 } from "../wasm/wasm-ops.js";

interface PointMultiplesOptions {
  /** Prefix of the functions' names. */
  readonly name: string;
  /** Of the curve (curves/curve-parameters.ts). */
  readonly endomorphismFactor: bigint;
}

/**
 * Defines, for neighbouring affine points of which none is infinity:
 * - `_double_all` (points, count, scratch): doubles each in place; `count` is a multiple of `entriesPerStep` of
 *   point-batch.ts, and the scratch is that of as many additions. No point has order two: none does on these curves;
 * - `_endomorphism` (target, source, count): multiplies each by the curve's `endomorphismScalar`; `count` is at least
 *   1, and target and source do not overlap.
 */
export function definePointMultiples<E>(
  module: ModuleBuilder,
  field: Field<E>,
  inversion: Inversion,
  { name, endomorphismFactor }: PointMultiplesOptions,
): void {
  defineDoubleAll(module, field, inversion, name);
  const pointBytes = 2 * field.elementBytes;
  module.define({ name: `${name}_endomorphism`, params: ["i32", "i32", "i32"] }, (f, target, source, count) => {
    const last = f.let(i32.sub(count, i32.const(1)));
    const index = f.local("i32");
    f.for(i32.const(0), count, field.lanes, (i) => {
      const offsets = lanesOf(field).map((lane) => {
        f.set(index, i32.add(i, i32.const(lane)));
        // Past the end the last point is taken again.
        f.if(i32.gtU(index, last), () => f.set(index, last));
        return f.let(i32.mul(index, i32.const(pointBytes)));
      });
      const [from, to] = [source, target].map((base) => offsets.map((offset) => f.let(i32.add(base, offset))));
      const x = field.load(f, from ?? [], 0, field.reducedMax);
      const y = field.load(f, from ?? [], field.elementBytes, field.reducedMax);
      field.store(f, to ?? [], 0, field.reduce(f, field.mul(f, x, field.constant(f, [endomorphismFactor]))));
      field.store(f, to ?? [], field.elementBytes, y);
    });
  });
}

/**
 * As an addition of point-batch.ts, with the slope 3 x^2 / 2 y; none of its special cases can come up. The records are
 * the prefix products alone.
 */
function defineDoubleAll<E>(module: ModuleBuilder, field: Field<E>, inversion: Inversion, name: string): void {
  const layout = batchLayout(field, inversion);
  const pointBytes = 2 * field.elementBytes;
  const addressesOf = (f: FunctionBuilder, point: Address): Address[] =>
    lanesOf(field).map((lane) => f.let(i32.add(point, i32.const(lane * pointBytes))));
  module.define({ name: `${name}_double_all`, params: ["i32", "i32", "i32"] }, (f, points, count, scratch) => {
    f.if(i32.eqz(count), () => f.return());
    const record = f.let(i32.add(scratch, i32.const(layout.records)));
    const point = f.let(points);
    const end = f.let(i32.add(points, i32.mul(count, i32.const(pointBytes))));
    const chains = Array.from({ length: chainsOf(field) }, () => field.variable(f, field.productMax));
    for (const chain of chains) field.assign(f, chain, field.constant(f, [1n]));
    f.while(i32.ltU(point, end), () => {
      for (const chain of chains) {
        const y = field.load(f, addressesOf(f, point), field.elementBytes, field.reducedMax);
        field.storeBlock(f, record, 0, chain);
        field.assign(f, chain, field.mul(f, chain, doubled(f, field, y)));
        f.set(record, i32.add(record, i32.const(layout.block)));
        f.set(point, i32.add(point, i32.const(field.lanes * pointBytes)));
      }
    });
    for (const [i, chain] of chains.entries()) field.storeBlock(f, scratch, i * layout.block, chain);
    emitChainInverses(f, field, layout, { inversion, scratch });
    for (const [i, chain] of chains.entries())
      field.assign(f, chain, field.loadBlock(f, scratch, i * layout.block, field.productMax));
    f.while(i32.gtU(point, points), () => {
      for (const chain of [...chains].reverse()) {
        f.set(record, i32.sub(record, i32.const(layout.block)));
        f.set(point, i32.sub(point, i32.const(field.lanes * pointBytes)));
        const before = field.loadBlock(f, record, 0, field.productMax);
        const inverse = stored(f, field, field.mul(f, chain, before));
        const targets = addressesOf(f, point);
        const y = field.load(f, targets, field.elementBytes, field.reducedMax);
        field.assign(f, chain, field.mul(f, chain, doubled(f, field, y)));
        const x = field.load(f, targets, 0, field.reducedMax);
        const squared = field.square(f, x);
        const numerator = field.reduce(f, field.add(f, field.add(f, squared, squared), squared));
        emitSum(f, field, { slope: field.mul(f, numerator, inverse), p: { x, y }, qx: x, targets });
      }
    });
  });
}

/** 2 y as a factor: not reduced, since products take factors of twice a reduced one's size. */
function doubled<E>(f: FunctionBuilder, field: Field<E>, y: E): E {
  return field.normalize(f, field.add(f, y, y));
}
