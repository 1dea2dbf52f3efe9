/**
 * Emits number-theoretic transforms over the scalar field, layer by layer and in place, and what goes with them:
 * scaling, products, copies. J. Cooley, J. Tukey (1965); W. Gentleman, G. Sande (1966).
 *
 * Decimation in frequency takes natural order to bit-reversed, decimation in time takes bit-reversed to natural: a
 * transform and its way back never permute elements. Vectors are arrays of blocks (field.ts).
 */
import { i32 } from "../wasm/wasm-ops.js";
import { everyLane, lanesOf } from "../field/field.js";
import type { Address, PrimeField } from "../field/field.js";
import type { FunctionBuilder, ModuleBuilder } from "../wasm/wasm-builder.js";
import type { Local } from "../wasm/wasm-ops.js";

/** Parameters of a scaling: target := source * factor over `count` blocks or elements. */
const SCALE_PARAMS = { target: "i32", source: "i32", count: "i32", factor: "i32" } as const;

/**
 * Defines, with addresses of blocks and elements at rest, and with sizes in blocks:
 * - `_dif_layer`, `_dit_layer` (data, half, groups, twiddles): butterflies between the halves of `groups` neighbouring
 *   groups of 2 * half blocks, twiddles[j] for the j-th block of each half;
 * - `_dif_run`, `_dit_run` (low, high, count, twiddles): the same butterflies between two runs of `count` blocks;
 * - `_pair_layer` (data, count): the butterfly with twiddle 1 between the two lanes of each block;
 * - `_scale_blocks` (target, source, count, factor): target = source * factor, an element in Montgomery form, reduced;
 * - `_scale_elements`: the same for an array of `count` elements;
 * - `_scatter_blocks` (blocks, elements, from, count), `_gather_blocks` (elements, blocks, from, count): copy `count`
 *   elements between an array of elements and the places from `from` on of an array of blocks;
 * - `_mul_blocks` (target, a, b, count): products of elements at the same places, within productMax.
 *
 * Inputs are within productMax, twiddles and factors reduced.
 */
export function defineTransforms<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  defineLayer(module, field, `${name}_dif`, (f, low, high, twiddle) => [
    field.reduce(f, field.add(f, low, high)),
    field.mul(f, field.sub(f, low, high), twiddle),
  ]);
  defineLayer(module, field, `${name}_dit`, (f, low, high, twiddle) => {
    const product = field.mul(f, high, twiddle);
    return [field.reduce(f, field.add(f, low, product)), field.reduce(f, field.sub(f, low, product))];
  });
  definePairLayer(module, field, name);
  defineScales(module, field, name);
  defineCopies(module, field, name);
  defineProducts(module, field, name);
}

function definePairLayer<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const blockBytes = field.elementBytes * field.lanes;
  module.define({ name: `${name}_pair_layer`, params: ["i32", "i32"] }, (f, data, count) => {
    const end = f.let(i32.add(data, i32.mul(count, i32.const(blockBytes))));
    const at = f.let(data);
    f.while(i32.ltU(at, end), () => {
      const block = field.loadBlock(f, at, 0, field.productMax);
      const [low, high] = field.transpose(f, block, block);
      const [result] = field.transpose(
        f,
        field.reduce(f, field.add(f, low, high)),
        field.reduce(f, field.sub(f, low, high)),
      );
      field.storeBlock(f, at, 0, result);
      f.set(at, i32.add(at, i32.const(blockBytes)));
    });
  });
}

function defineScales<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const blockBytes = field.elementBytes * field.lanes;
  module.defineNamed({ name: `${name}_scale_blocks`, params: SCALE_PARAMS }, (f, { target, source, count, factor }) => {
    const scale = field.variable(f, field.reducedMax);
    field.assign(f, scale, field.load(f, everyLane(field, factor), 0, field.reducedMax));
    forEachBlock(f, { arrays: [target, source], count, blockBytes }, (to, from) => {
      field.storeBlock(f, to, 0, field.reduce(f, field.mul(f, field.loadBlock(f, from, 0, field.productMax), scale)));
    });
  });
  module.defineNamed(
    { name: `${name}_scale_elements`, params: SCALE_PARAMS },
    (f, { target, source, count, factor }) => {
      const scale = field.load(f, everyLane(field, factor), 0, field.reducedMax);
      forEachBlock(f, { arrays: [target, source], count, blockBytes: field.elementBytes }, (to, from) => {
        const element = field.load(f, everyLane(field, from), 0, field.productMax);
        field.store(f, [to], 0, field.reduce(f, field.mul(f, element, scale)));
      });
    },
  );
}

