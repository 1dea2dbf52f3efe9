/**
 * Emits number-theoretic transforms over the scalar field, layer by layer and in place, and what goes with them:
 * scaling, products, copies. J. Cooley, J. Tukey (1965); W. Gentleman, G. Sande (1966).
 *
 * Decimation in frequency takes natural order to bit-reversed, decimation in time takes bit-reversed to natural: a
 * transform and its way back never permute elements. Vectors are arrays of blocks (field.ts).
 */
import { i32 } from "../wasm/wasm-ops.js";
import { everyLane, halvesOf, lanesOf, sideBySide } from "../field/field.js";
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
    forEachVector(f, field, { arrays: [data], count, rest }, (load) => {
      const block = load(0);
      const [low, high] = field.transpose(f, block, block);
      const [result] = field.transpose(
        f,
        field.reduce(f, field.add(f, low, high)),
        field.reduce(f, field.sub(f, low, high)),
      );
      return result;
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
    forEachVector(f, field, { arrays: [target, a, b], count, rest }, (load) => field.mul(f, load(1), load(2)));
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
    forEachStep(f, { cursors: [low, twiddle], end, blockBytes }, (offsets) => {
      const high = f.let(i32.add(low, distance));
      const results = sideBySide(
        f,
        offsets.map((offset) => () => {
          const [a, b] = [low, high].map((at) => field.loadBlock(f, at, offset, field.productMax)) as [E, E];
          return butterfly(f, a, b, field.loadBlock(f, twiddle, offset, field.reducedMax));
        }),
      );
      for (const [i, [sum, difference]] of results.entries()) {
        field.storeBlock(f, low, offsets[i] ?? 0, sum);
        field.storeBlock(f, high, offsets[i] ?? 0, difference);
      }
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

/** Vectors of a step where they are woven: three have more registers spilled than they fill gaps. */
const VECTORS_PER_STEP = 2;

/**
 * Emits steps through neighbouring vectors until the first cursor is at the end, several vectors at a time as long as
 * there are, where they are woven; `body` gets the bytes from the cursors to each vector of the step.
 */
function forEachStep(
  f: FunctionBuilder,
  run: { readonly cursors: readonly Local<"i32">[]; readonly end: Address; readonly blockBytes: number },
  body: (offsets: readonly number[]) => void,
): void {
  const { cursors, end, blockBytes } = run;
  const [first] = cursors;
  if (first === undefined) throw new Error("a run has a cursor");
  const steps = f.halves === 2 ? [VECTORS_PER_STEP, 1] : [1];
  for (const vectors of steps) {
    const last = vectors === 1 ? first : i32.add(first, i32.const((vectors - 1) * blockBytes));
    f.while(i32.ltU(last, end), () => {
      body(Array.from({ length: vectors }, (_, i) => i * blockBytes));
      for (const cursor of cursors) f.set(cursor, i32.add(cursor, i32.const(vectors * blockBytes)));
    });
  }
}

/** Arrays, the first of which is written, and what an odd block is left to: (arrays, number of blocks). */
interface VectorRun {
  readonly arrays: readonly Address[];
  /** Blocks of each. */
  readonly count: Address;
  readonly rest: FunctionHandle | undefined;
}

/** Emits a loop over the arrays together, by as many blocks as a vector of the field holds. */
function forEachVector<E>(
  f: FunctionBuilder,
  field: PrimeField<E>,
  { arrays, count, rest }: VectorRun,
  compute: (load: (array: number) => E) => E,
): void {
  const vectors = rest === undefined ? count : f.let(i32.shrU(count, i32.const(1)));
  const { blockBytes } = field;
  const cursors = arrays.map((array) => f.let(array));
  const cursor = (array: number): Address => {
    const found = cursors[array];
    if (found === undefined) throw new Error("there is no such array");
    return found;
  };
  const end = f.let(i32.add(cursor(0), i32.mul(vectors, i32.const(blockBytes))));
  forEachStep(f, { cursors, end, blockBytes }, (offsets) => {
    const results = sideBySide(
      f,
      offsets.map((offset) => () => compute((array) => field.loadBlock(f, cursor(array), offset, field.productMax))),
    );
    for (const [i, result] of results.entries()) field.storeBlock(f, cursor(0), offsets[i] ?? 0, result);
  });
  if (rest === undefined) return;
  f.if(i32.and(count, i32.const(1)), () => {
    f.call(rest, [...cursors, i32.const(1)]);
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
