/**
 * Emits the one hot routine of all multi-scalar multiplication: many independent additions of affine points with one
 * inversion (P. Montgomery's trick, "Speeding the Pollard and elliptic curve methods of factorization", 1987, section
 * 10.3.1). It is right for every pair of points of the curve: different, equal, opposite and infinite.
 *
 * A point is x || y, two reduced elements at rest; at infinity its x is a mark. A point word is a point's address, with
 * bit 0 set to mean its negative. A result may replace an operand of the same entry of the list only.
 */
import { i32 } from "../wasm/wasm-ops.js";
import { halvesOf, lanesOf, sideBySide } from "../field/field.js";
import type { Address, Field } from "../field/field.js";
import type { Inversion } from "../field/inversion.js";
import type { FunctionBuilder, FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import type { ScratchBytes } from "../wasm/scratch-bytes.js";
import type { Local } from "../wasm/wasm-ops.js";
import { addressOf, differenceOf, loadPoint, storePoint, stored, sumBy } from "./affine-sum.js";
import { LIST_ENTRY_BYTES, batchLayout, chainsOf, entriesPerStep } from "./batch-layout.js";
import type { BatchLayout } from "./batch-layout.js";
import { defineFinish, definePatch } from "./special-pairs.js";

/** How many steps ahead points are touched; 3 and 6 measure alike. */
const TOUCH_STEPS = 3;
const CACHE_LINE_BYTES = 64;

export interface PointBatch {
  /** Entries of every batch come in multiples of this. */
  readonly entriesPerStep: number;
  readonly pointBytes: number;
  /** The scratch of the additions, by entries. */
  readonly scratch: ScratchBytes;
}

/**
 * Defines `name`_add_batch (list, entries, scratch): adds the two points of each entry and stores the reduced sum.
 * `entries`, which may be 0, must be a multiple of `entriesPerStep`.
 */
export function definePointBatch<E>(
  module: ModuleBuilder,
  field: Field<E>,
  inversion: Inversion,
  name: string,
): PointBatch {
  const layout = batchLayout(field, inversion);
  const patch = definePatch(module, field, layout, name);
  const finish = defineFinish(module, field, layout, name);
  const signature = { name: `${name}_add_batch`, params: ["i32", "i32", "i32"], halves: halvesOf(field) } as const;
  module.define(signature, (f, list, entries, scratch) => {
    f.if(i32.eqz(entries), () => f.return());
    const record = f.let(i32.add(scratch, i32.const(layout.records)));
    const entry = f.let(list);
    const end = f.let(i32.add(list, i32.mul(entries, i32.const(LIST_ENTRY_BYTES))));
    emitForward(f, field, layout, { entry, end, record, scratch, patch });
    emitChainInverses(f, field, layout, { inversion, scratch });
    emitBackward(f, field, layout, { entry, start: list, record, scratch, finish });
  });
  return {
    entriesPerStep: entriesPerStep(field),
    pointBytes: 2 * field.elementBytes,
    scratch: { base: layout.records, perStep: layout.record, itemsPerStep: field.lanes },
  };
}

interface ForwardState {
  readonly entry: Local<"i32">;
  readonly end: Local<"i32">;
  readonly record: Local<"i32">;
  readonly scratch: Address;
  readonly patch: FunctionHandle;
}

/** What a step adds with one of its chains. */
interface Vector<E> {
  readonly chain: E;
  readonly entry: Address;
  readonly record: Address;
}

/** Returns the vectors of the step at an entry and its record. */
function vectorsOf<E>(
  f: FunctionBuilder,
  field: Field<E>,
  layout: BatchLayout,
  { chains, entry, record }: { readonly chains: readonly E[]; readonly entry: Address; readonly record: Address },
): Vector<E>[] {
  return chains.map((chain, i) => ({
    chain,
    entry: f.let(i32.add(entry, i32.const(i * field.lanes * LIST_ENTRY_BYTES))),
    record: f.let(i32.add(record, i32.const(i * layout.record))),
  }));
}

/** Differences of x and their prefix products. */
function emitForward<E>(f: FunctionBuilder, field: Field<E>, layout: BatchLayout, state: ForwardState): void {
  const { entry, end, record, scratch, patch } = state;
  const chains = Array.from({ length: chainsOf(field) }, () => field.variable(f, field.productMax));
  for (const chain of chains) field.assign(f, chain, field.constant(f, [1n]));
  const touched = f.local("i32");
  f.while(i32.ltU(entry, end), () => {
    emitTouchAhead(f, field, { entry, end, touched });
    const vectors = vectorsOf(f, field, layout, { chains, entry, record });
    const pairs = sideBySide(
      f,
      vectors.map((vector) => () => ({ ...vector, difference: emitDifference(f, field, vector.entry) })),
    );
    for (const { record: at, difference } of pairs) {
      f.run(i32.store(at, i32.const(0), layout.kinds));
      field.storeBlock(f, at, 0, difference);
    }
    f.if(anyOf(pairs.map(({ difference }) => field.mayBeZero(f, difference))), () => {
      for (const { entry: from, record: at, difference } of pairs) {
        f.call(patch, [from, at]);
        field.assign(f, difference, field.loadBlock(f, at, 0, 2n * field.reducedMax));
      }
    });
    for (const { record: at, chain } of pairs) field.storeBlock(f, at, layout.block, chain);
    const products = sideBySide(
      f,
      pairs.map(({ chain, difference }) => () => ({ chain, product: field.mul(f, chain, difference) })),
    );
    for (const { chain, product } of products) field.assign(f, chain, product);
    f.set(record, i32.add(record, i32.const(chains.length * layout.record)));
    f.set(entry, i32.add(entry, i32.const(entriesPerStep(field) * LIST_ENTRY_BYTES)));
  });
  for (const [i, chain] of chains.entries()) field.storeBlock(f, scratch, i * layout.block, chain);
  // Stored so that the compiler does not drop the reads ahead; the place is overwritten next.
  f.run(i32.store(scratch, touched, chainsOf(field) * layout.block));
}

/** The difference of the x of an entry's points, lane by lane. */
function emitDifference<E>(f: FunctionBuilder, field: Field<E>, entry: Address): E {
  const [x1, x2] = [0, 4].map((offset) => {
    const addresses = lanesOf(field).map((lane) => f.let(addressOf(i32.load(entry, lane * LIST_ENTRY_BYTES + offset))));
    return field.load(f, addresses, 0, field.reducedMax);
  }) as [E, E];
  const difference = field.variable(f, 2n * field.reducedMax);
  field.assign(f, difference, differenceOf(f, field, x2, x1));
  return difference;
}

/**
 * Reads a word of every cache line of the points that are added a few steps later. WebAssembly has no prefetch, and
 * points are scattered over megabytes: without this each step waits for the third-level cache, and a sum of 2^16 points
 * took a tenth longer.
 */
function emitTouchAhead<E>(
  f: FunctionBuilder,
  field: Field<E>,
  state: { entry: Local<"i32">; end: Address; touched: Local<"i32"> },
): void {
  const { entry, end, touched } = state;
  const ahead = f.let(i32.add(entry, i32.const(TOUCH_STEPS * entriesPerStep(field) * LIST_ENTRY_BYTES)));
  f.set(ahead, i32.select(ahead, entry, i32.ltU(ahead, end)));
  for (let i = 0; i < entriesPerStep(field); i += 1) {
    for (const side of [0, 4]) {
      const address = f.let(addressOf(i32.load(ahead, i * LIST_ENTRY_BYTES + side)));
      for (const offset of lineOffsets(2 * field.elementBytes))
        f.set(touched, i32.xor(touched, i32.load(address, offset)));
    }
  }
}

/** Offsets that together reach every cache line of a point, wherever it starts. */
function lineOffsets(pointBytes: number): number[] {
  const offsets: number[] = [];
  for (let offset = 0; offset < pointBytes - 4; offset += CACHE_LINE_BYTES) offsets.push(offset);
  return [...offsets, pointBytes - 4];
}

/** Turns the chains' products, stored at the start of the scratch, into their inverses, with one inversion for all. */
function emitChainInverses<E>(
  f: FunctionBuilder,
  field: Field<E>,
  layout: BatchLayout,
  { inversion, scratch }: { readonly inversion: Inversion; readonly scratch: Address },
): void {
  const count = chainsOf(field);
  const chain = (i: number) => field.loadBlock(f, scratch, i * layout.block, field.productMax);
  const partial: E[] = [];
  for (let i = 0; i < count; i += 1)
    partial.push(i === 0 ? chain(0) : stored(f, field, field.mul(f, partial[i - 1] as E, chain(i))));
  const product = i32.add(scratch, i32.const(count * layout.block));
  field.storeBlock(f, product, 0, partial[count - 1] as E);
  f.call(inversion.handle, [product, product, i32.add(scratch, i32.const(2 * count * layout.block))]);
  let rest = field.loadBlock(f, product, 0, field.productMax);
  for (let i = count - 1; i > 0; i -= 1) {
    const own = chain(i);
    field.storeBlock(f, scratch, i * layout.block, stored(f, field, field.mul(f, rest, partial[i - 1] as E)));
    rest = stored(f, field, field.mul(f, rest, own));
  }
  field.storeBlock(f, scratch, 0, rest);
}

interface BackwardState {
  readonly entry: Local<"i32">;
  readonly start: Address;
  readonly record: Local<"i32">;
  readonly scratch: Address;
  readonly finish: FunctionHandle;
}

/** Unwinds the prefix products from the end: each pair gets its own inverse and its sum. */
function emitBackward<E>(f: FunctionBuilder, field: Field<E>, layout: BatchLayout, state: BackwardState): void {
  const { entry, record, scratch, finish } = state;
  const chains = Array.from({ length: chainsOf(field) }, (_, i) => {
    const chain = field.variable(f, field.productMax);
    field.assign(f, chain, field.loadBlock(f, scratch, i * layout.block, field.productMax));
    return chain;
  });
  f.while(i32.gtU(entry, state.start), () => {
    f.set(record, i32.sub(record, i32.const(chains.length * layout.record)));
    f.set(entry, i32.sub(entry, i32.const(entriesPerStep(field) * LIST_ENTRY_BYTES)));
    const vectors = vectorsOf(f, field, layout, { chains, entry, record }).map((vector) => ({
      ...vector,
      inverse: emitInverse(f, field, layout, vector),
    }));
    f.if(
      anyOf(vectors.map(({ record: at }) => i32.load(at, layout.kinds))),
      () => {
        for (const { entry: from, record: at, inverse } of vectors) {
          field.storeBlock(f, at, layout.block, inverse);
          f.call(finish, [from, at]);
        }
      },
      () => {
        emitSums(f, field, layout, vectors);
      },
    );
  });
}

/** The inverse of a vector's differences; the chain becomes that of what stands before. */
function emitInverse<E>(f: FunctionBuilder, field: Field<E>, layout: BatchLayout, { chain, record }: Vector<E>): E {
  const [inverse, rest] = sideBySide(f, [
    () => field.mul(f, chain, field.loadBlock(f, record, layout.block, field.productMax)),
    () => field.mul(f, chain, field.loadBlock(f, record, 0, 2n * field.reducedMax)),
  ]) as [E, E];
  field.assign(f, chain, rest);
  return stored(f, field, inverse);
}

/** Adds the pairs of vectors without special lanes. */
function emitSums<E>(
  f: FunctionBuilder,
  field: Field<E>,
  layout: BatchLayout,
  vectors: readonly (Vector<E> & { readonly inverse: E })[],
): void {
  const sums = sideBySide(
    f,
    vectors.map(({ entry, record, inverse }) => () => {
      const { left, right, targets } = loadWords(f, field, entry);
      const [p, q] = [loadPoint(f, field, left), loadPoint(f, field, right)];
      const slope = field.mul(f, differenceOf(f, field, q.y, p.y), inverse);
      return { record, targets, sum: sumBy(f, field, slope, { p, qx: q.x }) };
    }),
  );
  for (const { record, targets, sum } of sums) {
    // V8 starts to pair at stores to neighbouring places (wide/), which the sums' own are not: without these copies,
    // which nothing reads, most of a step would stay at 128 bits and take half as long again.
    if (f.halves === 2) {
      field.storeBlock(f, record, 0, sum.x);
      field.storeBlock(f, record, layout.block, sum.y);
    }
    storePoint(f, field, targets, sum);
  }
}

function loadWords<E>(
  f: FunctionBuilder,
  field: Field<E>,
  entry: Address,
): { left: Local<"i32">[]; right: Local<"i32">[]; targets: Local<"i32">[] } {
  const column = (offset: number) =>
    lanesOf(field).map((lane) => f.let(i32.load(entry, lane * LIST_ENTRY_BYTES + offset)));
  return { left: column(0), right: column(4), targets: column(8) };
}

/** Not 0 when one of the flags is not. */
function anyOf(flags: readonly Address[]): Address {
  return flags.reduce((a, b) => i32.or(a, b));
}
