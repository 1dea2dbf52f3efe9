/**
 * Assembles a WebAssembly module in memory: types, one imported memory, functions, exports. It knows the binary format
 * (WebAssembly Core Specification 2.0, chapter 5) and structured control; it knows nothing about fields or curves.
 */
import { ByteWriter } from "./wasm-bytes.js";
import { i32 } from "./wasm-ops.js";
import type { Expression, Local, ValueType } from "./wasm-ops.js";

/**
 * Handle of a function of the module: callable before its body exists, so that functions may be declared in any order.
 */
export interface FunctionHandle {
  readonly index: number;
  readonly name: string;
  readonly params: readonly ValueType[];
  readonly results: readonly ValueType[];
}

export interface FunctionSignature<P extends readonly ValueType[]> {
  readonly name: string;
  readonly params: P;
  readonly results?: readonly ValueType[];
  /** Callable from JavaScript; false keeps it inside the module. */
  readonly exported?: boolean;
}

/** The parameters of a function as locals, in order. */
export type ParamLocals<P extends readonly ValueType[]> = {
  [K in keyof P]: P[K] extends ValueType ? Local<P[K]> : never;
};

const TYPE_CODE: Record<ValueType, number> = { i32: 0x7f, i64: 0x7e, f64: 0x7c, v128: 0x7b };
const SECTION = { type: 1, import: 2, function: 3, export: 7, code: 10 } as const;
const NO_RESULT = 0x40;

/** Collects functions and writes the module. */
export class ModuleBuilder {
  readonly #functions: { handle: FunctionHandle; exported: boolean; body: Uint8Array | undefined }[] = [];

  /** Adds a function; `build` receives the function's builder and its parameters. Returns a handle for `call`. */
  define<const P extends readonly ValueType[]>(
    signature: FunctionSignature<P>,
    build: (f: FunctionBuilder, ...params: ParamLocals<P>) => void,
  ): FunctionHandle {
    const handle: FunctionHandle = {
      index: this.#functions.length,
      name: signature.name,
      params: signature.params,
      results: signature.results ?? [],
    };
    const entry: { handle: FunctionHandle; exported: boolean; body: Uint8Array | undefined } = {
      handle,
      exported: signature.exported ?? true,
      body: undefined,
    };
    this.#functions.push(entry);
    const f = new FunctionBuilder(signature.params, handle.results.length > 0);
    build(f, ...f.paramsAs<P>());
    entry.body = f.finish();
    return handle;
  }

  /** The module's bytes. It imports one shared memory as `env.memory`, of at most `memoryPagesMax` pages of 64 KiB. */
  toBytes(memoryPagesMax: number): Uint8Array<ArrayBuffer> {
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
    return out.finish();
  }
}

/** Writes the body of one function, statement by statement. Expressions come from wasm-ops.ts. */
export class FunctionBuilder {
  readonly #code = new ByteWriter();
  readonly #localTypes: ValueType[] = [];
  readonly #params: readonly ValueType[];
  readonly #hasResults: boolean;
  readonly #prologue = new ByteWriter();
  readonly #onceLocals = new Map<string, Local<ValueType>>();

  constructor(params: readonly ValueType[], hasResults: boolean) {
    this.#params = params;
    this.#hasResults = hasResults;
  }

  paramsAs<P extends readonly ValueType[]>(): ParamLocals<P> {
    return this.#params.map((type, index) => localOf(type, index)) as unknown as ParamLocals<P>;
  }

  /** A fresh local variable, zero at first. */
  local<T extends ValueType>(type: T): Local<T> {
    this.#localTypes.push(type);
    return localOf(type, this.#params.length + this.#localTypes.length - 1);
  }

  set<T extends ValueType>(target: Local<T>, value: Expression<T>): void {
    value.emit(this.#code);
    this.#code.byte(0x21);
    this.#code.unsigned(target.index);
  }

  /** Evaluates once into a fresh local. */
  let<T extends ValueType>(value: Expression<T>): Local<T> {
    const target = this.local(value.type);
    this.set(target, value);
    return target;
  }

  /** A constant that is loaded once, at the start of the function, however often it is asked for. */
  once<T extends ValueType>(key: string, constant: Expression<T>): Local<T> {
    const known = this.#onceLocals.get(key);
    if (known !== undefined) return known as Local<T>;
    const target = this.local(constant.type);
    constant.emit(this.#prologue);
    this.#prologue.byte(0x21);
    this.#prologue.unsigned(target.index);
    this.#onceLocals.set(key, target);
    return target;
  }

  /** Evaluates an expression for its effect; a store or a call without a result has no value to drop. */
  run(statement: Statement): void {
    statement.emit(this.#code);
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

  return(...values: readonly Expression<ValueType>[]): void {
    for (const value of values) value.emit(this.#code);
    this.#code.byte(0x0f);
  }

  if(condition: Expression<"i32">, then: () => void, otherwise?: () => void): void {
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

  /** Body with the local declarations in front. A function with results must end with `return`. */
  finish(): Uint8Array {
    const out = new ByteWriter();
    out.vector(this.#localTypes, (type) => {
      out.unsigned(1);
      out.byte(TYPE_CODE[type]);
    });
    out.raw(this.#prologue.finish());
    out.raw(this.#code.finish());
    // A function with results has returned by now; the validator wants to see that nothing is missing on the stack.
    if (this.#hasResults) out.byte(0x00);
    out.byte(0x0b);
    return out.finish();
  }

  #emitCall(target: FunctionHandle, args: readonly Expression<ValueType>[]): void {
    if (args.length !== target.params.length) throw new Error(`${target.name} takes ${target.params.length} arguments`);
    for (const [index, arg] of args.entries()) {
      if (arg.type !== target.params[index]) throw new Error(`${target.name}: argument ${index} is ${arg.type}`);
      arg.emit(this.#code);
    }
    this.#code.byte(0x10);
    this.#code.unsigned(target.index);
  }
}

/** Something done for its effect: a store, a fill, a trap. */
export interface Statement {
  emit(code: ByteWriter): void;
}

function localOf<T extends ValueType>(type: T, index: number): Local<T> {
  return {
    type,
    index,
    emit(code: ByteWriter): void {
      code.byte(0x20);
      code.unsigned(index);
    },
  };
}
