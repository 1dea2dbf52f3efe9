/**
 * A WebAssembly module as its sections, to exchange the code of functions and to add some. Reads what circom's modules
 * have, and nothing more. WebAssembly Core Specification 2.0, sections 5.5 and 7.4.1 (names).
 */
import { ByteWriter } from "../../kernels/wasm/wasm-bytes.js";

/** A module that is malformed, or has something that circom's have not. */
export class ModuleFormError extends Error {
  override readonly name = "ModuleFormError";
}

export interface Section {
  readonly id: number;
  readonly content: Uint8Array;
}

/** A function of the module's own. */
export interface OwnFunction {
  readonly index: number;
  /** Number of its type. */
  readonly type: number;
  /** Its locals and code. */
  readonly body: Uint8Array;
}

export interface ModuleParts {
  readonly sections: readonly Section[];
  /** Imported functions come first among the indices. */
  readonly importCount: number;
  readonly functions: readonly OwnFunction[];
  /** By the names of the module's name section. */
  readonly byName: ReadonlyMap<string, OwnFunction>;
}

export interface ModuleChange {
  /** New code by the index of a function. */
  readonly bodies: ReadonlyMap<number, Uint8Array>;
  /** Functions behind the module's own, the first with the index `importCount + functions.length`. */
  readonly added: readonly Pick<OwnFunction, "type" | "body">[];
  /** Functions that JavaScript may call as well, by name. */
  readonly exports?: ReadonlyMap<string, number>;
}

const PREAMBLE_BYTES = 8;
const SECTION = { custom: 0, import: 2, function: 3, export: 7, code: 10 } as const;
const FUNCTION_KIND = 0;
const FUNCTION_NAMES = 1;

/**
 * Reads a module.
 * @throws ModuleFormError
 */
export function readModuleParts(wasm: Uint8Array): ModuleParts {
  const reader = new Reader(wasm, PREAMBLE_BYTES);
  const sections: Section[] = [];
  while (!reader.isAtEnd) {
    const id = reader.byte();
    sections.push({ id, content: reader.take(reader.unsigned()) });
  }
  const importCount = importsOf(sections);
  const types = vectorOf(sections, SECTION.function, (item) => item.unsigned());
  const bodies = vectorOf(sections, SECTION.code, (item) => item.take(item.unsigned()));
  if (types.length !== bodies.length) throw new ModuleFormError("a function has no code");
  const functions = types.map((type, at) => ({ index: importCount + at, type, body: bodies[at] ?? new Uint8Array() }));
  const byName = new Map(
    namesOf(sections).flatMap(([name, index]) => {
      const found = functions[index - importCount];
      return found === undefined ? [] : [[name, found] as const];
    }),
  );
  return { sections, importCount, functions, byName };
}

/** Returns the module with another code; its sections keep their order. */
export function withFunctions(parts: ModuleParts, { bodies, added, exports }: ModuleChange): Uint8Array<ArrayBuffer> {
  const functions = [...parts.functions, ...added];
  const out = new ByteWriter();
  out.raw([0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]);
  for (const { id, content } of parts.sections) {
    out.section(id, (w) => {
      if (id === SECTION.function) w.vector(functions, ({ type }) => w.unsigned(type));
      else if (id === SECTION.export && exports !== undefined) writeExports(w, content, exports);
      else if (id === SECTION.code)
        w.vector([...functions.entries()], ([at, { body }]) => {
          const code = bodies.get(parts.importCount + at) ?? body;
          w.unsigned(code.length);
          w.raw(code);
        });
      else w.raw(content);
    });
  }
  return out.finish();
}

function writeExports(w: ByteWriter, content: Uint8Array, exports: ReadonlyMap<string, number>): void {
  const reader = new Reader(content);
  w.unsigned(reader.unsigned() + exports.size);
  w.raw(reader.rest());
  for (const [name, index] of exports) {
    w.name(name);
    w.byte(FUNCTION_KIND);
    w.unsigned(index);
  }
}

function importsOf(sections: readonly Section[]): number {
  return vectorOf(sections, SECTION.import, (item) => {
    item.take(item.unsigned());
    item.take(item.unsigned());
    if (item.byte() !== FUNCTION_KIND) throw new ModuleFormError("an import is not a function");
    return item.unsigned();
  }).length;
}

function namesOf(sections: readonly Section[]): (readonly [name: string, index: number])[] {
  for (const { id, content } of sections) {
    if (id !== SECTION.custom) continue;
    const reader = new Reader(content);
    if (reader.text() !== "name") continue;
    while (!reader.isAtEnd) {
      const kind = reader.byte();
      const part = new Reader(reader.take(reader.unsigned()));
      if (kind !== FUNCTION_NAMES) continue;
      return Array.from({ length: part.unsigned() }, () => {
        const index = part.unsigned();
        return [part.text(), index] as const;
      });
    }
  }
  return [];
}

function vectorOf<T>(sections: readonly Section[], id: number, item: (reader: Reader) => T): T[] {
  const section = sections.find((each) => each.id === id);
  if (section === undefined) return [];
  const reader = new Reader(section.content);
  return Array.from({ length: reader.unsigned() }, () => item(reader));
}

/** Reads a part of a module from its front. */
export class Reader {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
    this.#at = at;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** Reads one byte. */
  byte(): number {
    const value = this.#bytes[this.#at];
    if (value === undefined) throw new ModuleFormError("the module ends early");
    this.#at += 1;
    return value;
  }

  /** Reads so many bytes. */
  take(length: number): Uint8Array {
    if (this.#at + length > this.#bytes.length) throw new ModuleFormError("the module ends early");
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  /** Returns what is left, and stays where it is. */
  rest(): Uint8Array {
    return this.#bytes.subarray(this.#at);
  }

  /** Reads a length and so many bytes of UTF-8. */
  text(): string {
    return Buffer.from(this.take(this.unsigned())).toString("utf8");
  }

  /** LEB128, at most 32 bits. */
  unsigned(): number {
    let value = 0;
    for (let i = 0; i < 5; i += 1) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return value;
    }
    throw new ModuleFormError("bad number in the module");
  }
}
