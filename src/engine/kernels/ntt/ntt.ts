/**
 * Emits number-theoretic transforms over the scalar field, layer by layer and in place, and what goes with them:
 * scaling, products, copies. J. Cooley, J. Tukey (1965); W. Gentleman, G. Sande (1966).
 *
 * Decimation in frequency takes natural order to bit-reversed, decimation in time takes bit-reversed to natural: a
 * transform and its way back never permute elements. Vectors are arrays of blocks (field.ts).
 */
import { i32 } from "../wasm/wasm-ops.js";
import { everyLane, halvesOf, lanesOf } from "../field/field.js";
import type { Address, PrimeField } from "../field/field.js";
import type { FunctionBuilder, FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import type { Local } from "../wasm/wasm-ops.js";

/** Parameters of a scaling: target := source * factor over `count` blocks or elements. */
const SCALE_PARAMS = { target: "i32", source: "i32", count: "i32", factor: "i32" } as const;

/**
 * Defines, with addresses of blocks and elements at rest, and with sizes in blocks:
 * - what `defineButterflies` does;
 * - `_scale_blocks` (target, source, count, factor): target = source * factor, an element in Montgomery form, reduced;
 * - `_scale_elements`: the same for an array of `count` elements;
 * - `_scatter_blocks` (blocks, elements, from, count), `_gather_blocks` (elements, blocks, from, count): copy `count`
 *   elements between an array of elements and the places from `from` on of an array of blocks.
 *
 * Inputs are within productMax, twiddles and factors reduced.
 */
export function defineTransforms<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  defineButterflies(module, field, name);
  defineScales(module, field, name);
  defineCopies(module, field, name);
}

/**
 * Defines, with addresses of blocks, and with sizes in blocks:
 * - `_dif_layer`, `_dit_layer` (data, half, groups, twiddles): butterflies between the halves of `groups` neighbouring
 *   groups of 2 * half blocks, twiddles[j] for the j-th block of each half;
 * - `_dif_run`, `_dit_run` (low, high, count, twiddles): the same butterflies between two runs of `count` blocks;
 * - `_pair_layer` (data, count): the butterfly with twiddle 1 between the two lanes of each block;
 * - `_mul_blocks` (target, a, b, count): products of elements at the same places, within productMax.
 *
 * A field of four lanes handles two blocks of two at a time, and leaves an odd one to functions of the field `rest`,
 * which has two lanes.
 */
export function defineButterflies<E>(
  module: ModuleBuilder,
  field: PrimeField<E>,
  name: string,
  rest?: PrimeField<E>,
): void {
  const unpaired = rest === undefined ? undefined : defineBlockKernels(module, rest, `${name}_rest`, {});
  defineBlockKernels(module, field, name, { rest: unpaired });
}

/** Functions with the same parameters as the defined ones, for numbers of blocks that four lanes cannot handle. */
interface BlockKernels {
  readonly dif: LayerKernels;
  readonly dit: LayerKernels;
  readonly pairs: FunctionHandle;
  readonly products: FunctionHandle;
}

interface LayerKernels {
  readonly layer: FunctionHandle;
  readonly run: FunctionHandle;
}

function defineBlockKernels<E>(
  module: ModuleBuilder,
  field: PrimeField<E>,
  name: string,
  { rest }: { readonly rest?: BlockKernels | undefined },
): BlockKernels {
  return {
    dif: defineLayer(module, field, { name: `${name}_dif`, rest: rest?.dif }, (f, low, high, twiddle) => [
      field.reduce(f, field.add(f, low, high)),
      field.mul(f, field.sub(f, low, high), twiddle),
    ]),
    dit: defineLayer(module, field, { name: `${name}_dit`, rest: rest?.dit }, (f, low, high, twiddle) => {
      const product = field.mul(f, high, twiddle);
      return [field.reduce(f, field.add(f, low, product)), field.reduce(f, field.sub(f, low, product))];
    }),
    pairs: definePairLayer(module, field, { name, rest: rest?.pairs }),
    products: defineProducts(module, field, { name, rest: rest?.products }),
  };
}

/** A function to be defined, and the one that it leaves odd blocks to. */
interface BlockKernel<R> {
  readonly name: string;
  readonly rest?: R | undefined;
}

