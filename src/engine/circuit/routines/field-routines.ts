/**
 * Field routines for circom's witness programs in place of those that circom emits (circom 2, fr.wat). An element is
 * 40 bytes: a signed value of 32 bits, a header, and 32 bytes of a number. The header says whether the value counts, or
 * the number ("long"), and whether the number is in Montgomery form.
 *
 * circom's own routines make most values long for good: comparisons, shifts and divisions convert their operands in
 * place, and give long results. Then every bit of a hash is a number of 254 bits. These do not convert what is short,
 * and give short results where they fit. The values are the same.
 */
import { emitIntegerInversion } from "../../kernels/field/integer-inversion.js";
import { FunctionBuilder } from "../../kernels/wasm/wasm-builder.js";
import type { FunctionHandle } from "../../kernels/wasm/wasm-builder.js";
import { i32, i64, v128 } from "../../kernels/wasm/wasm-ops.js";
import type { Expression, Local } from "../../kernels/wasm/wasm-ops.js";

type I32 = Expression<"i32">;

/** Routines of the program that these call, and copies of those that they replace. */
export interface RoutineHandles {
  /** Returns the handle of a routine of the program. */
  readonly own: (name: string) => FunctionHandle;
  /** Returns the handle of a copy of circom's code of a routine that is replaced. */
  readonly original: (name: string) => FunctionHandle;
  readonly fit: FunctionHandle;
  /** (target, source): 1 / source modulo the prime, of integers of 32 bytes. */
  readonly invert: FunctionHandle;
}

/** Where circom's programs have what the routines need. */
export const PLACES = {
  /** R^3 mod p, in Montgomery form R^2. */
  r3: 704,
  /** Half of the prime: what is greater is negative. */
  half: 1920,
  /** 64 bytes that `Fr_F1m_fromMontgomery` works in, and nothing else. */
  scratch: 1504,
} as const;

const LONG = 0x80000000;
const MONTGOMERY = 0x40000000;
const HEADER = 4;
const NUMBER = 8;
const NUMBER_BYTES = 32;
const SHORT_LIMIT = 0x80000000n;

const number = (element: I32): I32 => i32.add(element, i32.const(NUMBER));
const header = (element: I32): I32 => i32.load(element, HEADER);
const isLong = (element: I32): I32 => i32.shrU(header(element), i32.const(31));
const montgomeryBit = (element: I32): I32 => i32.and(header(element), i32.const(MONTGOMERY));
const areShort = (a: I32, b: I32): I32 => i32.eqz(i32.or(isLong(a), isLong(b)));
const value = (element: I32): Expression<"i64"> => i64.load32S(element);

/** Signature of each routine that is replaced or called; all give nothing or an i32. */
export const SIGNATURES: Readonly<Record<string, Signature>> = {
  ...running(1, ["Fr_toNormal", "Fr_toMontgomery"]),
  ...running(2, ["Fr_copy", "Fr_inv", "Fr_F1m_toMontgomery", "Fr_F1m_fromMontgomery"]),
  ...running(3, ["Fr_F1m_mul", "Fr_F1m_add", "Fr_F1m_sub", "Fr_mul", "Fr_add", "Fr_sub"]),
  ...running(3, ["Fr_lt", "Fr_gt", "Fr_leq", "Fr_geq"]),
  ...running(3, ["Fr_band", "Fr_bor", "Fr_bxor", "Fr_shl", "Fr_shr", "Fr_idiv", "Fr_mod"]),
  ...answering(1, ["Fr_toInt", "Fr_isNegative"]),
  ...answering(2, ["Fr_eqR", "Fr_gtR", "Fr_int_eq", "Fr_int_gt"]),
};

interface Signature {
  readonly params: number;
  readonly hasResult: boolean;
}

function running(params: number, names: readonly string[]): Record<string, Signature> {
  return Object.fromEntries(names.map((name) => [name, { params, hasResult: false }]));
}

function answering(params: number, names: readonly string[]): Record<string, Signature> {
  return Object.fromEntries(names.map((name) => [name, { params, hasResult: true }]));
}

type Emit = (f: FunctionBuilder, params: readonly Local<"i32">[], handles: RoutineHandles) => void;

