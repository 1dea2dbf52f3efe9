/**
 * Emits number-theoretic transforms over the scalar field, layer by layer and in place, and what stands around them:
 * tables of powers, products, transposition. J. Cooley, J. Tukey (1965); W. Gentleman, G. Sande (1966).
 *
 * Decimation in frequency takes natural order to bit-reversed, decimation in time takes bit-reversed to natural: a
 * transform and its way back never move an element. Vectors are arrays of blocks (field.ts). Inputs and outputs of
 * every routine are within productMax.
 */
import { i32 } from "../wasm/wasm-ops.js";
import type { Address, PrimeField } from "../field/field.js";
import type { FunctionBuilder, ModuleBuilder } from "../wasm/wasm-builder.js";
import type { Local } from "../wasm/wasm-ops.js";

/**
 * Defines, with sizes in blocks: `_dif_layer`, `_dit_layer` (data, half, groups, twiddles): butterflies between the
 * halves of `groups` neighbouring groups of 2 * half blocks, twiddles[j] for the j-th block of each half; `_dif_run`,
 * `_dit_run` (low, high, count, twiddles): the same butterflies between two runs of `count` blocks; `_pair_layer`
 * (data, count): the butterfly with twiddle 1 between the two lanes of each block; `_scale_blocks` (target, source,
 * count, factor): target = source * factor, an element at rest in Montgomery form; `_scale_elements`: the same for an
 * array of elements at rest; `_mul_blocks` (target, a, b, count); `_scatter_blocks` (blocks, elements, from, count),
 * `_gather_blocks` (elements, blocks, from, count): copy `count` elements between an array of elements at rest and
 * places from.. of an array of blocks.
 */
export function defineTransforms<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const blockBytes = field.elementBytes * field.lanes;
  defineLayer(module, field, `${name}_dif`, (f, low, high, twiddle) => [
    field.reduce(f, field.add(f, low, high)),
    field.mul(f, field.sub(f, low, high), twiddle),
  ]);
  defineLayer(module, field, `${name}_dit`, (f, low, high, twiddle) => {
    const product = field.mul(f, high, twiddle);
    return [field.reduce(f, field.add(f, low, product)), field.reduce(f, field.sub(f, low, product))];
  });
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
  module.define(
    { name: `${name}_scale_blocks`, params: ["i32", "i32", "i32", "i32"] },
    (f, target, source, count, factor) => {
      const scale = field.variable(f, field.reducedMax);
      field.assign(f, scale, field.load(f, field.lanes === 2 ? [factor, factor] : [factor], 0, field.reducedMax));
      forEachBlock(f, blockBytes, [target, source], count, (to, from) => {
        field.storeBlock(f, to, 0, field.reduce(f, field.mul(f, field.loadBlock(f, from, 0, field.productMax), scale)));
      });
    },
  );
  module.define(
    { name: `${name}_scale_elements`, params: ["i32", "i32", "i32", "i32"] },
    (f, target, source, count, factor) => {
      const lanes = (address: Address): Address[] => (field.lanes === 2 ? [address, address] : [address]);
      const scale = field.load(f, lanes(factor), 0, field.reducedMax);
      forEachBlock(f, field.elementBytes, [target, source], count, (to, from) => {
        field.store(f, [to], 0, field.reduce(f, field.mul(f, field.load(f, lanes(from), 0, field.productMax), scale)));
      });
    },
  );
  defineCopies(module, field, name);
  module.define({ name: `${name}_mul_blocks`, params: ["i32", "i32", "i32", "i32"] }, (f, target, a, b, count) => {
    forEachBlock(f, blockBytes, [target, a, b], count, (to, left, right) => {
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
  for (const direction of ["scatter", "gather"] as const) {
    module.define(
      { name: `${name}_${direction}_blocks`, params: ["i32", "i32", "i32", "i32"] },
      (f, target, source, from, count) => {
        f.for(i32.const(0), count, 1, (i) => {
          const place = f.let(i32.add(from, i));
          const [blocks, elements] = direction === "scatter" ? [target, source] : [source, target];
          const block = f.let(
            i32.add(blocks, i32.mul(i32.shrU(place, i32.const(field.lanes - 1)), i32.const(blockBytes))),
          );
          const element = f.let(i32.add(elements, i32.mul(i, i32.const(field.elementBytes))));
          const addresses = field.lanes === 2 ? [element, element] : [element];
          for (let lane = 0; lane < field.lanes; lane += 1) {
            f.if(i32.eq(i32.and(place, i32.const(field.lanes - 1)), i32.const(lane)), () => {
              if (direction === "scatter")
                field.storeLane(
                  f,
                  { address: block, offset: 0, lane: lane as 0 | 1 },
                  field.load(f, addresses, 0, field.productMax),
                );
              else
                field.store(
                  f,
                  [element],
                  0,
                  field.loadLane(f, { address: block, offset: 0, lane: lane as 0 | 1 }, field.productMax),
                );
            });
          }
        });
      },
    );
  }
}

type Butterfly<E> = (f: FunctionBuilder, low: E, high: E, twiddle: E) => readonly [E, E];

function defineLayer<E>(module: ModuleBuilder, field: PrimeField<E>, name: string, butterfly: Butterfly<E>): void {
  const blockBytes = field.elementBytes * field.lanes;
  /** Runs `low` up to `end`, with `high` a fixed distance above. */
  const emitRun = (
    f: FunctionBuilder,
    low: Local<"i32">,
    end: Address,
    distance: Address,
    twiddle: Local<"i32">,
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
  module.define({ name: `${name}_layer`, params: ["i32", "i32", "i32", "i32"] }, (f, data, half, groups, twiddles) => {
    const halfBytes = f.let(i32.mul(half, i32.const(blockBytes)));
    const low = f.let(data);
    f.for(i32.const(0), groups, 1, () => {
      emitRun(f, low, f.let(i32.add(low, halfBytes)), halfBytes, f.let(twiddles));
      f.set(low, i32.add(low, halfBytes));
    });
  });
  module.define({ name: `${name}_run`, params: ["i32", "i32", "i32", "i32"] }, (f, data, other, count, twiddles) => {
    const end = f.let(i32.add(data, i32.mul(count, i32.const(blockBytes))));
    emitRun(f, f.let(data), end, f.let(i32.sub(other, data)), f.let(twiddles));
  });
}

/** Walks the arrays together, block by block. */
export function forEachBlock(
  f: FunctionBuilder,
  blockBytes: number,
  arrays: readonly Address[],
  count: Address,
  body: (...at: Local<"i32">[]) => void,
): void {
  const cursors = arrays.map((array) => f.let(array));
  f.for(i32.const(0), count, 1, () => {
    body(...cursors);
    for (const cursor of cursors) f.set(cursor, i32.add(cursor, i32.const(blockBytes)));
  });
}
