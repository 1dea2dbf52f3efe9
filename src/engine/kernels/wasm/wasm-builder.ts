/**
 * Assembles a WebAssembly module in memory: types, one imported memory, functions, exports. It knows the binary format
 * (WebAssembly Core Specification 2.0, chapter 5) and structured control; it knows nothing about fields or curves.
 *
 * A function of two halves writes every statement on vectors twice, for one vector of 128 bits and right after it for
 * another: what is said once is done to four numbers instead of two. V8 can make one instruction of 256 bits of such a
 * pair (wide/). A value of the type v128 is then both vectors, but in parameters, results and constants.
 */
import { NumberPool } from "./number-pool.js";
import type { NumberPlaces } from "./number-pool.js";
import { ByteWriter } from "./wasm-bytes.js";
import type { Half } from "./wasm-bytes.js";
import { f64x2, i32, v128 } from "./wasm-ops.js";
import type { Expression, Local, Statement, ValueType } from "./wasm-ops.js";

/**
 * Handle of a function of the module: callable before its body exists, so that functions may be declared in any order.
 */
export interface FunctionHandle {
  readonly index: number;
  readonly name: string;
  readonly params: readonly ValueType[];
  readonly results: readonly ValueType[];
}

interface FunctionSignature<P> {
  readonly name: string;
  readonly params: P;
  readonly results?: readonly ValueType[];
  /** Whether JavaScript can call it (the default), or only other functions of the module. */
  readonly exported?: boolean;
  /** Vectors of 128 bits that each value of the type v128 stands for; 1 by default. */
  readonly halves?: 1 | 2;
}

/** The parameters of a function as locals, in order. */
type ParamLocals<P extends readonly ValueType[]> = {
  [K in keyof P]: P[K] extends ValueType ? Local<P[K]> : never;
};

/** Types of parameters by name, in the order in which a caller passes them. */
type NamedTypes = Readonly<Record<string, ValueType>>;

/** The parameters of a function as locals, by name. */
type NamedLocals<P extends NamedTypes> = { readonly [K in keyof P]: Local<P[K]> };

const TYPE_CODE: Record<ValueType, number> = { i32: 0x7f, i64: 0x7e, f64: 0x7c, v128: 0x7b };
const SECTION = { custom: 0, type: 1, import: 2, function: 3, global: 6, export: 7, code: 10, data: 11 } as const;
const NO_RESULT = 0x40;

/** A variable of a module's instance: each thread has its own, unlike places in a shared memory. */
export interface Global<T extends ValueType> extends Expression<T> {
  /** Assigns a value to it. */
  set(value: Expression<T>): Statement;
}

interface DefinedFunction {
  readonly handle: FunctionHandle;
  readonly exported: boolean;
  /** Undefined while it is being built. */
  body: Uint8Array | undefined;
}

/** Collects functions and writes the module. */
export class ModuleBuilder {
  readonly #functions: DefinedFunction[] = [];
  readonly #numbers: NumberPool | undefined;
  #vectorGlobals = 0;

  /**
   * @param numbers where the numbers of functions of two halves are kept in the memory, if they are: V8 makes seven
   *   instructions of each constant of 256 bits, and one of a load. Instances write them, always the same.
   */
  constructor(numbers?: NumberPlaces) {
    this.#numbers = numbers === undefined ? undefined : new NumberPool(numbers);
  }

