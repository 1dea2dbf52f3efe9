/**
 * Emits what an Ed25519 signature (RFC 8032, 5.1.6) is made of beside its hashes, twice side by side: the first lane
 * computes with nonce r and multiples of the base point B, the second with r/c and multiples of c B, each from hashes
 * and a key of its own. Both must come to the same; what differs is a fault. As the digits and the tables of the lanes
 * have nothing in common, nor can one fault change both alike.
 *
 * The time that anything takes and the addresses it touches depend on numbers of signatures alone: digits are looked up
 * by reading the whole window, signs are masks, and what is inverted is blinded by the caller. Twisted Edwards
 * coordinates with T (H. Hisil, K. Wong, G. Carter, E. Dawson, "Twisted Edwards Curves Revisited", 2008, 3.1): complete
 * on this curve, so no point is special.
 */
import { FmaField } from "../field/fma-field.js";
import { defineInversion, type Inversion } from "../field/inversion.js";
import { outlineProducts } from "../field/outlined-field.js";
import { FIELD_PRIME, GROUP_ORDER, multiplesOfBase, SECOND_FACTOR, WINDOW_ENTRIES, WINDOWS } from "./base-table.js";
import { inverseModulo } from "../field/integers.js";
import { i32, i64, i64x2, v128, type Expression, type Local } from "../wasm/wasm-ops.js";
import { ModuleBuilder, type FunctionBuilder } from "../wasm/wasm-builder.js";
import type { FmaElement } from "../field/fma-arithmetic.js";
import type { Address, PrimeField } from "../field/field.js";

/** Bytes of a scalar, of half a hash, and of an encoded point. */
export const WORD_BYTES = 32;
export const LANES = 2;
/** A lane's 64-byte hashes follow each other. */
export const HASH_BYTES = 2 * WORD_BYTES;
/** Both lanes' scalars. */
export const PAIR_BYTES = LANES * WORD_BYTES;

const field = new FmaField(FIELD_PRIME);
const scalars = new FmaField(GROUP_ORDER);
const BLOCK = LANES * field.elementBytes;
/** X, Y and Z of a pair of points. */
export const POINT_BYTES = 3 * BLOCK;
const ENTRY_BYTES = 3 * BLOCK;
export const TABLE_BYTES = WINDOWS * WINDOW_ENTRIES * ENTRY_BYTES;
/** A digit of 4 bits plus 8, in every place: adding it makes signed digits unsigned. */
const DIGIT_OFFSETS = 0x8888_8888_8888_8888n;
const DIGIT_OFFSET = WINDOW_ENTRIES;
const WORDS = WORD_BYTES / 8;

type Vector = Local<"v128">;
/** y + x, y - x, 2 d x y of the points to add. */
type Addend = readonly [FmaElement, FmaElement, FmaElement];

interface Extended {
  readonly x: FmaElement;
  readonly y: FmaElement;
  readonly z: FmaElement;
  readonly t: FmaElement;
}

/** The table of both lanes, limb by limb beside each other. */
export function tableLimbs(): Float64Array {
  const [first, second] = [1n, SECOND_FACTOR].map((factor) =>
    multiplesOfBase(factor).flatMap((entry) => entry.flatMap((value) => field.limbsOf(value))),
  );
  return Float64Array.from(
    { length: TABLE_BYTES / 8 },
    (_, i) => (i % LANES === 0 ? first : second)?.[Math.floor(i / LANES)] ?? 0,
  );
}

/**
 * The module. Its functions, all of addresses:
 * - nonces(out, hashes): r and r/c, each of its lane's hash;
 * - multiples(point, nonces, table): r B, in projective coordinates;
 * - encode(out, blind, points, count, scratch): in 32 bytes each; blind: two random numbers other than 0;
 * - responses(out, hashes, nonces, secrets): S = r + h s.
 */
