/** What is told beforehand of a key's memory, against what the kernels lay out and the files have. */
import { describe, expect, it } from "vitest";
import { readR1cs } from "../../../src/engine/circuit/r1cs.js";
import { curveNamed } from "../../../src/engine/curves/curves.js";
import { zkeyBytes } from "../../../src/engine/fflonk/fflonk-zkey-layout.js";
import { sectionBytes } from "../../../src/engine/groth16/zkey-layout.js";
import { fflonkKeyBytes } from "../../../src/engine/kernels/fflonk/build-fflonk-key.js";
import { chooseTables } from "../../../src/engine/kernels/groth16/key-tables.js";
import { groth16KeyBytes } from "../../../src/engine/kernels/groth16/build-resident-key.js";
import { plonkKeyBytes } from "../../../src/engine/kernels/plonk/build-plonk-key.js";
import { sizingKernels } from "../../../src/engine/kernels/threads/key-memory.js";
import { gatesOf } from "../../../src/engine/plonk/plonk-gates.js";
import type { PlonkGates } from "../../../src/engine/plonk/plonk-gates.js";
import {
  circuitCounts,
  memoryNeeds,
  openKeyBytes,
  storedKeyNeeds,
  type CircuitCounts,
  type MemoryNeeds,
} from "../../../src/engine/proof-systems/memory-needs.js";
import { chainFixture, r1csFile } from "../../support/groth16-fixtures.js";
import { KERNEL_KINDS } from "../../support/kernels.js";

const GIB = 1024 ** 3;
const POWERS = [10, 14, 17, 20, 21];
/** Room for what is told too high: buckets and alignment of small keys, half of a large one's. */
const SLACK_BYTES = 80 * 1024 ** 2;
const SLACK = 1.6;

function countsOf(domainPower: number): CircuitCounts {
  const rows = 2 ** domainPower;
  const [constraintCount, wireCount, termCount] = [rows - 8, rows, 6 * rows];
  return {
    ...{ constraintCount, wireCount, termCount, publicCount: 1 },
    r1csBytes: 36 * termCount + 12 * constraintCount + 8 * wireCount,
  };
}

function expectBound(told: number, real: number): void {
  expect(told).toBeGreaterThanOrEqual(real);
  expect(told).toBeLessThanOrEqual(SLACK * real + SLACK_BYTES);
}

function expectNeeds(
  needs: MemoryNeeds,
  real: { readonly key: number; readonly workspace: number; readonly helper?: number },
): void {
  expectBound(needs.key, real.key);
  expectBound(needs.workspace, real.workspace);
  expectBound(needs.helper, real.helper ?? real.workspace);
}