/** The routines by the name of what they replace. */
export const ROUTINES: Readonly<Record<string, Emit>> = {
  Fr_copy: emitCopy,
  Fr_toNormal: emitToNormal,
  Fr_toInt: emitToInt,
  Fr_mul: emitMul,
  Fr_inv: emitInverse,
  Fr_add: (f, params, handles) => emitSum(f, params, handles, "add"),
  Fr_sub: (f, params, handles) => emitSum(f, params, handles, "sub"),
  Fr_eqR: emitEqual,
  Fr_gtR: emitGreater,
  Fr_lt: comparing("Fr_lt", i32.ltS),
  Fr_gt: comparing("Fr_gt", i32.gtS),
  Fr_leq: comparing("Fr_leq", (a, b) => i32.eqz(i32.gtS(a, b))),
  Fr_geq: comparing("Fr_geq", (a, b) => i32.eqz(i32.ltS(a, b))),
  ...Object.fromEntries(
    ["Fr_band", "Fr_bor", "Fr_bxor", "Fr_shl", "Fr_shr", "Fr_idiv", "Fr_mod"].map((name) => [name, fitting(name)]),
  ),
};

/** Routines of which a copy of circom's code is called. */
export const KEPT: readonly string[] = [
  ...["Fr_toInt", "Fr_lt", "Fr_gt", "Fr_leq", "Fr_geq"],
  ...["Fr_band", "Fr_bor", "Fr_bxor", "Fr_shl", "Fr_shr", "Fr_idiv", "Fr_mod"],
];

/** Returns the locals and code of a routine. */
export function routineBody(name: string, handles: RoutineHandles): Uint8Array {
  const emit = ROUTINES[name];
  if (emit === undefined) throw new RangeError(`there is no routine in place of ${name}`);
  return bodyOf(handles.own(name), (f, params) => emit(f, params, handles));
}

/** Returns the code of `fit` (element): a long number in normal form becomes a short value where it is one. */
export function fitBody(): Uint8Array {
  return bodyOf({ name: "fit", params: ["i32"], results: [] }, (f, [element]) => {
    if (element === undefined) return;
    f.if(i32.eq(i32.and(header(element), i32.const(LONG | MONTGOMERY)), i32.const(LONG)), () => {
      const low = f.let(i64.load(element, NUMBER));
      const high = [1, 2, 3].map((at) => i64.load(element, NUMBER + 8 * at)).reduce((a, b) => i64.or(a, b));
      f.if(i64.eqz(high), () => {
        // The value and a header of zeros; the number stays as it is.
        f.if(i64.ltU(low, i64.const(SHORT_LIMIT)), () => f.run(i64.store(element, low)));
      });
    });
  });
}

/** Returns the code of `invert`. */
export function invertBody(prime: bigint): Uint8Array {
  return bodyOf({ name: "invert", params: ["i32", "i32"], results: [] }, (f, [target, source]) => {
    if (target === undefined || source === undefined) return;
    emitIntegerInversion(f, { target, source }, { prime, bytes: NUMBER_BYTES });
  });
}

function bodyOf(
  handle: Omit<FunctionHandle, "index">,
  emit: (f: FunctionBuilder, params: readonly Local<"i32">[]) => void,
): Uint8Array {
  const f = new FunctionBuilder(handle);
  emit(f, f.paramsAs<readonly "i32"[]>());
  return f.finish();
}

function parameters<const N extends number>(
  params: readonly Local<"i32">[],
  _count: N,
): N extends 1
  ? [Local<"i32">]
  : N extends 2
    ? [Local<"i32">, Local<"i32">]
    : [Local<"i32">, Local<"i32">, Local<"i32">] {
  return params as never;
}

function emitCopy(f: FunctionBuilder, params: readonly Local<"i32">[]): void {
  const [target, source] = parameters(params, 2);
  const [first, second] = [0, 16].map((at) => f.let(v128.load(source, at))) as [Local<"v128">, Local<"v128">];
  const last = f.let(i64.load(source, 32));
  f.run(v128.store(target, first, 0));
  f.run(v128.store(target, second, 16));
  f.run(i64.store(target, last, 32));
}

/** In place: the number leaves Montgomery form, and the value becomes short where it fits. */
function emitToNormal(f: FunctionBuilder, params: readonly Local<"i32">[], { own, fit }: RoutineHandles): void {
  const [element] = parameters(params, 1);
  f.if(i32.eq(i32.and(header(element), i32.const(LONG | MONTGOMERY)), i32.const(LONG | MONTGOMERY)), () => {
    f.run(i32.store(element, i32.const(LONG), HEADER));
    f.call(own("Fr_F1m_fromMontgomery"), [number(element), number(element)]);
    f.call(fit, [element]);
  });
}

function emitToInt(f: FunctionBuilder, params: readonly Local<"i32">[], { original }: RoutineHandles): void {
  const [element] = parameters(params, 1);
  f.if(i32.eqz(isLong(element)), () => f.return(i32.load(element, 0)));
  const [result] = f.callFor("i32", original("Fr_toInt"), [element]);
  if (result !== undefined) f.return(result);
}