export function buildSigningModule(memoryPages: number): {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly scratchBytes: (count: number) => number;
} {
  const module = new ModuleBuilder();
  const products = outlineProducts<FmaElement, PrimeField<FmaElement>>(field, module, "fe", {
    operandMax: field.productMax,
    resultMax: field.productMax,
  });
  const inversion = defineInversion(module, field, WORD_BYTES, "fe");
  defineNonces(module);
  defineMultiples(module, products);
  defineEncoding(module, products, inversion);
  defineResponses(module);
  return {
    bytes: module.toBytes(memoryPages),
    scratchBytes: (count) => (count + 1) * BLOCK + BLOCK + inversion.scratchBytes,
  };
}

function defineNonces(module: ModuleBuilder): void {
  module.define({ name: "nonces", params: ["i32", "i32"] }, (f, out, hashes) => {
    const inverse = scalars.laneConstants(f, [
      scalars.radix,
      inverseModulo(SECOND_FACTOR, GROUP_ORDER) * scalars.radix,
    ]);
    scalars.pack(f, lanesAt(f, out, WORD_BYTES), WORD_BYTES, scalars.mul(f, reducedHashes(f, hashes), inverse));
  });
}

/** S = h s + r. */
function defineResponses(module: ModuleBuilder): void {
  module.define({ name: "responses", params: ["i32", "i32", "i32", "i32"] }, (f, out, hashes, nonces, secrets) => {
    const secret = scalars.mul(
      f,
      scalars.unpack(f, lanesAt(f, secrets, WORD_BYTES), WORD_BYTES),
      scalars.rawConstant(f, scalars.radix ** 2n),
    );
    const nonce = scalars.unpack(f, lanesAt(f, nonces, WORD_BYTES), WORD_BYTES);
    const factor = scalars.laneConstants(f, [scalars.radix, SECOND_FACTOR * scalars.radix]);
    const sum = scalars.sumOfProducts(f, [
      { a: reducedHashes(f, hashes), b: secret },
      { a: nonce, b: factor },
    ]);
    scalars.pack(f, lanesAt(f, out, WORD_BYTES), WORD_BYTES, sum);
  });
}

/** Little-endian numbers of 64 bytes modulo the order. */
function reducedHashes(f: FunctionBuilder, hashes: Address): FmaElement {
  const [low, high] = [0, WORD_BYTES].map((offset) =>
    scalars.unpack(f, lanesAt(f, f.let(i32.add(hashes, i32.const(offset))), HASH_BYTES), WORD_BYTES),
  );
  if (low === undefined || high === undefined) throw new Error("a hash has two halves");
  const weigh = (weight: bigint): FmaElement => scalars.rawConstant(f, weight * scalars.radix);
  return scalars.reduce(
    f,
    scalars.sumOfProducts(f, [
      { a: low, b: weigh(1n) },
      { a: high, b: weigh(1n << 256n) },
    ]),
  );
}

function defineMultiples(module: ModuleBuilder, products: PrimeField<FmaElement>): void {
  module.define({ name: "multiples", params: ["i32", "i32", "i32"] }, (f, point, nonces, table) => {
    // The digits lie where the product will be.
    for (const lane of [0, 1]) writeDigits(f, point, nonces, lane * WORD_BYTES);
    const start = (value: bigint): FmaElement => {
      const variable = field.variable(f, field.productMax);
      field.assign(f, variable, field.constant(f, [value]));
      return variable;
    };
    const sum: Extended = { x: start(0n), y: start(1n), z: start(1n), t: start(0n) };
    const window = f.let(table);
    f.for(point, f.let(i32.add(point, i32.const(WORD_BYTES))), 8, (word) => {
      const rest = [0, 1].map((lane) => f.let(i64.load(word, lane * WORD_BYTES)));
      f.for(i32.const(0), i32.const(WINDOWS / WORDS), 1, () => {
        const added = add(f, products, sum, lookUp(f, window, signedDigits(f, rest)));
        field.assign(f, sum.x, added.x);
        field.assign(f, sum.y, added.y);
        field.assign(f, sum.z, added.z);
        field.assign(f, sum.t, added.t);
        f.set(window, i32.add(window, i32.const(WINDOW_ENTRIES * ENTRY_BYTES)));
      });
    });
    for (const [i, coordinate] of [sum.x, sum.y, sum.z].entries()) field.storeBlock(f, point, i * BLOCK, coordinate);
  });
}

