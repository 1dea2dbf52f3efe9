/**
 * The parts of the WebAssembly interface of JavaScript that @types/node leaves out: validation, and memory that threads
 * share.
 */

interface SharedMemoryDescriptor {
  /** Pages of 64 KiB. */
  readonly initial: number;
  readonly maximum: number;
  readonly shared: true;
}

interface WasmHost {
  readonly Memory: new (descriptor: SharedMemoryDescriptor) => WebAssembly.Memory;
  validate(bytes: Uint8Array<ArrayBuffer>): boolean;
}

export const wasmHost = WebAssembly as unknown as WasmHost;
