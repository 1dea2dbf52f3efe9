/**
 * The instructions that the kernels use, as typed expressions that can write themselves into a function's code.
 * Opcodes: WebAssembly Core Specification 2.0, section 5.4; relaxed SIMD proposal for `relaxedMadd` and `relaxedNmadd`;
 * threads proposal for shared memory.
 */
import type { ByteWriter, Half } from "./wasm-bytes.js";

export type ValueType = "i32" | "i64" | "f64" | "v128";

/** Code that leaves one value of the type on the stack. It is evaluated wherever it is emitted. */
export interface Expression<T extends ValueType> {
  readonly type: T;
  emit(code: ByteWriter): void;
}

/** A local variable of the function being built. */
export interface Local<T extends ValueType> extends Expression<T> {
  readonly index: number;
}

/** Code that is run for its effect: a store, a copy, a trap. */
export interface Statement {
  emit(code: ByteWriter): void;
}

type I32 = Expression<"i32">;
type I64 = Expression<"i64">;
type F64 = Expression<"f64">;
type V128 = Expression<"v128">;
type Opcode = number | { readonly simd: number };

export const i32 = {
  const: (value: number): I32 => ({
    type: "i32",
    emit: (code) => {
      code.byte(0x41);
      code.signed(BigInt(value | 0));
    },
  }),
  add: binary("i32", "i32", 0x6a),
  sub: binary("i32", "i32", 0x6b),
  mul: binary("i32", "i32", 0x6c),
  and: binary("i32", "i32", 0x71),
  or: binary("i32", "i32", 0x72),
  xor: binary("i32", "i32", 0x73),
  shl: binary("i32", "i32", 0x74),
  shrU: binary("i32", "i32", 0x76),
  eq: binary("i32", "i32", 0x46),
  ne: binary("i32", "i32", 0x47),
  ltS: binary("i32", "i32", 0x48),
  ltU: binary("i32", "i32", 0x49),
  gtS: binary("i32", "i32", 0x4a),
  gtU: binary("i32", "i32", 0x4b),
  eqz: unary("i32", "i32", 0x45),
  /** `a` when the condition is not 0, else `b`; both are evaluated. */
  select: (a: I32, b: I32, condition: I32): I32 => ({
    type: "i32",
    emit: (code) => {
      a.emit(code);
      b.emit(code);
      condition.emit(code);
      code.byte(0x1b);
    },
  }),
  wrap: unary("i64", "i32", 0xa7),
  load: load("i32", 0x28, 2),
  load8U: load("i32", 0x2d, 0),
  load16S: load("i32", 0x2e, 1),
  store: store("i32", 0x36, 2),
  store8: store("i32", 0x3a, 0),
  store16: store("i32", 0x3b, 1),
};

export const i64 = {
  const: (value: bigint): I64 => ({
    type: "i64",
    emit: (code) => {
      code.byte(0x42);
      code.signed(BigInt.asIntN(64, value));
    },
  }),
  add: binary("i64", "i64", 0x7c),
  sub: binary("i64", "i64", 0x7d),
  mul: binary("i64", "i64", 0x7e),
  and: binary("i64", "i64", 0x83),
  or: binary("i64", "i64", 0x84),
  xor: binary("i64", "i64", 0x85),
  shl: binary("i64", "i64", 0x86),
  shrS: binary("i64", "i64", 0x87),
  shrU: binary("i64", "i64", 0x88),
  eq: binary("i64", "i32", 0x51),
  ltU: binary("i64", "i32", 0x54),
  ltS: binary("i64", "i32", 0x53),
  gtU: binary("i64", "i32", 0x56),
  eqz: unary("i64", "i32", 0x50),
  /** Trailing zero bits. */
  ctz: unary("i64", "i64", 0x7a),
  extendU: unary("i32", "i64", 0xad),
  truncF64S: unary("f64", "i64", 0xb0),
  load: load("i64", 0x29, 3),
  load32S: load("i64", 0x34, 2),
  load32U: load("i64", 0x35, 2),
  store: store("i64", 0x37, 3),
  store32: store("i64", 0x3e, 2),
};

export const f64 = {
  convertI64S: unary("i64", "f64", 0xb9),
  extractLane: (lane: number, value: V128): F64 => simdLane("f64", 0x21, lane, [value]),
};

/** A vector that is written differently for each half, in a function of two halves (wasm-builder.ts). */
export function perHalf(of: (half: Half) => V128): V128 {
  return {
    type: "v128",
    emit: (code) => {
      of(code.half).emit(code);
    },
  };
}

/** The same code for one half, wherever it stands. */
export function onHalf<T extends ValueType>(half: Half, value: Expression<T>): Expression<T> {
  return {
    type: value.type,
    emit: (code) => {
      const before = code.half;
      code.half = half;
      value.emit(code);
      code.half = before;
    },
  };
}

