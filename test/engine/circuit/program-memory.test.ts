/** Witness programs on a memory that a thread keeps: a run finds it as a new one, whatever the run before did. */
import { createHash } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { compileCircuit } from "../../../src/engine/circuit/compile-circuit.js";
import { readCircuitInterface } from "../../../src/engine/circuit/interface.js";
import type { CircuitInterface } from "../../../src/engine/circuit/interface.js";
import { prepareMemory, useOutsideMemory, withProgramMemory } from "../../../src/engine/circuit/program-memory.js";
import { readR1cs } from "../../../src/engine/circuit/r1cs.js";
import { withMemoryImport } from "../../../src/engine/circuit/routines/memory-import.js";
import { ModuleFormError, readModuleParts } from "../../../src/engine/circuit/routines/module-sections.js";
import { WitnessPrograms } from "../../../src/engine/circuit/routines/witness-programs.js";
import { computeWitness } from "../../../src/engine/circuit/witness.js";

const SOURCE = `pragma circom 2.1.0;
include "circomlib/circuits/poseidon.circom";
template A() {
  signal input x; signal output y;
  assert(x != 3);
  y <== Poseidon(2)([x, x * x]);
}
component main = A();`;

let wasm: Uint8Array;
let circuit: CircuitInterface;

beforeAll(async () => {
  const compiled = await compileCircuit({ sources: { "a.circom": SOURCE }, main: "a.circom", curve: "BN254" });
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
  wasm = compiled.wasm;
  circuit = readCircuitInterface(readR1cs(compiled.r1cs), compiled.sym);
});

async function opened(): Promise<{ readonly faster: WebAssembly.Module; readonly plain: WebAssembly.Module }> {
  const bytes = new SharedArrayBuffer(wasm.length);
  new Uint8Array(bytes).set(wasm);
  const stored = { sha256: createHash("sha256").update(wasm).digest("hex"), bytes };
  const programs = new WitnessPrograms({ max: 2 });
  const { module: faster, memory } = await programs.open(stored);
  expect(memory?.initial).toBeGreaterThan(0);
  return { faster, plain: await programs.openPlain(stored) };
}

function witnessOf(module: WebAssembly.Module, x: bigint): unknown {
  return computeWitness(module, circuit, new Map([["x", [x]]]));
}

/** The memory that the next run is given, or none. */
function memoryOf(module: WebAssembly.Module): WebAssembly.Memory | undefined {
  return withProgramMemory(module, ({ memory }) => memory);
}

function isZero(memory: WebAssembly.Memory | undefined): boolean {
  return memory !== undefined && new Uint8Array(memory.buffer).every((byte) => byte === 0);
}

describe("the memory of a witness program", () => {
  it("is kept and wiped after each run, and every run computes what a new instance does", async () => {
    const { faster, plain } = await opened();
    prepareMemory(faster);
    const first = memoryOf(faster);
    // The third fails in the midst.
    for (const x of [1n, 2n, 3n, 2n, 2n ** 200n]) {
      expect(witnessOf(faster, x), String(x)).toEqual(witnessOf(plain, x));
      expect([memoryOf(faster) === first, isZero(first)], String(x)).toEqual([true, true]);
    }
  });

  it("is another one for another program, within another run, and after one that has grown", async () => {
    const { faster } = await opened();
    const { faster: other } = await opened();
    const first = memoryOf(faster);
    expect(memoryOf(faster)).toBe(first);
    withProgramMemory(faster, ({ memory }) => {
      expect(memory).toBe(first);
      expect(memoryOf(faster)).not.toBe(first);
    });
    const mine = memoryOf(faster);
    expect([memoryOf(other) === mine, memoryOf(faster) === mine]).toEqual([false, false]);
    const grown = withProgramMemory(faster, ({ memory }) => {
      memory?.grow(0);
      return memory;
    });
    expect(memoryOf(faster)).toBe(grown);
    const small = new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
    useOutsideMemory(small, { initial: 1, maximum: 2 });
    const left = withProgramMemory(small, ({ memory }) => {
      memory?.grow(1);
      return memory;
    });
    expect(memoryOf(small)).not.toBe(left);
  });

  it("is wiped when a run throws, and not kept where it is large", () => {
    const module = new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
    useOutsideMemory(module, { initial: 1, maximum: 1 });
    let held: WebAssembly.Memory | undefined;
    const failing = (): unknown =>
      withProgramMemory(module, ({ memory }) => {
        held = memory;
        if (memory !== undefined) new Uint8Array(memory.buffer).fill(7);
        throw new Error("a trap");
      });
    expect(failing).toThrow("a trap");
    expect([memoryOf(module) === held, isZero(held)]).toEqual([true, true]);
    useOutsideMemory(module, { initial: 1025, maximum: 1025 });
    const large = memoryOf(module);
    expect(memoryOf(module)).not.toBe(large);
  });

  it("stays the program's own where that is not one plain memory", () => {
    const parts = readModuleParts(wasm);
    for (const content of [[2, 0, 1, 0, 1], [1, 3, 1, 1], [1, 0, 1, 0], []]) {
      const sections = parts.sections.map((section) =>
        section.id === 5 ? { ...section, content: Uint8Array.from(content) } : section,
      );
      expect(() => withMemoryImport({ ...parts, sections }), String(content)).toThrow(ModuleFormError);
    }
    const without = parts.sections.filter(({ id }) => id !== 5);
    expect(() => withMemoryImport({ ...parts, sections: without })).toThrow(ModuleFormError);
  });
});
