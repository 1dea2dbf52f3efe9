/**
 * Emits the one hot routine of all multi-scalar multiplication: many independent additions of affine points with one
 * inversion (P. Montgomery's trick, "Speeding the Pollard and elliptic curve methods of factorization", 1987, section
 * 10.3.1). It is right for every pair of points of the curve: different, equal, opposite and infinite.
 *
 * A point is x || y, two reduced elements at rest; at infinity its x is a mark. A point word is a point's address, with
 * bit 0 set to mean its negative. A list entry is left word u32 || right word u32 || address of the result u32. A
 * result may replace an operand of the same entry only.
 */
import { i32 } from "../wasm/wasm-ops.js";
import { everyLane, halvesOf, lanesOf } from "../field/field.js";
import type { Address, Field } from "../field/field.js";
import type { Inversion } from "../field/inversion.js";
import type { FunctionBuilder, FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import type { ScratchBytes } from "../wasm/scratch-bytes.js";
import type { Local } from "../wasm/wasm-ops.js";

export const LIST_ENTRY_BYTES = 12;
/**
 * Chains of prefix products that run side by side, because within one each product waits for the one before. On a wide
 * out-of-order core 1, 2 and 4 chains measure alike (138 ns an addition in batches of 2^13); a second one costs nothing
 * and helps where the window is narrower.
 */
const CHAINS = 2;
const KIND_BYTES = 16;
/** How many steps ahead points are touched; 3 and 6 measure alike. */
const TOUCH_STEPS = 3;
const CACHE_LINE_BYTES = 64;
/** Entries of every batch come in multiples of this. */
const ENTRIES_PER_STEP = 4;
/** How one pair must be added. */
const KIND = { plain: 0, double: 1, infinity: 2, left: 3, right: 4 } as const;

export interface PointBatch {
  readonly entriesPerStep: number;
  readonly pointBytes: number;
  /** The scratch of the additions, by entries. */
  readonly scratch: ScratchBytes;
}

/**
 * Record of a vector of additions between the two passes: differences of x || prefix product || kinds, a byte per lane.
 */
interface BatchLayout {
  readonly block: number;
  readonly record: number;
  readonly kinds: number;
  readonly records: number;
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
    entriesPerStep: ENTRIES_PER_STEP,
    pointBytes: 2 * field.elementBytes,
    scratch: { base: layout.records, perStep: layout.record, itemsPerStep: field.lanes },
  };
}

/** Returns the number of the chains: four lanes are two independent halves already. */
export function chainsOf<E>(field: Field<E>): 1 | 2 {
  return field.lanes === 4 ? 1 : CHAINS;
}

/**
 * Returns the scratch of batches on four lanes over the field that this one has two of, with this one's inversion
 * folded (field/inversion.ts).
 */
export function foldedScratch<E>(field: Field<E>, inversion: Inversion): ScratchBytes {
  const block = 2 * field.blockBytes;
  return {
    base: 2 * block + field.blockBytes + inversion.scratchBytes,
    perStep: 2 * block + KIND_BYTES,
    itemsPerStep: 2 * field.lanes,
  };
}

/** Returns the layout of the scratch of a field's batches. */
function batchLayout<E>(field: Field<E>, inversion: Inversion): BatchLayout {
  const block = field.blockBytes;
  return {
    block,
    record: 2 * block + KIND_BYTES,
    kinds: 2 * block,
    records: 2 * chainsOf(field) * block + inversion.scratchBytes,
  };
}

interface ForwardState {
  readonly entry: Local<"i32">;
  readonly end: Local<"i32">;
  readonly record: Local<"i32">;
  readonly scratch: Address;
  readonly patch: FunctionHandle;
}