/** 128-bit operations; `f64x2` and `i64x2` below are views of the same type. */
export const v128 = {
  const: (low: bigint, high: bigint): V128 => ({
    type: "v128",
    emit: (code) => {
      code.byte(0xfd);
      code.unsigned(0x0c);
      code.raw(new Uint8Array(new BigUint64Array([BigInt.asUintN(64, low), BigInt.asUintN(64, high)]).buffer));
    },
  }),
  and: binary("v128", "v128", { simd: 0x4e }),
  or: binary("v128", "v128", { simd: 0x50 }),
  xor: binary("v128", "v128", { simd: 0x51 }),
  anyTrue: unary("v128", "i32", { simd: 0x53 }),
  load: load("v128", { simd: 0x00 }, 4),
  store: store("v128", { simd: 0x0b }, 4),
  load64Zero: load("v128", { simd: 0x5d }, 3),
  load64Splat: load("v128", { simd: 0x0a }, 3),
  load64Lane: (address: I32, offset: number, lane: number, value: V128): V128 => ({
    type: "v128",
    emit: (code) => {
      address.emit(code);
      value.emit(code);
      opcode(code, { simd: 0x57 });
      memoryArgument(code, 3, offset);
      code.byte(lane);
    },
  }),
  store64Lane: (address: I32, offset: number, lane: number, value: V128): Statement => ({
    emit: (code) => {
      address.emit(code);
      value.emit(code);
      opcode(code, { simd: 0x5b });
      memoryArgument(code, 3, offset);
      code.byte(lane);
    },
  }),
  /** Bytes of `low` are 0 to 15, bytes of `high` 16 to 31. */
  shuffle: (low: V128, high: V128, lanes: readonly number[]): V128 => ({
    type: "v128",
    emit: (code) => {
      low.emit(code);
      high.emit(code);
      opcode(code, { simd: 0x0d });
      code.raw(lanes);
    },
  }),
};

export const f64x2 = {
  const: (first: number, second: number): V128 => {
    const [low, high] = new BigUint64Array(new Float64Array([first, second]).buffer);
    return v128.const(low ?? 0n, high ?? 0n);
  },
  constSplat: (value: number): V128 => f64x2.const(value, value),
  splat: unary("f64", "v128", { simd: 0x14 }),
  replaceLane: (lane: number, into: V128, value: F64): V128 => simdLane("v128", 0x22, lane, [into, value]),
  abs: unary("v128", "v128", { simd: 0xec }),
  add: binary("v128", "v128", { simd: 0xf0 }),
  sub: binary("v128", "v128", { simd: 0xf1 }),
  mul: binary("v128", "v128", { simd: 0xf2 }),
  gt: binary("v128", "v128", { simd: 0x4a }),
  /** a * b + c with one rounding, on a machine that fuses it: see features.ts. */
  relaxedMadd: ternary({ simd: 0x107 }),
  /** c - a * b. */
  relaxedNmadd: ternary({ simd: 0x108 }),
};

export const i64x2 = {
  splat: unary("i64", "v128", { simd: 0x12 }),
  replaceLane: (lane: number, into: V128, value: I64): V128 => simdLane("v128", 0x1e, lane, [into, value]),
  allTrue: unary("v128", "i32", { simd: 0xc3 }),
  shl: shift({ simd: 0xcb }),
};

/** Ends the call with a trap, which JavaScript sees as a RuntimeError. */
export const unreachable: Statement = { emit: (code) => code.byte(0x00) };

/** Copies `byteLength` bytes inside the memory (bulk memory operations); the ranges may overlap. */
export function memoryCopy(target: I32, source: I32, byteLength: I32): Statement {
  return {
    emit: (code) => {
      target.emit(code);
      source.emit(code);
      byteLength.emit(code);
      code.raw([0xfc, 0x0a, 0x00, 0x00]);
    },
  };
}

function opcode(code: ByteWriter, op: Opcode): void {
  if (typeof op === "number") {
    code.byte(op);
  } else {
    code.byte(0xfd);
    code.unsigned(op.simd);
  }
}

function memoryArgument(code: ByteWriter, alignLog2: number, offset: number): void {
  code.unsigned(alignLog2);
  code.unsigned(offset);
}

function unary<A extends ValueType, R extends ValueType>(_operand: A, result: R, op: Opcode) {
  return (a: Expression<A>): Expression<R> => ({
    type: result,
    emit: (code) => {
      a.emit(code);
      opcode(code, op);
    },
  });
}

function binary<A extends ValueType, R extends ValueType>(_operand: A, result: R, op: Opcode) {
  return (a: Expression<A>, b: Expression<A>): Expression<R> => ({
    type: result,
    emit: (code) => {
      a.emit(code);
      b.emit(code);
      opcode(code, op);
    },
  });
}

function ternary(op: Opcode) {
  return (a: V128, b: V128, c: V128): V128 => ({
    type: "v128",
    emit: (code) => {
      a.emit(code);
      b.emit(code);
      c.emit(code);
      opcode(code, op);
    },
  });
}

function shift(op: Opcode) {
  return (a: V128, bits: number): V128 => ({
    type: "v128",
    emit: (code) => {
      a.emit(code);
      i32.const(bits).emit(code);
      opcode(code, op);
    },
  });
}

function load<R extends ValueType>(result: R, op: Opcode, alignLog2: number) {
  return (address: I32, offset = 0): Expression<R> => ({
    type: result,
    emit: (code) => {
      address.emit(code);
      opcode(code, op);
      memoryArgument(code, alignLog2, offset);
    },
  });
}

function store<A extends ValueType>(_operand: A, op: Opcode, alignLog2: number) {
  return (address: I32, value: Expression<A>, offset = 0): Statement => ({
    emit: (code) => {
      address.emit(code);
      value.emit(code);
      opcode(code, op);
      memoryArgument(code, alignLog2, offset);
    },
  });
}

function simdLane<R extends ValueType>(
  result: R,
  op: number,
  lane: number,
  operands: readonly Expression<ValueType>[],
): Expression<R> {
  return {
    type: result,
    emit: (code) => {
      for (const operand of operands) operand.emit(code);
      opcode(code, { simd: op });
      code.byte(lane);
    },
  };
}