/** scalar + 0x88...8: its digits of 4 bits are those of the scalar, from -8 to 7, plus 8. */
function writeDigits(f: FunctionBuilder, target: Address, source: Address, offset: number): void {
  let carry: Expression<"i64"> = i64.const(0n);
  for (let i = 0; i < WORDS; i += 1) {
    const withCarry = f.let(i64.add(i64.load(source, offset + 8 * i), carry));
    const sum = f.let(i64.add(withCarry, i64.const(DIGIT_OFFSETS)));
    const overflowed = i32.or(i64.ltU(withCarry, carry), i64.ltU(sum, i64.const(DIGIT_OFFSETS)));
    f.run(i64.store(target, sum, offset + 8 * i));
    carry = f.let(i64.extendU(overflowed));
  }
}

/** Takes the lowest digit of each lane; -8 to 7. */
function signedDigits(f: FunctionBuilder, rest: readonly Local<"i64">[]): Vector {
  const [first, second] = rest.map((word) => {
    const digit = f.let(i64.sub(i64.and(word, i64.const(15n)), i64.const(BigInt(DIGIT_OFFSET))));
    f.set(word, i64.shrU(word, i64.const(4n)));
    return digit;
  });
  if (first === undefined || second === undefined) throw new Error("two lanes expected");
  return f.let(i64x2.replaceLane(1, i64x2.splat(first), second));
}

/** digit 16^w B or digit 16^w c B, reading all entries of the window. */
function lookUp(f: FunctionBuilder, window: Address, digit: Vector): Addend {
  const negative = f.let(i64x2.shrS(digit, 63));
  const magnitude = f.let(i64x2.sub(v128.xor(digit, negative), negative));
  const limbs = Array.from({ length: 3 * field.limbCount }, () => f.local("v128"));
  const isZero = f.let(i64x2.eq(magnitude, i64x2.constSplat(0n)));
  // The neutral point: 1, 1, 0.
  const one = field.locals(field.constant(f, [1n])) as Expression<"v128">[];
  for (const [i, limb] of limbs.entries())
    f.set(limb, v128.and(isZero, one[i < 2 * field.limbCount ? i % field.limbCount : -1] ?? v128.const(0n, 0n)));
  for (let entry = 1; entry <= WINDOW_ENTRIES; entry += 1) {
    const chosen = f.let(i64x2.eq(magnitude, i64x2.constSplat(BigInt(entry))));
    for (const [i, limb] of limbs.entries())
      f.set(limb, v128.or(limb, v128.and(chosen, v128.load(window, (entry - 1) * ENTRY_BYTES + 16 * i))));
  }
  return negated(f, limbs, negative);
}

/** -(x, y) = (-x, y): y + x and y - x change places. */
function negated(f: FunctionBuilder, limbs: readonly Vector[], mask: Vector): Addend {
  const n = field.limbCount;
  const sign = f.let(v128.and(mask, i64x2.constSplat(1n << 63n)));
  const third = limbs.slice(2 * n).map((limb) => f.let(v128.xor(limb, sign)));
  const pairs = limbs.slice(0, n).map((plus, i) => {
    const minus = limbs[n + i] ?? plus;
    const change = f.let(v128.and(v128.xor(plus, minus), mask));
    return [f.let(v128.xor(plus, change)), f.let(v128.xor(minus, change))] as const;
  });
  const element = (locals: readonly Vector[]): FmaElement => field.fromLocals(locals, field.reducedMax);
  return [element(pairs.map(([plus]) => plus)), element(pairs.map(([, minus]) => minus)), element(third)];
}

/** 7 products. */
function add(
  f: FunctionBuilder,
  products: PrimeField<FmaElement>,
  { x, y, z, t }: Extended,
  [plus, minus, product]: Addend,
): Extended {
  const { sum, difference, mul } = normalizing(f, products);
  const [a, b, c, d] = [mul(difference(y, x), minus), mul(sum(y, x), plus), mul(t, product), sum(z, z)];
  const [e, g, h, k] = [difference(b, a), difference(d, c), sum(d, c), sum(b, a)];
  return { x: mul(e, g), y: mul(h, k), z: mul(g, h), t: mul(e, k) };
}

