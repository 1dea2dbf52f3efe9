/** Keeps compiled WebAssembly modules for the life of the thread. */

export interface CompiledModule<Layout> {
  readonly layout: Layout;
  readonly module: WebAssembly.Module;
}

/**
 * Modules by key, each built and compiled once. Hold a cache in module state: V8 keeps its optimised code with the
 * module, so that a second instance is there in a millisecond. A cache never evicts; its keys are few (curve and kind).
 */
export class ModuleCache<Layout extends { readonly bytes: Uint8Array<ArrayBuffer> }> {
  readonly #modules = new Map<string, CompiledModule<Layout>>();

  /** Returns the module of the key; the first time, `build` generates it. */
  get(key: string, build: () => Layout): CompiledModule<Layout> {
    const existing = this.#modules.get(key);
    if (existing !== undefined) return existing;
    const layout = build();
    const compiled = { layout, module: new WebAssembly.Module(layout.bytes) };
    this.#modules.set(key, compiled);
    return compiled;
  }
}
