/**
 * Emits the bookkeeping of Pippenger's method: scalars to signed digits, points into buckets, buckets into lists of
 * independent additions. Nothing here computes on a curve; point words and lists are those of point/point-batch.ts. N.
 * Pippenger, "On the evaluation of powers and related problems" (1976); signed digits as in D. Bernstein, J. Doumen, T.
 * Lange, J. Oosterwijk, "Faster batch forgery identification" (2012).
 */
import { i32, i64 } from "../wasm/wasm-ops.js";
import { LIST_ENTRY_BYTES } from "../point/batch-layout.js";
import type { FunctionBuilder, ModuleBuilder } from "../wasm/wasm-builder.js";
import type { Expression, Local } from "../wasm/wasm-ops.js";

type I32 = Expression<"i32">;
type I64 = Local<"i64">;

/** Widest window: a signed digit takes 16 bits at rest. */
export const WINDOW_BITS_MAX = 16;

/**
 * Defines `classify`, `recode`, `count_digits`, `start_buckets`, `scatter`, `pair_round` and `fold_buckets`; their
 * parameters stand at each of them. All addresses are multiples of 4, and all counts may be 0.
 * @param scalarPrime order of the group: scalars are below it.
 * @param scalarBytes bytes of a scalar, little-endian, a multiple of 8.
 */
export function defineBuckets(module: ModuleBuilder, scalarPrime: bigint, scalarBytes: number): void {
  defineClassify(module, scalarPrime, scalarBytes);
  defineRecode(module, scalarPrime, scalarBytes);
  defineCount(module);
  defineStarts(module);
  defineScatter(module);
  definePairRound(module);
  defineFold(module);
}

/** Returns the bytes of `recode`'s scratch: a scalar, a word for the carry, and a word for unaligned reads. */
export function recodeScratchBytes(scalarBytes: number): number {
  return scalarBytes + 16;
}

/**
 * Defines classify(...) -> (number of kept scalars, number of ones).
 *
 * Point i lies at points + i * pointBytes, its scalar at scalars + indices[i] * scalarBytes (i itself when the address
 * `indices` is 0). Scalars must be below the order. One above half of it counts as its negative, with the point
 * negated. Zero scalars are dropped. Point words with scalar 1 or -1 are listed in `ones`; of the others, `kept` gets
 * the index of the scalar and `sources` the point word. The three lists have room for `count` words of 32 bits.
 */
function defineClassify(module: ModuleBuilder, scalarPrime: bigint, scalarBytes: number): void {
  const params = {
    scalars: "i32",
    indices: "i32",
    points: "i32",
    pointBytes: "i32",
    count: "i32",
    kept: "i32",
    sources: "i32",
    ones: "i32",
  } as const;
  module.defineNamed(
    { name: "classify", params, results: ["i32", "i32"] },
    (f, { scalars, indices, points, pointBytes, count, kept, sources, ones }) => {
      const keptCount = f.local("i32");
      const onesCount = f.local("i32");
      f.for(i32.const(0), count, 1, (i) => {
        const index = f.let(i);
        f.if(indices, () => f.set(index, i32.load(i32.add(indices, i32.mul(i, i32.const(4))))));
        const words = loadScalar(f, scalars, index, scalarBytes);
        f.if(isNotZero(words), () => {
          const sign = emitCentre(f, words, scalarPrime);
          const source = f.let(i32.or(i32.add(points, i32.mul(i, pointBytes)), sign));
          f.if(
            isOne(words),
            () => {
              f.run(i32.store(i32.add(ones, i32.mul(onesCount, i32.const(4))), source));
              f.set(onesCount, i32.add(onesCount, i32.const(1)));
            },
            () => {
              f.run(i32.store(i32.add(sources, i32.mul(keptCount, i32.const(4))), source));
              f.run(i32.store(i32.add(kept, i32.mul(keptCount, i32.const(4))), index));
              f.set(keptCount, i32.add(keptCount, i32.const(1)));
            },
          );
        });
      });
      f.return(keptCount, onesCount);
    },
  );
}