function emitMul(f: FunctionBuilder, params: readonly Local<"i32">[], handles: RoutineHandles): void {
  const { own, fit } = handles;
  const [target, a, b] = parameters(params, 3);
  emitOnShort(f, { target, a, b }, own("Fr_rawCopyS2L"), i64.mul);
  f.if(i32.eqz(isLong(a)), () => emitShortTimesLong(f, { target, short: a, long: b }, handles));
  f.if(i32.eqz(isLong(b)), () => emitShortTimesLong(f, { target, short: b, long: a }, handles));
  const isMontgomery = f.let(montgomeryBit(a));
  const differs = f.let(i32.xor(isMontgomery, montgomeryBit(b)));
  f.call(own("Fr_F1m_mul"), [number(a), number(b), number(target)]);
  f.if(differs, () => {
    f.run(i32.store(target, i32.const(LONG), HEADER));
    f.call(fit, [target]);
    f.return();
  });
  f.run(i32.store(target, i32.const(LONG | MONTGOMERY), HEADER));
  f.if(i32.eqz(isMontgomery), () => f.call(own("Fr_F1m_mul"), [i32.const(PLACES.r3), number(target), number(target)]));
}

/** Ends the routine. A factor of 0 or 1, as bits are, takes no product. */
function emitShortTimesLong(
  f: FunctionBuilder,
  { target, short, long }: { readonly target: I32; readonly short: I32; readonly long: I32 },
  { own, fit }: RoutineHandles,
): void {
  const factor = f.let(value(short));
  f.if(i64.eqz(factor), () => {
    f.run(i64.store(target, i64.const(0n)));
    f.return();
  });
  f.if(i64.eq(factor, i64.const(1n)), () => {
    f.call(own("Fr_copy"), [target, long]);
    f.call(fit, [target]);
    f.return();
  });
  const form = f.let(montgomeryBit(long));
  const scratch = i32.const(PLACES.scratch);
  f.call(own("Fr_rawCopyS2L"), [scratch, factor]);
  f.call(own("Fr_F1m_toMontgomery"), [scratch, scratch]);
  f.call(own("Fr_F1m_mul"), [number(long), scratch, number(target)]);
  f.run(i32.store(target, i32.or(i32.const(LONG), form), HEADER));
  f.call(fit, [target]);
  f.return();
}

/** Two short operands: a short result where it fits, as circom has it. Ends the routine then. */
function emitOnShort(
  f: FunctionBuilder,
  { target, a, b }: { readonly target: I32; readonly a: I32; readonly b: I32 },
  rawCopy: FunctionHandle,
  operation: (a: Expression<"i64">, b: Expression<"i64">) => Expression<"i64">,
): void {
  f.if(areShort(a, b), () => {
    const result = f.let(operation(value(a), value(b)));
    const extended = i64.shrS(i64.shl(result, i64.const(32n)), i64.const(32n));
    f.if(
      i64.eq(result, extended),
      () => f.run(i64.store(target, i64.extendU(i32.wrap(result)))),
      () => {
        f.run(i32.store(target, i32.const(LONG), HEADER));
        f.call(rawCopy, [number(target), result]);
      },
    );
    f.return();
  });
}

/**
 * Divisions call it as well. circom's own takes Euclid's long divisions, ten times the time. Both take a time that
 * depends on the value, which may be a secret: a witness is computed on the server's own machine, and nobody else
 * learns how long single steps of it take.
 */
function emitInverse(f: FunctionBuilder, params: readonly Local<"i32">[], { own, fit, invert }: RoutineHandles): void {
  const [target, source] = parameters(params, 2);
  const operand = f.let(number(source));
  const form = f.let(i32.const(0));
  f.if(
    isLong(source),
    () => f.set(form, montgomeryBit(source)),
    () => {
      f.set(operand, i32.const(PLACES.scratch));
      f.call(own("Fr_rawCopyS2L"), [operand, value(source)]);
    },
  );
  f.call(invert, [number(target), operand]);
  f.run(i32.store(target, i32.or(i32.const(LONG), form), HEADER));
  // (a R)^-1 R^3 / R = a^-1 R.
  f.if(form, () => f.call(own("Fr_F1m_mul"), [number(target), i32.const(PLACES.r3), number(target)]));
  f.call(fit, [target]);
}

