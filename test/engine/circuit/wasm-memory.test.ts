import { describe, expect, it } from "vitest";
import { WasmMemoryError, withMemoryMaximum } from "../../../src/engine/circuit/wasm-memory.js";

const PREAMBLE = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
/** A module with a memory section of the given content that exports its memory as "m". */
function moduleOf(memory: readonly number[]): Uint8Array {
  return Uint8Array.from([...PREAMBLE, 5, memory.length, ...memory, 7, 5, 1, 1, 0x6d, 2, 0]);
}

function memoryOf(wasm: Uint8Array): WebAssembly.Memory {
  return new WebAssembly.Instance(new WebAssembly.Module(wasm), {}).exports["m"] as WebAssembly.Memory;
}

describe("withMemoryMaximum", () => {
  it("lets memory grow to the limit and not beyond", () => {
    const memory = memoryOf(withMemoryMaximum(moduleOf([1, 0, 2]), 300));
    expect(memory.buffer.byteLength).toBe(2 * 65536);
    expect(memory.grow(298)).toBe(2);
    expect(() => memory.grow(1)).toThrow();
  });

  it("keeps a lower maximum of the module's own and lowers a higher one", () => {
    expect(() => memoryOf(withMemoryMaximum(moduleOf([1, 1, 1, 3]), 300)).grow(3)).toThrow();
    expect(() => memoryOf(withMemoryMaximum(moduleOf([1, 1, 1, 0x80, 0x08]), 300)).grow(300)).toThrow();
  });

  it("takes an initial memory of exactly the limit and refuses one page more", () => {
    expect(memoryOf(withMemoryMaximum(moduleOf([1, 0, 3]), 3)).buffer.byteLength).toBe(3 * 65536);
    expect(() => withMemoryMaximum(moduleOf([1, 0, 4]), 3)).toThrow(
      expect.objectContaining({ reason: "too_large" }) as Error,
    );
  });

  it.each([
    ["no memory", Uint8Array.from(PREAMBLE)],
    ["an empty file", new Uint8Array(0)],
    ["two memories", moduleOf([2, 0, 1, 0, 1])],
    ["a shared memory", moduleOf([1, 3, 1, 2])],
    ["a section past the end", Uint8Array.from([...PREAMBLE, 5, 100, 1])],
    ["an endless number", Uint8Array.from([...PREAMBLE, 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])],
    ["a section that is too long for its content", moduleOf([1, 0, 2, 0])],
  ])("refuses %s", (_name, wasm) => {
    expect(() => withMemoryMaximum(wasm, 10)).toThrow(WasmMemoryError);
  });
});