/**
 * Defines recode(...): writes the signed digits of the scalars that `kept` lists, centred as in `classify`, at
 * digits[window * count + i], signed numbers of 16 bits from -2^(windowBits - 1) to 2^(windowBits - 1) - 1.
 *
 * `offset` is the address of an integer of scalarBytes + 8 bytes, the sum of 2^(windowBits - 1) at every window. Added
 * first, it makes every digit a plain field of bits minus half the window, with no carry from one window to the next.
 */
function defineRecode(module: ModuleBuilder, scalarPrime: bigint, scalarBytes: number): void {
  const params = {
    scalars: "i32",
    kept: "i32",
    count: "i32",
    digits: "i32",
    windowBits: "i32",
    windows: "i32",
    offset: "i32",
    scratch: "i32",
  } as const;
  module.defineNamed({ name: "recode", params }, (f, params) => {
    const { scalars, kept, count, digits, windowBits, windows, offset, scratch } = params;
    const half = f.let(i32.shl(i32.const(1), i32.sub(windowBits, i32.const(1))));
    const mask = f.let(i32.sub(i32.shl(i32.const(1), windowBits), i32.const(1)));
    f.for(i32.const(0), count, 1, (i) => {
      const words = loadScalar(f, scalars, f.let(i32.load(i32.add(kept, i32.mul(i, i32.const(4))))), scalarBytes);
      emitCentre(f, words, scalarPrime);
      emitAddOffset(f, words, offset, scratch);
      const target = f.let(i32.add(digits, i32.mul(i, i32.const(2))));
      const bit = f.local("i32");
      f.set(bit, i32.const(0));
      f.for(i32.const(0), windows, 1, () => {
        const bits = i32.shrU(i32.load(i32.add(scratch, i32.shrU(bit, i32.const(3)))), i32.and(bit, i32.const(7)));
        f.run(i32.store16(target, i32.sub(i32.and(bits, mask), half)));
        f.set(target, i32.add(target, i32.mul(count, i32.const(2))));
        f.set(bit, i32.add(bit, windowBits));
      });
    });
  });
}

function loadScalar(f: FunctionBuilder, scalars: I32, index: I32, scalarBytes: number): I64[] {
  const at = f.let(i32.add(scalars, i32.mul(index, i32.const(scalarBytes))));
  return Array.from({ length: scalarBytes / 8 }, (_, w) => f.let(i64.load(at, 8 * w)));
}

/** Replaces k by order - k when k is above half the order, and returns 1 then, else 0. */
function emitCentre(f: FunctionBuilder, words: readonly I64[], order: bigint): Local<"i32"> {
  const { borrow: above } = subtractFrom(f, order >> 1n, words);
  const sign = f.let(i32.wrap(above));
  f.if(sign, () => {
    const { words: negated } = subtractFrom(f, order, words);
    for (const [w, word] of words.entries()) f.set(word, negated[w] ?? word);
  });
  return sign;
}

/** constant - words, with a borrow of 1 when that is negative. */
function subtractFrom(f: FunctionBuilder, constant: bigint, words: readonly I64[]): { words: I64[]; borrow: I64 } {
  let borrow = f.let(i64.const(0n));
  const result: I64[] = [];
  for (const [w, word] of words.entries()) {
    const minuend = i64.const((constant >> BigInt(64 * w)) & 0xffff_ffff_ffff_ffffn);
    const difference = f.let(i64.sub(minuend, word));
    const lent = i32.or(i64.ltU(minuend, word), i64.ltU(difference, borrow));
    const next = f.let(i64.extendU(lent));
    result.push(f.let(i64.sub(difference, borrow)));
    borrow = next;
  }
  return { words: result, borrow };
}

/** scratch := words + the offset's words, one word longer, and a zero word. */
function emitAddOffset(f: FunctionBuilder, words: readonly I64[], offset: I32, scratch: I32): void {
  let carry = f.let(i64.const(0n));
  for (const [w, word] of words.entries()) {
    const added = f.let(i64.load(offset, 8 * w));
    const partial = f.let(i64.add(word, added));
    const sum = f.let(i64.add(partial, carry));
    carry = f.let(i64.extendU(i32.or(i64.ltU(partial, added), i64.ltU(sum, partial))));
    f.run(i64.store(scratch, sum, 8 * w));
  }
  f.run(i64.store(scratch, i64.add(i64.load(offset, 8 * words.length), carry), 8 * words.length));
  f.run(i64.store(scratch, i64.const(0n), 8 * words.length + 8));
}

