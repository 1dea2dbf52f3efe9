/**
 * Beside engine/backends/webassembly.d.ts: what a trap inside a module and a malformed module throw, and what a
 * module imports and exports (WebAssembly JavaScript API, sections 5.1 and 5.10).
 */
declare namespace WebAssembly {
  class RuntimeError extends Error {}
  class CompileError extends Error {}
  namespace Module {
    function imports(module: Module): { readonly module: string; readonly name: string; readonly kind: string }[];
    function exports(module: Module): { readonly name: string; readonly kind: string }[];
  }
}