function emitSum(
  f: FunctionBuilder,
  params: readonly Local<"i32">[],
  { own, fit }: RoutineHandles,
  kind: "add" | "sub",
): void {
  const [target, a, b] = parameters(params, 3);
  emitOnShort(f, { target, a, b }, own("Fr_rawCopyS2L"), i64[kind]);
  const form = f.let(i32.const(0));
  const [left, right] = [f.let(number(a)), f.let(number(b))];
  const scratch = i32.const(PLACES.scratch);
  const widen = (short: I32, long: I32, place: Local<"i32">): void => {
    f.set(form, montgomeryBit(long));
    f.set(place, scratch);
    f.call(own("Fr_rawCopyS2L"), [scratch, value(short)]);
    f.if(form, () => f.call(own("Fr_F1m_toMontgomery"), [scratch, scratch]));
  };
  f.if(
    i32.eqz(isLong(a)),
    () => widen(a, b, left),
    () =>
      f.if(
        i32.eqz(isLong(b)),
        () => widen(b, a, right),
        () => {
          f.set(form, i32.or(montgomeryBit(a), montgomeryBit(b)));
          f.if(form, () => {
            f.call(own("Fr_toMontgomery"), [a]);
            f.call(own("Fr_toMontgomery"), [b]);
          });
        },
      ),
  );
  f.call(own(`Fr_F1m_${kind}`), [left, right, number(target)]);
  f.run(i32.store(target, i32.or(i32.const(LONG), form), HEADER));
  f.call(fit, [target]);
}

function emitEqual(f: FunctionBuilder, params: readonly Local<"i32">[], { own }: RoutineHandles): void {
  const [a, b] = parameters(params, 2);
  const onShort = (): void => f.if(areShort(a, b), () => f.return(i32.eq(i32.load(a, 0), i32.load(b, 0))));
  const equal = (x: I32, y: I32): void => {
    const [result] = f.callFor("i32", own("Fr_int_eq"), [x, y]);
    if (result !== undefined) f.return(result);
  };
  onShort();
  f.if(i32.and(i32.and(isLong(a), isLong(b)), i32.eqz(i32.xor(montgomeryBit(a), montgomeryBit(b)))), () =>
    equal(number(a), number(b)),
  );
  f.call(own("Fr_toNormal"), [a]);
  f.call(own("Fr_toNormal"), [b]);
  onShort();
  const [left, right] = emitNumbers(f, a, b, own("Fr_rawCopyS2L"));
  equal(left, right);
}

function emitGreater(f: FunctionBuilder, params: readonly Local<"i32">[], { own }: RoutineHandles): void {
  const [a, b] = parameters(params, 2);
  f.call(own("Fr_toNormal"), [a]);
  f.call(own("Fr_toNormal"), [b]);
  f.if(areShort(a, b), () => f.return(i32.gtS(i32.load(a, 0), i32.load(b, 0))));
  const [left, right] = emitNumbers(f, a, b, own("Fr_rawCopyS2L"));
  const isGreater = (x: I32, y: I32): I32 => f.callFor("i32", own("Fr_int_gt"), [x, y])[0] ?? i32.const(0);
  const [isLeftNegative, isRightNegative] = [left, right].map((each) => isGreater(each, i32.const(PLACES.half))) as [
    I32,
    I32,
  ];
  f.if(i32.xor(isLeftNegative, isRightNegative), () => f.return(isRightNegative));
  f.return(isGreater(left, right));
}

/** Addresses of the numbers of two elements in normal form, one of which may be short. */
function emitNumbers(
  f: FunctionBuilder,
  a: Local<"i32">,
  b: Local<"i32">,
  rawCopy: FunctionHandle,
): [Local<"i32">, Local<"i32">] {
  const places = [f.let(number(a)), f.let(number(b))] as [Local<"i32">, Local<"i32">];
  for (const [at, element] of [a, b].entries())
    f.if(i32.eqz(isLong(element)), () => {
      const place = places[at];
      if (place === undefined) return;
      f.set(place, i32.const(PLACES.scratch));
      f.call(rawCopy, [i32.const(PLACES.scratch), value(element)]);
    });
  return places;
}

/** A comparison of short values; circom's code compares others. */
function comparing(name: string, compare: (a: I32, b: I32) => I32): Emit {
  return (f, params, { original }) => {
    const [target, a, b] = parameters(params, 3);
    f.if(areShort(a, b), () => {
      f.run(i64.store(target, i64.extendU(compare(i32.load(a, 0), i32.load(b, 0)))));
      f.return();
    });
    f.call(original(name), [target, a, b]);
  };
}

/** circom's code, which makes its operands and its result long; then what fits is short again. */
function fitting(name: string): Emit {
  return (f, params, { original, fit }) => {
    f.call(original(name), params);
    for (const element of params) f.call(fit, [element]);
  };
}