/** Defines count_digits(counts, digits, count): counts[|digit| - 1] += 1 for each of `count` digits that is not 0. */
function defineCount(module: ModuleBuilder): void {
  module.define({ name: "count_digits", params: ["i32", "i32", "i32"] }, (f, counts, digits, count) => {
    const end = f.let(i32.add(digits, i32.mul(count, i32.const(2))));
    const at = f.let(digits);
    f.while(i32.ltU(at, end), () => {
      const digit = f.let(i32.load16S(at));
      f.if(digit, () => {
        const slot = f.let(i32.add(counts, bucketOffset(digit, f.let(i32.shrU(digit, i32.const(31))))));
        f.run(i32.store(slot, i32.add(i32.load(slot), i32.const(1))));
      });
      f.set(at, i32.add(at, i32.const(2)));
    });
  });
}

/** Bytes from the first bucket's word to that of |digit|; `negative` is the digit's sign, 0 or 1. */
function bucketOffset(digit: I32, negative: I32): I32 {
  const magnitude = i32.add(i32.xor(digit, i32.sub(i32.const(0), negative)), negative);
  return i32.shl(i32.sub(magnitude, i32.const(1)), i32.const(2));
}

/** Defines start_buckets(counts, starts, cursors, size): starts[b] = cursors[b] = the sum of the counts before b. */
function defineStarts(module: ModuleBuilder): void {
  const params = { counts: "i32", starts: "i32", cursors: "i32", size: "i32" } as const;
  module.defineNamed({ name: "start_buckets", params }, (f, { counts, starts, cursors, size }) => {
    const next = f.local("i32");
    f.for(i32.const(0), size, 1, (bucket) => {
      const at = f.let(i32.shl(bucket, i32.const(2)));
      f.run(i32.store(i32.add(starts, at), next));
      f.run(i32.store(i32.add(cursors, at), next));
      f.set(next, i32.add(next, i32.load(i32.add(counts, at))));
    });
  });
}

/**
 * Defines scatter(...): items[cursors[|digit| - 1]++] = source i with its sign flipped by the sign of digit i, for each
 * digit that is not 0.
 */
function defineScatter(module: ModuleBuilder): void {
  module.defineNamed(
    { name: "scatter", params: { items: "i32", cursors: "i32", digits: "i32", sources: "i32", count: "i32" } },
    (f, { items, cursors, digits, sources, count }) => {
      const end = f.let(i32.add(digits, i32.mul(count, i32.const(2))));
      const at = f.let(digits);
      const source = f.let(sources);
      f.while(i32.ltU(at, end), () => {
        const digit = f.let(i32.load16S(at));
        f.if(digit, () => {
          const negative = f.let(i32.shrU(digit, i32.const(31)));
          const slot = f.let(i32.add(cursors, bucketOffset(digit, negative)));
          const cursor = f.let(i32.load(slot));
          f.run(i32.store(slot, i32.add(cursor, i32.const(1))));
          f.run(i32.store(i32.add(items, i32.shl(cursor, i32.const(2))), i32.xor(i32.load(source), negative)));
        });
        f.set(at, i32.add(at, i32.const(2)));
        f.set(source, i32.add(source, i32.const(4)));
      });
    },
  );
}

/**
 * Defines pair_round(...) -> end of the list: one round of the tree over buckets from to to - 1. Bucket b holds the
 * point words items[starts[b]] to items[starts[b] + counts[b] - 1]. Neighbours in a bucket become entries of `list`,
 * and their sums the items of the bucket. The sum of a last pair goes to the bucket's place in `results`, the others to
 * `temporary`, one after the other, `pointBytes` each.
 */
