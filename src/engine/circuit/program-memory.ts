/**
 * The memory of witness programs that take it from outside. A program gets a new instance for each run, and every page
 * of its memory is zero then, as in a new memory; but the system has given them already, which took a third of a large
 * witness. A thread keeps one memory, of the program that ran last, and wipes it when a run has ended: it holds nothing
 * of anybody's inputs between runs.
 */
import { WASM_PAGE_BYTES } from "./wasm-memory.js";

/** In pages. */
export interface MemoryLimits {
  readonly initial: number;
  readonly maximum?: number;
}

/** A million constraints of bits take more: each run has a new memory then, as before. */
const KEPT_BYTES_MAX = 64 * 1024 ** 2;

const limitsOf = new WeakMap<WebAssembly.Module, MemoryLimits>();
let kept: { readonly module: WebAssembly.Module; readonly memory: WebAssembly.Memory } | undefined;

/** Says of a program that it takes its memory from outside. */
export function useOutsideMemory(module: WebAssembly.Module, limits: MemoryLimits): void {
  limitsOf.set(module, limits);
}

/**
 * Runs the work with the imports that an instance of the program needs beside its functions. The instance is not used
 * after the work.
 */
export function withProgramMemory<Value>(
  module: WebAssembly.Module,
  work: (imports: { readonly memory?: WebAssembly.Memory }) => Value,
): Value {
  const limits = limitsOf.get(module);
  if (limits === undefined) return work({});
  const memory = kept?.module === module ? kept.memory : new WebAssembly.Memory(limits);
  kept = undefined;
  try {
    return work({ memory });
  } finally {
    keepWiped(module, memory, limits);
  }
}

/** Has a memory ready for the first run of the program, unless another program has run. */
export function prepareMemory(module: WebAssembly.Module): void {
  const limits = limitsOf.get(module);
  if (limits !== undefined && kept === undefined) keepWiped(module, new WebAssembly.Memory(limits), limits);
}

/** A memory that has grown is another than the program begins with, and is left to the collector as it was made. */
function keepWiped(module: WebAssembly.Module, memory: WebAssembly.Memory, { initial }: MemoryLimits): void {
  const { buffer } = memory;
  if (buffer.byteLength !== initial * WASM_PAGE_BYTES || buffer.byteLength > KEPT_BYTES_MAX) return;
  new Uint8Array(buffer).fill(0);
  kept = { module, memory };
}