function definePairLayer<E>(
  module: ModuleBuilder,
  field: PrimeField<E>,
  { name, rest }: BlockKernel<FunctionHandle>,
): FunctionHandle {
  const signature = { name: `${name}_pair_layer`, params: ["i32", "i32"], halves: halvesOf(field) } as const;
  return module.define(signature, (f, data, count) => {
    forEachVector(f, field, { arrays: [data], count, rest }, (at) => {
      const block = field.loadBlock(f, at, 0, field.productMax);
      const [low, high] = field.transpose(f, block, block);
      const [result] = field.transpose(
        f,
        field.reduce(f, field.add(f, low, high)),
        field.reduce(f, field.sub(f, low, high)),
      );
      field.storeBlock(f, at, 0, result);
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

function defineProducts<E>(
  module: ModuleBuilder,
  field: PrimeField<E>,
  { name, rest }: BlockKernel<FunctionHandle>,
): FunctionHandle {
  const params = { target: "i32", a: "i32", b: "i32", count: "i32" } as const;
  const signature = { name: `${name}_mul_blocks`, params, halves: halvesOf(field) };
  return module.defineNamed(signature, (f, { target, a, b, count }) => {
    forEachVector(f, field, { arrays: [target, a, b], count, rest }, (to, left, right) => {
      const [one, other] = [left, right].map((at) => field.loadBlock(f, at, 0, field.productMax)) as [E, E];
      field.storeBlock(f, to, 0, field.mul(f, one, other));
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
function defineLayer<E>(
  module: ModuleBuilder,
  field: PrimeField<E>,
  { name, rest }: BlockKernel<LayerKernels>,
  butterfly: Butterfly<E>,
): LayerKernels {
  const { blockBytes } = field;
  const halves = halvesOf(field);
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
  const bytesOf = (blocks: Address): Address => i32.mul(blocks, i32.const(blockBytes / halves));
  const layer = module.defineNamed(
    { name: `${name}_layer`, params: { data: "i32", half: "i32", groups: "i32", twiddles: "i32" }, halves },
    (f, { data, half, groups, twiddles }) => {
      emitRest(f, rest?.layer, half, [data, half, groups, twiddles]);
      const distance = f.let(bytesOf(half));
      const low = f.let(data);
      f.for(i32.const(0), groups, 1, () => {
        const end = f.let(i32.add(low, distance));
        emitRun(f, { low, twiddle: f.let(twiddles) }, { end, distance });
        f.set(low, i32.add(low, distance));
      });
    },
  );
  const run = module.defineNamed(
    { name: `${name}_run`, params: { low: "i32", high: "i32", count: "i32", twiddles: "i32" }, halves },
    (f, { low, high, count, twiddles }) => {
      emitRest(f, rest?.run, count, [low, high, count, twiddles]);
      const end = f.let(i32.add(low, bytesOf(count)));
      const at = f.let(low);
      const distance = f.let(i32.sub(high, low));
      emitRun(f, { low: at, twiddle: f.let(twiddles) }, { end, distance });
    },
  );
  return { layer, run };
}

/** Leaves the whole call to another function when the number of blocks is odd. */
function emitRest(
  f: FunctionBuilder,
  rest: FunctionHandle | undefined,
  blocks: Address,
  args: readonly Address[],
): void {
  if (rest === undefined) return;
  f.if(i32.and(blocks, i32.const(1)), () => {
    f.call(rest, args);
    f.return();
  });
}

/** As `forEachBlock`, by as many blocks as a vector of the field holds; an odd one is left to `rest`. */
function forEachVector<E>(
  f: FunctionBuilder,
  field: PrimeField<E>,
  arrays: { readonly arrays: readonly Address[]; readonly count: Address; readonly rest: FunctionHandle | undefined },
  body: (...at: Local<"i32">[]) => void,
): void {
  const { count, rest } = arrays;
  const vectors = rest === undefined ? count : f.let(i32.shrU(count, i32.const(1)));
  forEachBlock(f, { arrays: arrays.arrays, count: vectors, blockBytes: field.blockBytes }, body);
  if (rest === undefined) return;
  f.if(i32.and(count, i32.const(1)), () => {
    const last = i32.mul(vectors, i32.const(field.blockBytes));
    f.call(rest, [...arrays.arrays.map((array) => i32.add(array, last)), i32.const(1)]);
  });
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
