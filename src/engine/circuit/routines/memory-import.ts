/**
 * Has a witness program take its memory from outside in place of making it, so that one memory serves many runs
 * (program-memory.ts). WebAssembly Core Specification 2.0, sections 5.5.5 (imports) and 5.5.8 (memories).
 */
import { ByteWriter } from "../../kernels/wasm/wasm-bytes.js";
import type { MemoryLimits } from "../program-memory.js";
import { ModuleFormError, Reader, type ModuleParts } from "./module-sections.js";

const SECTION = { import: 2, memory: 5 } as const;
const MEMORY_KIND = 2;
/** Limits flags: bit 0 says that a maximum follows. */
const WITH_MAXIMUM = 1;

/** Returns the pages of the program's own memory, and the program with that memory as its last import. */
export function withMemoryImport(parts: ModuleParts): { readonly parts: ModuleParts; readonly limits: MemoryLimits } {
  const memory = parts.sections.find(({ id }) => id === SECTION.memory);
  if (memory === undefined || !parts.sections.some(({ id }) => id === SECTION.import))
    throw new ModuleFormError("the module has no memory or no imports");
  const { bytes, limits } = readLimits(memory.content);
  const sections = parts.sections
    .filter((section) => section !== memory)
    .map((section) =>
      section.id === SECTION.import ? { ...section, content: withImport(section.content, bytes) } : section,
    );
  return { parts: { ...parts, sections }, limits };
}

function readLimits(content: Uint8Array): { readonly bytes: Uint8Array; readonly limits: MemoryLimits } {
  const reader = new Reader(content);
  const count = reader.unsigned();
  const bytes = reader.rest();
  const flags = reader.byte();
  if (count !== 1 || flags > WITH_MAXIMUM) throw new ModuleFormError("the module has not one plain memory");
  const initial = reader.unsigned();
  const limits = flags === WITH_MAXIMUM ? { initial, maximum: reader.unsigned() } : { initial };
  if (!reader.isAtEnd) throw new ModuleFormError("the memory section has a wrong length");
  return { bytes, limits };
}

function withImport(content: Uint8Array, limits: Uint8Array): Uint8Array {
  const reader = new Reader(content);
  const w = new ByteWriter();
  w.unsigned(reader.unsigned() + 1);
  w.raw(reader.rest());
  w.name("runtime");
  w.name("memory");
  w.byte(MEMORY_KIND);
  w.raw(limits);
  return w.finish();
}