  /** Returns the address of a number among those that are kept in the memory. */
  addressOfNumber(value: number): Expression<"i32"> {
    if (this.#numbers === undefined) throw new Error("no numbers are kept in the memory");
    return i32.const(this.#numbers.addressOf(value));
  }

  /** Adds a vector of each instance, zero at first. */
  vectorGlobal(): Global<"v128"> {
    const index = this.#vectorGlobals;
    this.#vectorGlobals += 1;
    return {
      type: "v128",
      emit: (code) => {
        code.byte(0x23);
        code.unsigned(index);
      },
      set: (value) => ({
        emit: (code) => {
          value.emit(code);
          code.byte(0x24);
          code.unsigned(index);
        },
      }),
    };
  }

  /**
   * Adds a function of a few parameters, or of a list of them whose length is computed.
   * @param build receives the function's builder and its parameters as locals, and emits the body.
   * @returns a handle for `FunctionBuilder.call`.
   */
  define<const P extends readonly ValueType[]>(
    signature: FunctionSignature<P>,
    build: (f: FunctionBuilder, ...params: ParamLocals<P>) => void,
  ): FunctionHandle {
    return this.#add(signature, signature.params, (f) => build(f, ...f.paramsAs<P>()));
  }

  /** Adds a function of many parameters, which have names: `params: { target: "i32", count: "i32" }`. */
  defineNamed<const P extends NamedTypes>(
    signature: FunctionSignature<P>,
    build: (f: FunctionBuilder, params: NamedLocals<P>) => void,
  ): FunctionHandle {
    const { params } = signature;
    return this.#add(signature, Object.values(params), (f) => build(f, f.paramsByName(params)));
  }

  /**
   * Returns the module's bytes. It imports one shared memory as `env.memory`, of at most `memoryPagesMax` pages of 64
   * KiB.
   * @param label name of a section without content. V8 keeps optimised code by a module's bytes: a label makes others
   *   of them.
   */
  toBytes(memoryPagesMax: number, label?: string): Uint8Array<ArrayBuffer> {
    const out = new ByteWriter();
    out.raw([0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]);
    out.section(SECTION.type, (w) => {
      w.vector(this.#functions, (each) => {
        w.byte(0x60);
        w.vector(each.handle.params, (type) => w.byte(TYPE_CODE[type]));
        w.vector(each.handle.results, (type) => w.byte(TYPE_CODE[type]));
      });
    });
    out.section(SECTION.import, (w) => {
      w.unsigned(1);
      w.name("env");
      w.name("memory");
      w.byte(0x02);
      w.byte(0x03); // limits: shared, with a maximum
      w.unsigned(1);
      w.unsigned(memoryPagesMax);
    });
    out.section(SECTION.function, (w) => w.vector(this.#functions, (each) => w.unsigned(each.handle.index)));
    if (this.#vectorGlobals > 0) out.section(SECTION.global, (w) => this.#writeGlobals(w));
    out.section(SECTION.export, (w) => {
      w.vector(
        this.#functions.filter((each) => each.exported),
        (each) => {
          w.name(each.handle.name);
          w.byte(0x00);
          w.unsigned(each.handle.index);
        },
      );
    });
    out.section(SECTION.code, (w) => {
      w.vector(this.#functions, (each) => {
        if (each.body === undefined) throw new Error(`function ${each.handle.name} has no body`);
        w.unsigned(each.body.length);
        w.raw(each.body);
      });
    });
    if (this.#numbers !== undefined) out.section(SECTION.data, (w) => this.#numbers?.write(w));
    if (label !== undefined) out.section(SECTION.custom, (w) => w.name(label));
    return out.finish();
  }

  /** All are mutable and start with the vector constant 0. */
  #writeGlobals(w: ByteWriter): void {
    w.unsigned(this.#vectorGlobals);
    for (let i = 0; i < this.#vectorGlobals; i += 1) {
      w.raw([TYPE_CODE.v128, 0x01]);
      v128.const(0n, 0n).emit(w);
      w.byte(0x0b);
    }
  }

  #add(
    { name, results = [], exported = true, halves = 1 }: FunctionSignature<unknown>,
    params: readonly ValueType[],
    build: (f: FunctionBuilder) => void,
  ): FunctionHandle {
    const handle: FunctionHandle = { index: this.#functions.length, name, params, results };
    const entry: DefinedFunction = { handle, exported, body: undefined };
    this.#functions.push(entry);
    const f = new FunctionBuilder(handle, { halves, numbers: halves === 2 ? this.#numbers : undefined });
    build(f);
    entry.body = f.finish();
    return handle;
  }
}

interface FunctionOptions {
  readonly halves?: 1 | 2;
  readonly numbers?: NumberPool | undefined;
}

/** Writes the body of one function, statement by statement. Expressions come from wasm-ops.ts. */
export class FunctionBuilder {
  /** Vectors of 128 bits that each value of the type v128 stands for. */
  readonly halves: 1 | 2;
  #code = new ByteWriter();
  /** Where each statement of a part that is being woven ends. */
  #ends: number[] | undefined;
  readonly #localTypes: ValueType[] = [];
  readonly #params: readonly ValueType[];
  readonly #hasResults: boolean;
  readonly #prologue = new ByteWriter();
  readonly #onceLocals = new Map<string, Local<"v128">>();
  readonly #numbers: NumberPool | undefined;

  constructor({ name, params, results }: Omit<FunctionHandle, "index">, { halves = 1, numbers }: FunctionOptions = {}) {
    // V8 pairs nothing across a call, and Node 26 ends the process where it tries (wide/wide-module.ts).
    if (halves === 2 && [...params, ...results].includes("v128"))
      throw new Error(`${name} has two halves and takes or gives vectors`);
    this.halves = halves;
    this.#numbers = numbers;
    this.#params = params;
    this.#hasResults = results.length > 0;
  }

  /** Returns the parameters as locals, in order, with the types that the caller declared. */
  paramsAs<P extends readonly ValueType[]>(): ParamLocals<P> {
    return this.#params.map((type, index) => localOf(type, index)) as unknown as ParamLocals<P>;
  }

  /** Returns the parameters as locals, by the names that the caller declared them with. */
  paramsByName<P extends NamedTypes>(types: P): NamedLocals<P> {
    const entries = Object.entries(types).map(([name, type], index) => [name, localOf(type, index)] as const);
    return Object.fromEntries(entries) as unknown as NamedLocals<P>;
  }

  /** Returns a fresh local variable; it is zero at first. */
  local<T extends ValueType>(type: T): Local<T> {
    if (type !== "v128" || this.halves === 1) return this.#plainLocal(type);
    const first = this.#plainLocal(type);
    this.#plainLocal(type);
    return { ...first, emit: (code) => emitGet(code, first.index + code.half) };
  }

  /** Assigns a value to a local. */
  set<T extends ValueType>(target: Local<T>, value: Expression<T>): void {
    for (const half of target.type === "v128" && this.halves === 2 ? ([0, 1] as const) : ([0] as const)) {
      this.#code.half = half;
      value.emit(this.#code);
      this.#code.byte(0x21);
      this.#code.unsigned(target.index + half);
    }
    this.#code.half = 0;
    this.#ends?.push(this.#code.length);
  }

  /**
   * Writes parts that do not depend on each other, a statement of each in turn, and returns what they return. A product
   * waits for itself most of the time and is longer than a processor looks ahead: of two that stand one after the other
   * the second hardly begins before the first has ended. Parts only assign to locals.
   */
  weave<T>(parts: readonly (() => T)[]): T[] {
    this.#requireUnwoven();
    const strands = parts.map((part) => this.#strandOf(part));
    const turns = Math.max(...strands.map(({ statements }) => statements.length));
    for (let turn = 0; turn < turns; turn += 1)
      for (const { statements } of strands) {
        // A shorter part is spread over the longest one.
        const [from, to] = [turn, turn + 1].map((at) => Math.round((at * statements.length) / turns));
        for (const statement of statements.slice(from, to)) this.#code.raw(statement);
      }
    return strands.map(({ result }) => result);
  }

  /** Evaluates an expression once, into a fresh local. */
  let<T extends ValueType>(value: Expression<T>): Local<T> {
    const target = this.local(value.type);
    this.set(target, value);
    return target;
  }

  /** Returns a number in both lanes, as a vector that is loaded once, at the start of the function. */
  number(value: number): Local<"v128"> {
    const key = Object.is(value, -0) ? "-0" : String(value);
    const known = this.#onceLocals.get(key);
    if (known !== undefined) return known;
    const pool = this.#numbers;
    const target = pool === undefined ? this.#plainLocal("v128") : this.local("v128");
    const number = pool === undefined ? f64x2.constSplat(value) : v128.load64Splat(i32.const(pool.addressOf(value)));
    for (const half of pool === undefined ? ([0] as const) : ([0, 1] as const)) {
      number.emit(this.#prologue);
      this.#prologue.byte(0x21);
      this.#prologue.unsigned(target.index + half);
    }
    this.#onceLocals.set(key, target);
    return target;
  }

  /** Evaluates an expression for its effect; a store or a call without a result has no value to drop. */
  run(statement: Statement): void {
    this.#requireUnwoven();
    statement.emit(this.#code);
  }

  /** Runs a statement on one half of every vector in it. */
  runOnHalf(half: Half, statement: Statement): void {
    this.#requireUnwoven();
    this.#code.half = half;
    statement.emit(this.#code);
    this.#code.half = 0;
  }

  /** Calls a function without results. */
  call(target: FunctionHandle, args: readonly Expression<ValueType>[]): void {
    if (target.results.length !== 0) throw new Error(`${target.name} has results that would stay on the stack`);
    this.#emitCall(target, args);
  }

  /** Calls a function and keeps its results, all of one type, in fresh locals. */
  callFor<T extends ValueType>(type: T, target: FunctionHandle, args: readonly Expression<ValueType>[]): Local<T>[] {
    if (target.results.some((each) => each !== type))
      throw new Error(`${target.name} has a result that is not ${type}`);
    this.#emitCall(target, args);
    const results = target.results.map(() => this.local(type));
    for (const result of [...results].reverse()) {
      this.#code.byte(0x21);
      this.#code.unsigned(result.index);
    }
    return results;
  }

  /** Returns the values from the function, as many as it has results. */
  return(...values: readonly Expression<ValueType>[]): void {
    this.#requireUnwoven();
    for (const value of values) value.emit(this.#code);
    this.#code.byte(0x0f);
  }

  /** Runs `then` when the condition is not zero, and else `otherwise`. */
  if(condition: Expression<"i32">, then: () => void, otherwise?: () => void): void {
    this.#requireUnwoven();
    condition.emit(this.#code);
    this.#code.raw([0x04, NO_RESULT]);
    then();
    if (otherwise !== undefined) {
      this.#code.byte(0x05);
      otherwise();
    }
    this.#code.byte(0x0b);
  }

  /** Runs the body while the condition, tested first, is not zero. */
  while(condition: Expression<"i32">, body: () => void): void {
    this.if(condition, () => {
      this.#code.raw([0x03, NO_RESULT]);
      body();
      condition.emit(this.#code);
      this.#code.raw([0x0d, 0x00, 0x0b]);
    });
  }

  /** for (i = from; i < to; i += step), unsigned; `to` is evaluated each time and should be a local or a constant. */
  for(from: Expression<"i32">, to: Expression<"i32">, step: number, body: (i: Local<"i32">) => void): void {
    const i = this.let(from);
    this.while(i32.ltU(i, to), () => {
      body(i);
      this.set(i, i32.add(i, i32.const(step)));
    });
  }

  /** Returns the body with the local declarations in front. A function with results must end with `return`. */
  finish(): Uint8Array {
    const out = new ByteWriter();
    out.vector(this.#localTypes, (type) => {
      out.unsigned(1);
      out.byte(TYPE_CODE[type]);
    });
    out.raw(this.#prologue.finish());
    out.raw(this.#code.finish());
    // A function with results has returned by now; `unreachable` satisfies the validator, which expects results here.
    if (this.#hasResults) out.byte(0x00);
    out.byte(0x0b);
    return out.finish();
  }

  #strandOf<T>(part: () => T): { readonly result: T; readonly statements: readonly Uint8Array[] } {
    const code = this.#code;
    const [own, ends] = [new ByteWriter(), [0]];
    [this.#code, this.#ends] = [own, ends];
    const result = part();
    [this.#code, this.#ends] = [code, undefined];
    const bytes = own.finish();
    return { result, statements: ends.slice(1).map((end, i) => bytes.subarray(ends[i], end)) };
  }

  #requireUnwoven(): void {
    if (this.#ends !== undefined) throw new Error("only assignments are woven");
  }

  #plainLocal<T extends ValueType>(type: T): Local<T> {
    this.#localTypes.push(type);
    return localOf(type, this.#params.length + this.#localTypes.length - 1);
  }

  #emitCall(target: FunctionHandle, args: readonly Expression<ValueType>[]): void {
    this.#requireUnwoven();
    if (args.length !== target.params.length) throw new Error(`${target.name} takes ${target.params.length} arguments`);
    for (const [index, arg] of args.entries()) {
      if (arg.type !== target.params[index]) throw new Error(`${target.name}: argument ${index} is ${arg.type}`);
      arg.emit(this.#code);
    }
    this.#code.byte(0x10);
    this.#code.unsigned(target.index);
  }
}

function localOf<T extends ValueType>(type: T, index: number): Local<T> {
  return {
    type,
    index,
    emit: (code) => emitGet(code, index),
  };
}

function emitGet(code: ByteWriter, index: number): void {
  code.byte(0x20);
  code.unsigned(index);
}