function normalizing(
  f: FunctionBuilder,
  products: PrimeField<FmaElement>,
): Readonly<Record<"sum" | "difference" | "mul", (a: FmaElement, b: FmaElement) => FmaElement>> {
  return {
    sum: (a, b) => field.normalize(f, field.add(f, a, b)),
    difference: (a, b) => field.normalize(f, field.sub(f, a, b)),
    mul: (a, b) => products.mul(f, a, b),
  };
}

/**
 * Z's are inverted together (P. Montgomery, 1987), beginning with the blinding factor: the time of the one inversion
 * depends on what it inverts, and that is then a random number.
 */
function defineEncoding(module: ModuleBuilder, products: PrimeField<FmaElement>, inversion: Inversion): void {
  const load = (f: FunctionBuilder, address: Address, offset = 0): FmaElement =>
    field.loadBlock(f, address, offset, field.productMax);
  module.define(
    { name: "encode", params: ["i32", "i32", "i32", "i32", "i32"] },
    (f, out, blind, points, count, scratch) => {
      const [inverse, rest] = [
        f.let(i32.add(scratch, i32.mul(i32.add(count, i32.const(1)), i32.const(BLOCK)))),
        f.local("i32"),
      ];
      f.set(rest, i32.add(inverse, i32.const(BLOCK)));
      // Prefix i is blind Z_0 ... Z_(i-1).
      field.storeBlock(f, scratch, 0, field.reduce(f, field.unpack(f, lanesAt(f, blind, WORD_BYTES), WORD_BYTES)));
      const [point, prefix] = [f.let(points), f.let(scratch)];
      f.for(i32.const(0), count, 1, () => {
        field.storeBlock(f, prefix, BLOCK, products.mul(f, load(f, prefix), load(f, point, 2 * BLOCK)));
        f.set(prefix, i32.add(prefix, i32.const(BLOCK)));
        f.set(point, i32.add(point, i32.const(POINT_BYTES)));
      });
      f.call(inversion.handle, [inverse, prefix, rest]);
      const target = f.let(i32.add(out, i32.mul(count, i32.const(PAIR_BYTES))));
      f.for(i32.const(0), count, 1, () => {
        for (const [pointer, step] of [
          [point, POINT_BYTES],
          [prefix, BLOCK],
          [target, PAIR_BYTES],
        ] as const)
          f.set(pointer, i32.sub(pointer, i32.const(step)));
        const ofZ = products.mul(f, load(f, inverse), load(f, prefix));
        writeAffine(
          f,
          target,
          { x: products.mul(f, load(f, point), ofZ), y: products.mul(f, load(f, point, BLOCK), ofZ) },
          rest,
        );
        field.storeBlock(f, inverse, 0, products.mul(f, load(f, inverse), load(f, point, 2 * BLOCK)));
      });
    },
  );
}

/** y in 255 bits and the lowest bit of x above them (RFC 8032, 5.1.2). */
function writeAffine(f: FunctionBuilder, target: Address, { x, y }: Pick<Extended, "x" | "y">, scratch: Address): void {
  const plain = (value: FmaElement): FmaElement => field.sumOfProducts(f, [{ a: value, b: field.rawConstant(f, 1n) }]);
  field.pack(f, lanesAt(f, target, WORD_BYTES), WORD_BYTES, plain(y));
  field.pack(f, lanesAt(f, scratch, WORD_BYTES), WORD_BYTES, plain(x));
  for (const lane of [0, 1]) {
    const top = lane * WORD_BYTES + WORD_BYTES - 1;
    f.run(
      i32.store8(
        target,
        i32.or(i32.load8U(target, top), i32.shl(i32.load8U(scratch, lane * WORD_BYTES), i32.const(7))),
        top,
      ),
    );
  }
}

function lanesAt(f: FunctionBuilder, address: Address, stride: number): [Local<"i32">, Local<"i32">] {
  return [f.let(i32.add(address, i32.const(0))), f.let(i32.add(address, i32.const(stride)))];
}