function definePairRound(module: ModuleBuilder): void {
  const params = {
    items: "i32",
    starts: "i32",
    counts: "i32",
    from: "i32",
    to: "i32",
    list: "i32",
    temporary: "i32",
    results: "i32",
    pointBytes: "i32",
  } as const;
  module.defineNamed(
    { name: "pair_round", params, results: ["i32"] },
    (f, { items, starts, counts, from, to, list, temporary, results, pointBytes }) => {
      f.for(from, to, 1, (bucket) => {
        const countAt = f.let(i32.add(counts, i32.shl(bucket, i32.const(2))));
        const count = f.let(i32.load(countAt));
        f.if(i32.gtU(count, i32.const(1)), () => {
          const start = f.let(
            i32.add(items, i32.shl(i32.load(i32.add(starts, i32.shl(bucket, i32.const(2)))), i32.const(2))),
          );
          const read = f.let(start);
          const write = f.let(start);
          const end = f.let(i32.add(start, i32.shl(i32.and(count, i32.const(-2)), i32.const(2))));
          const isLast = f.let(i32.eq(count, i32.const(2)));
          f.while(i32.ltU(read, end), () => {
            const target = f.let(temporary);
            f.if(
              isLast,
              () => f.set(target, i32.add(results, i32.mul(bucket, pointBytes))),
              () => f.set(temporary, i32.add(temporary, pointBytes)),
            );
            f.run(i64.store(list, i64.load(read)));
            f.run(i32.store(list, target, 8));
            f.run(i32.store(write, target));
            f.set(list, i32.add(list, i32.const(LIST_ENTRY_BYTES)));
            f.set(read, i32.add(read, i32.const(8)));
            f.set(write, i32.add(write, i32.const(4)));
          });
          f.if(i32.and(count, i32.const(1)), () => f.run(i32.store(write, i32.load(read))));
          f.run(i32.store(countAt, i32.shrU(i32.add(count, i32.const(1)), i32.const(1))));
        });
      });
      f.return(list);
    },
  );
}

/**
 * Defines fold_buckets(...) -> number of words in `into`: lists the rows and columns of `size` summed buckets, of which
 * those that are not empty have one item each. With d = row * 2^bits + column for bucket d, the lists are those of the
 * rows 1 to 2^bits and then of the columns 0 to 2^bits - 1: list l has its first word's index, counted from `into`, at
 * intoStarts[l] and its length at intoCounts[l]. Words are written from the index `next` on.
 */
function defineFold(module: ModuleBuilder): void {
  const params = {
    items: "i32",
    starts: "i32",
    counts: "i32",
    size: "i32",
    bits: "i32",
    into: "i32",
    next: "i32",
    intoStarts: "i32",
    intoCounts: "i32",
  } as const;
  module.defineNamed(
    { name: "fold_buckets", params, results: ["i32"] },
    (f, { items, starts, counts, size, bits, into, next, intoStarts, intoCounts }) => {
      const width = f.let(i32.shl(i32.const(1), bits));
      const list = (from: I32, to: I32, step: I32): void => {
        const bucket = f.let(from);
        f.run(i32.store(intoStarts, next));
        f.while(i32.ltU(bucket, to), () => {
          const at = f.let(i32.shl(bucket, i32.const(2)));
          f.if(i32.load(i32.add(counts, at)), () => {
            const word = i32.load(i32.add(items, i32.shl(i32.load(i32.add(starts, at)), i32.const(2))));
            f.run(i32.store(i32.add(into, i32.shl(next, i32.const(2))), word));
            f.set(next, i32.add(next, i32.const(1)));
          });
          f.set(bucket, i32.add(bucket, step));
        });
        f.run(i32.store(intoCounts, i32.sub(next, i32.load(intoStarts))));
        for (const cursor of [intoStarts, intoCounts]) f.set(cursor, i32.add(cursor, i32.const(4)));
      };
      f.for(i32.const(1), f.let(i32.add(width, i32.const(1))), 1, (row) => {
        const end = f.let(i32.shl(i32.add(row, i32.const(1)), bits));
        f.set(end, i32.select(end, size, i32.ltU(end, size)));
        list(i32.shl(row, bits), end, i32.const(1));
      });
      f.for(i32.const(0), width, 1, (column) => {
        list(column, size, width);
      });
      f.return(next);
    },
  );
}

function isNotZero(words: readonly I64[]): I32 {
  const any = words.reduce<Expression<"i64">>((x, y) => i64.or(x, y), i64.const(0n));
  return i32.eqz(i64.eqz(any));
}

function isOne(words: readonly I64[]): I32 {
  const any = words
    .slice(1)
    .reduce<Expression<"i64">>((x, y) => i64.or(x, y), i64.xor(words[0] ?? i64.const(0n), i64.const(1n)));
  return i64.eqz(any);
}
