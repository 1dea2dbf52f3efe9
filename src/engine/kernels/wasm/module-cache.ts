/** Keeps compiled WebAssembly modules for the life of the thread. */
import { preparedProgram } from "../../prepared/prepared-programs.js";

export interface CompiledModule<Layout> {
  readonly layout: Layout;
  readonly module: WebAssembly.Module;
}

/**
 * Modules by name, each built and compiled once. Hold a cache in module state: V8 keeps its optimised code with the
 * module, so that a second instance is there in a millisecond. A cache never evicts; its names are few (curve and
 * kind).
 */
export class ModuleCache<Layout extends { readonly bytes: Uint8Array<ArrayBuffer> }> {
  readonly #modules = new Map<string, CompiledModule<Layout>>();

  /** Returns the module of a name; the first time it is read as prepared, or else `build` generates it. */
  get(name: string, build: () => Layout): CompiledModule<Layout> {
    const existing = this.#modules.get(name);
    if (existing !== undefined) return existing;
    const layout = (preparedProgram(name) as Layout | undefined) ?? build();
    const compiled = { layout, module: new WebAssembly.Module(layout.bytes) };
    this.#modules.set(name, compiled);
    return compiled;
  }
}