describe.each(KERNEL_KINDS)("the memory of a key on %s kernels", (preferred) => {
  it.each(["BN254", "BLS12_381"] as const)("is what Groth16's is on %s", (name) => {
    const kernels = sizingKernels({ curve: curveNamed(name), preferred });
    for (const domainPower of POWERS) {
      const counts = countsOf(domainPower);
      const lengths = sectionBytes({ ...counts, domainPower }, kernels.curve);
      const coefficients = 44 * counts.termCount;
      const real = groth16KeyBytes(kernels, {
        ...{ wireCount: counts.wireCount, domainPower, termCount: counts.termCount },
        g1Bytes: lengths.a + lengths.b1 + lengths.c + lengths.h,
        g2Bytes: lengths.b2,
      });
      const needs = memoryNeeds(`groth16/${name}`, counts);
      expect(needs.domainPower).toBe(domainPower);
      expectNeeds(needs, real);
      const file = Object.values(lengths).reduce((sum, bytes) => sum + bytes, coefficients);
      expectBound(needs.keyFile, file);
      const circuit = { ...counts, outputCount: 1, publicInputCount: 0 };
      expectBound(
        openKeyBytes(storedKeyNeeds(`groth16/${name}`, circuit, { keyBytes: file }), { workspaces: 1 }),
        real.key + real.workspace,
      );
    }
  });

  it.each(["BN254", "BLS12_381"] as const)("has room for Groth16's tables on %s", (name) => {
    const kernels = sizingKernels({ curve: curveNamed(name), preferred });
    for (const domainPower of [3, 10, 14, 15, 17])
      for (const [tableBytesMax, sparse] of [
        [2 ** 18, 1],
        [2 ** 26, 1],
        [2 ** 30, 1],
        // A circuit whose sums have few points.
        [2 ** 30, 8],
      ] as const) {
        const counts = countsOf(domainPower);
        const points = Math.floor(2 ** domainPower / sparse);
        const none = domainPower > 14;
        const sections = none
          ? { a: 0, b1: 0, b2: 0, c: 0, h: 0 }
          : { a: points, b1: points, b2: points, c: points, h: 2 ** domainPower };
        const tables = chooseTables(kernels, sections, tableBytesMax);
        const bytes = { wireCount: counts.wireCount, domainPower, termCount: counts.termCount, g1Bytes: 0, g2Bytes: 0 };
        const [without, real] = [undefined, tables].map((room) => groth16KeyBytes(kernels, { ...bytes, tables: room }));
        const needs = memoryNeeds(`groth16/${name}`, counts);
        const told = (helpers: number, room: number): number =>
          openKeyBytes(needs, { workspaces: 1, helpers, tableBytesMax: room });
        expect(told(0, tableBytesMax) - told(0, 0)).toBeGreaterThanOrEqual(real!.key - without!.key);
        expect(needs.workspace + needs.tables.place).toBeGreaterThanOrEqual(real!.workspace);
        expect(needs.helper + needs.tables.place).toBeGreaterThanOrEqual(real!.helper ?? 0);
      }
  });

  it.each(["BN254", "BLS12_381"] as const)("is what PLONK's is on %s, whole and in sections", (name) => {
    const kernels = sizingKernels({ curve: curveNamed(name), preferred });
    for (const domainPower of POWERS) {
      const needs = memoryNeeds(`plonk/${name}`, countsOf(domainPower));
      expect(needs.domainPower).toBe(domainPower);
      const sectioned = plonkKeyBytes(kernels, emptyGates(domainPower), "sectioned");
      const whole = plonkKeyBytes(kernels, emptyGates(domainPower), "whole");
      expectNeeds(needs, sectioned);
      expectBound(needs.sections, sectioned.sections);
      expectBound(needs.key + needs.sections, whole.key);
    }
  });

  it("is what FFLONK's is", () => {
    const kernels = sizingKernels({ curve: curveNamed("BN254"), preferred });
    for (const domainPower of [10, 14, 17, 19]) {
      const needs = memoryNeeds("fflonk/BN254", countsOf(domainPower));
      const { key, workspace } = fflonkKeyBytes(kernels, emptyGates(domainPower));
      expectNeeds(needs, { key, workspace });
      expectBound(needs.keyFile, zkeyBytes({ domainPower, publicCount: 1 }));
    }
  });
});

describe("what is told of a circuit", () => {
  it("has the counts of its file", () => {
    const fixture = chainFixture(50);
    const bytes = r1csFile(fixture);
    const { a, b, c } = fixture.r1cs.constraints;
    const counts = circuitCounts(readR1cs(bytes), bytes.length);
    const terms = a.wires.length + b.wires.length + c.wires.length;
    expect(counts).toMatchObject({ constraintCount: 50, publicCount: 2, wireCount: fixture.r1cs.wireCount });
    expect(counts.termCount).toBeGreaterThanOrEqual(terms);
    expect(counts.termCount).toBeLessThan(terms + 8);
  });

  it("has the least domain that the constraints can have, one row more in Groth16", () => {
    const counts = { ...countsOf(10), constraintCount: 1023, publicCount: 1 };
    expect(memoryNeeds("groth16/BN254", counts).domainPower).toBe(11);
    expect(memoryNeeds("plonk/BN254", counts).domainPower).toBe(10);
    expect(gatesOf(chainFixture(50).r1cs).gateCount).toBeGreaterThanOrEqual(52);
  });

  it("fits a machine of 24 GiB for 2^20 constraints, and for 2^21 rows with one proof at a time", () => {
    for (const system of ["groth16/BN254", "groth16/BLS12_381", "plonk/BN254", "plonk/BLS12_381"] as const) {
      const [large, largest] = [memoryNeeds(system, countsOf(20)), memoryNeeds(system, countsOf(21))];
      expect(Math.max(large.setup, large.gates, openKeyBytes(large, { workspaces: 2 }))).toBeLessThan(10 * GIB);
      expect(Math.max(largest.setup, largest.gates, openKeyBytes(largest, { workspaces: 1 }))).toBeLessThan(18 * GIB);
    }
  });
});

/** Gates of a domain, as far as sizes follow from them. */
function emptyGates(domainPower: number): PlonkGates {
  const none = new Uint32Array(0);
  const gateCount = 2 ** domainPower - 8;
  return {
    ...{ publicCount: 1, gateCount, systemWireCount: 2 ** domainPower },
    additions: { count: 0, left: none, right: none, leftFactor: none, rightFactor: none },
    wires: { a: none, b: none, c: none },
    selectors: { m: none, l: none, r: none, o: none, k: none },
    coefficients: [0n, 1n],
  };
}
