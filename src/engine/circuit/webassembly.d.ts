/**
 * Beside engine/backends/webassembly.d.ts: what a trap inside a module throws (WebAssembly JavaScript API, section
 * 5.10).
 */
declare namespace WebAssembly {
  class RuntimeError extends Error {}
}
