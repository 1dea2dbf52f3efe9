/**
 * The part of the WebAssembly JavaScript API (W3C) that the engine uses; TypeScript declares it only together with the
 * DOM.
 */
declare namespace WebAssembly {
  interface MemoryDescriptor {
    readonly initial: number;
    readonly maximum?: number;
  }
  class Memory {
    constructor(descriptor: MemoryDescriptor);
    readonly buffer: ArrayBuffer;
    /** Grows by pages of 64 KiB; earlier views become detached. */
    grow(pages: number): number;
  }
  class Module {
    /** A module has no members; this one keeps other objects from passing as one. */
    private readonly compiled: true;
    constructor(bytes: Uint8Array);
  }
  class Instance {
    constructor(module: Module, imports: Record<string, Record<string, unknown>>);
    readonly exports: Record<string, unknown>;
  }
  function compile(bytes: Uint8Array): Promise<Module>;
}