function defineProducts<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const params = { target: "i32", a: "i32", b: "i32", count: "i32" } as const;
  const blockBytes = field.elementBytes * field.lanes;
  module.defineNamed({ name: `${name}_mul_blocks`, params }, (f, { target, a, b, count }) => {
    forEachBlock(f, { arrays: [target, a, b], count, blockBytes }, (to, left, right) => {
      field.storeBlock(
        f,
        to,
        0,
        field.mul(f, field.loadBlock(f, left, 0, field.productMax), field.loadBlock(f, right, 0, field.productMax)),
      );
    });
  });
}

function defineCopies<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const blockBytes = field.elementBytes * field.lanes;
  const params = { target: "i32", source: "i32", from: "i32", count: "i32" } as const;
  for (const direction of ["scatter", "gather"] as const) {
    module.defineNamed({ name: `${name}_${direction}_blocks`, params }, (f, { target, source, from, count }) => {
      f.for(i32.const(0), count, 1, (i) => {
        const index = f.let(i32.add(from, i));
        const [blocks, elements] = direction === "scatter" ? [target, source] : [source, target];
        const address = f.let(
          i32.add(blocks, i32.mul(i32.shrU(index, i32.const(field.lanes - 1)), i32.const(blockBytes))),
        );
        const element = f.let(i32.add(elements, i32.mul(i, i32.const(field.elementBytes))));
        for (const lane of lanesOf(field)) {
          const place = { address, offset: 0, lane };
          f.if(i32.eq(i32.and(index, i32.const(field.lanes - 1)), i32.const(lane)), () => {
            if (direction === "scatter")
              field.storeLane(f, place, field.load(f, everyLane(field, element), 0, field.productMax));
            else field.store(f, [element], 0, field.loadLane(f, place, field.productMax));
          });
        }
      });
    });
  }
}

type Butterfly<E> = (f: FunctionBuilder, low: E, high: E, twiddle: E) => readonly [E, E];

/** Defines `name`_layer and `name`_run. */
function defineLayer<E>(module: ModuleBuilder, field: PrimeField<E>, name: string, butterfly: Butterfly<E>): void {
  const blockBytes = field.elementBytes * field.lanes;
  /** Runs `low` up to `end`, with the other block of each butterfly a fixed distance above, and `twiddle` beside it. */
  const emitRun = (
    f: FunctionBuilder,
    { low, twiddle }: { readonly low: Local<"i32">; readonly twiddle: Local<"i32"> },
    { end, distance }: { readonly end: Address; readonly distance: Address },
  ): void => {
    f.while(i32.ltU(low, end), () => {
      const high = f.let(i32.add(low, distance));
      const [sum, difference] = butterfly(
        f,
        field.loadBlock(f, low, 0, field.productMax),
        field.loadBlock(f, high, 0, field.productMax),
        field.loadBlock(f, twiddle, 0, field.reducedMax),
      );
      field.storeBlock(f, low, 0, sum);
      field.storeBlock(f, high, 0, difference);
      f.set(low, i32.add(low, i32.const(blockBytes)));
      f.set(twiddle, i32.add(twiddle, i32.const(blockBytes)));
    });
  };
  module.defineNamed(
    { name: `${name}_layer`, params: { data: "i32", half: "i32", groups: "i32", twiddles: "i32" } },
    (f, { data, half, groups, twiddles }) => {
      const distance = f.let(i32.mul(half, i32.const(blockBytes)));
      const low = f.let(data);
      f.for(i32.const(0), groups, 1, () => {
        const end = f.let(i32.add(low, distance));
        emitRun(f, { low, twiddle: f.let(twiddles) }, { end, distance });
        f.set(low, i32.add(low, distance));
      });
    },
  );
  module.defineNamed(
    { name: `${name}_run`, params: { low: "i32", high: "i32", count: "i32", twiddles: "i32" } },
    (f, { low, high, count, twiddles }) => {
      const end = f.let(i32.add(low, i32.mul(count, i32.const(blockBytes))));
      const at = f.let(low);
      const distance = f.let(i32.sub(high, low));
      emitRun(f, { low: at, twiddle: f.let(twiddles) }, { end, distance });
    },
  );
}

export interface BlockArrays {
  readonly arrays: readonly Address[];
  /** Blocks of each array. */
  readonly count: Address;
  readonly blockBytes: number;
}

/** Emits a loop over the arrays together, block by block; `body` gets the address of each array's block. */
export function forEachBlock(
  f: FunctionBuilder,
  { arrays, count, blockBytes }: BlockArrays,
  body: (...at: Local<"i32">[]) => void,
): void {
  const cursors = arrays.map((array) => f.let(array));
  f.for(i32.const(0), count, 1, () => {
    body(...cursors);
    for (const cursor of cursors) f.set(cursor, i32.add(cursor, i32.const(blockBytes)));
  });
}