/** Differences of x and their prefix products, chain by chain. */
function emitForward<E>(f: FunctionBuilder, field: Field<E>, layout: BatchLayout, state: ForwardState): void {
  const { entry, end, record, scratch } = state;
  const chains = Array.from({ length: chainsOf(field) }, () => field.variable(f, field.productMax));
  for (const chain of chains) field.assign(f, chain, field.constant(f, [1n]));
  const touched = f.local("i32");
  f.while(i32.ltU(entry, end), () => {
    emitTouchAhead(f, field, { entry, end, touched });
    for (const chain of chains) {
      const words = loadWords(f, field, entry);
      const difference = field.variable(f, 2n * field.reducedMax);
      const x1 = field.load(
        f,
        words.left.map((word) => f.let(addressOf(word))),
        0,
        field.reducedMax,
      );
      const x2 = field.load(
        f,
        words.right.map((word) => f.let(addressOf(word))),
        0,
        field.reducedMax,
      );
      field.assign(f, difference, differenceOf(f, field, x2, x1));
      f.run(i32.store(record, i32.const(0), layout.kinds));
      field.storeBlock(f, record, 0, difference);
      f.if(field.mayBeZero(f, difference), () => {
        f.call(state.patch, [entry, record]);
        field.assign(f, difference, field.loadBlock(f, record, 0, 2n * field.reducedMax));
      });
      field.storeBlock(f, record, layout.block, chain);
      field.assign(f, chain, field.mul(f, chain, difference));
      f.set(record, i32.add(record, i32.const(layout.record)));
      f.set(entry, i32.add(entry, i32.const(field.lanes * LIST_ENTRY_BYTES)));
    }
  });
  for (const [i, chain] of chains.entries()) field.storeBlock(f, scratch, i * layout.block, chain);
  // Stored so that the compiler does not drop the reads ahead; the place is overwritten next.
  f.run(i32.store(scratch, touched, chainsOf(field) * layout.block));
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
  const ahead = f.let(i32.add(entry, i32.const(TOUCH_STEPS * field.lanes * chainsOf(field) * LIST_ENTRY_BYTES)));
  f.set(ahead, i32.select(ahead, entry, i32.ltU(ahead, end)));
  for (let i = 0; i < field.lanes * chainsOf(field); i += 1) {
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
  const { entry, record, scratch } = state;
  const chains = Array.from({ length: chainsOf(field) }, (_, i) => {
    const chain = field.variable(f, field.productMax);
    field.assign(f, chain, field.loadBlock(f, scratch, i * layout.block, field.productMax));
    return chain;
  });
  f.while(i32.gtU(entry, state.start), () => {
    for (const chain of [...chains].reverse()) {
      f.set(record, i32.sub(record, i32.const(layout.record)));
      f.set(entry, i32.sub(entry, i32.const(field.lanes * LIST_ENTRY_BYTES)));
      const inverse = stored(f, field, field.mul(f, chain, field.loadBlock(f, record, layout.block, field.productMax)));
      field.assign(f, chain, field.mul(f, chain, field.loadBlock(f, record, 0, 2n * field.reducedMax)));
      f.if(
        i32.load(record, layout.kinds),
        () => {
          field.storeBlock(f, record, layout.block, inverse);
          f.call(state.finish, [entry, record]);
        },
        () => {
          const words = loadWords(f, field, entry);
          const p = loadPoint(f, field, words.left);
          const q = loadPoint(f, field, words.right);
          const slope = field.mul(f, differenceOf(f, field, q.y, p.y), inverse);
          emitSum(f, field, { slope, p, qx: q.x, targets: words.targets });
        },
      );
    }
  });
}

/** x3 = s^2 - x1 - x2, y3 = s (x1 - x3) - y1. */
function emitSum<E>(
  f: FunctionBuilder,
  field: Field<E>,
  sum: { slope: E; p: { x: E; y: E }; qx: E; targets: readonly Address[] },
): void {
  const { slope, p, qx, targets } = sum;
  const x3 = field.reduce(f, field.sub(f, field.square(f, slope), field.add(f, p.x, qx)));
  const y3 = field.reduce(f, field.sub(f, field.mul(f, slope, differenceOf(f, field, p.x, x3)), p.y));
  field.store(f, targets, 0, x3);
  field.store(f, targets, field.elementBytes, y3);
}

/**
 * Finds the kind of each lane of a vector that may need a special case, and puts a usable denominator in its place: 2y
 * to double, and 1 where none is needed.
 */
function definePatch<E>(module: ModuleBuilder, field: Field<E>, layout: BatchLayout, name: string): FunctionHandle {
  const classify = defineClassify(module, field, name);
  return module.define(
    { name: `${name}_patch_vector`, params: ["i32", "i32"], exported: false },
    (f, entry, record) => {
      for (const lane of lanesOf(field)) {
        const left = i32.load(entry, lane * LIST_ENTRY_BYTES);
        const [kind] = f.callFor("i32", classify, [left, i32.load(entry, lane * LIST_ENTRY_BYTES + 4)]);
        if (kind === undefined) throw new Error("classify gives a kind");
        f.run(i32.store8(i32.add(record, i32.const(lane)), kind, layout.kinds));
        f.if(i32.eq(kind, i32.const(KIND.double)), () => {
          const { y } = loadPoint(f, field, everyLane(field, left));
          field.storeLane(f, { address: record, offset: 0, lane }, field.reduce(f, field.add(f, y, y)));
        });
        f.if(i32.gtU(kind, i32.const(KIND.double)), () =>
          field.storeLane(f, { address: record, offset: 0, lane }, field.constant(f, [1n])),
        );
      }
    },
  );
}

/** Defines (left word, right word) -> the KIND of the pair. */
function defineClassify<E>(module: ModuleBuilder, field: Field<E>, name: string): FunctionHandle {
  return module.define(
    { name: `${name}_classify_pair`, params: ["i32", "i32"], results: ["i32"], exported: false },
    (f, left, right) => {
      f.if(field.isMarked(f, addressOf(left)), () => f.return(i32.const(KIND.right)));
      f.if(field.isMarked(f, addressOf(right)), () => f.return(i32.const(KIND.left)));
      const p = loadPoint(f, field, everyLane(field, left));
      const q = loadPoint(f, field, everyLane(field, right));
      f.if(i32.eqz(field.isZero(f, field.sub(f, p.x, q.x))), () => f.return(i32.const(KIND.plain)));
      // Equal x: the same point, unless the y differ or are both 0.
      f.if(i32.eqz(field.isZero(f, field.sub(f, p.y, q.y))), () => f.return(i32.const(KIND.infinity)));
      f.if(field.isZero(f, p.y), () => f.return(i32.const(KIND.infinity)));
      f.return(i32.const(KIND.double));
    },
  );
}

/**
 * Defines the second pass for a vector with a special lane: each lane by itself, by its kind. The inverses lie in the
 * record's second block.
 */
function defineFinish<E>(module: ModuleBuilder, field: Field<E>, layout: BatchLayout, name: string): FunctionHandle {
  const finishLane = defineFinishLane(module, field, name);
  return module.define(
    { name: `${name}_finish_vector`, params: ["i32", "i32"], exported: false },
    (f, entry, record) => {
      const inverse = f.let(i32.add(record, i32.const(layout.block)));
      for (const lane of lanesOf(field)) {
        const kind = i32.load8U(record, layout.kinds + lane);
        // The inverse of this lane, in the first lane's place.
        const first = field.loadLane(f, { address: inverse, offset: 0, lane }, field.productMax);
        field.storeLane(f, { address: inverse, offset: 0, lane: 0 }, first);
        f.call(finishLane, [i32.add(entry, i32.const(lane * LIST_ENTRY_BYTES)), kind, inverse]);
      }
    },
  );
}

/** Defines (entry, KIND, block with the inverse in its first lane): stores the sum of one entry. */
function defineFinishLane<E>(module: ModuleBuilder, field: Field<E>, name: string): FunctionHandle {
  return module.define(
    { name: `${name}_finish_lane`, params: ["i32", "i32", "i32"], exported: false },
    (f, entry, kind, block) => {
      const [left, right, target] = [0, 4, 8].map((offset) => f.let(i32.load(entry, offset))) as [
        Local<"i32">,
        Local<"i32">,
        Local<"i32">,
      ];
      const targets = everyLane(field, target);
      const p = loadPoint(f, field, everyLane(field, left));
      const q = loadPoint(f, field, everyLane(field, right));
      const inverse = field.loadLane(f, { address: block, offset: 0, lane: 0 }, field.productMax);
      f.if(i32.eq(kind, i32.const(KIND.plain)), () => {
        emitSum(f, field, { slope: field.mul(f, differenceOf(f, field, q.y, p.y), inverse), p, qx: q.x, targets });
      });
      f.if(i32.eq(kind, i32.const(KIND.double)), () => {
        const squared = field.square(f, p.x);
        const numerator = field.reduce(f, field.add(f, field.add(f, squared, squared), squared));
        emitSum(f, field, { slope: field.mul(f, numerator, inverse), p, qx: p.x, targets });
      });
      f.if(i32.eq(kind, i32.const(KIND.infinity)), () => field.storeMark(f, target));
      for (const [which, point, word] of [
        [KIND.left, p, left],
        [KIND.right, q, right],
      ] as const) {
        f.if(i32.eq(kind, i32.const(which)), () => {
          f.if(
            field.isMarked(f, addressOf(word)),
            () => field.storeMark(f, target),
            () => {
              field.store(f, targets, 0, point.x);
              field.store(f, targets, field.elementBytes, field.normalize(f, point.y));
            },
          );
        });
      }
    },
  );
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

/** The points that the words name, with their signs; y is reduced but, for the integer kernel, not normalised. */
function loadPoint<E>(f: FunctionBuilder, field: Field<E>, words: readonly Address[]): { x: E; y: E } {
  const addresses = words.map((word) => f.let(addressOf(word)));
  const unique = words.every((word) => word === words[0]) ? words.map(() => addresses[0] as Address) : addresses;
  const signs = words.map((word) => f.let(i32.and(word, i32.const(1))));
  const y = field.load(f, unique, field.elementBytes, field.reducedMax);
  return { x: field.load(f, unique, 0, field.reducedMax), y: field.applySigns(f, y, signs) };
}

function addressOf(word: Address): Address {
  return i32.and(word, i32.const(-2));
}

/** a - b of reduced elements, as a factor. */
export function differenceOf<E>(f: FunctionBuilder, field: Field<E>, a: E, b: E): E {
  return field.normalize(f, field.sub(f, a, b));
}

/** A product as an element within productMax. */
export function stored<E>(f: FunctionBuilder, field: Field<E>, product: E): E {
  const variable = field.variable(f, field.productMax);
  field.assign(f, variable, product);
  return variable;
}
