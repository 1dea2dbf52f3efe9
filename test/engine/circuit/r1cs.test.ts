import { beforeAll, describe, expect, it } from "vitest";
import { compileCircuit } from "../../../src/engine/circuit/compile-circuit.js";
import { findUnsatisfied } from "../../../src/engine/circuit/satisfaction.js";
import { readR1cs, readR1csHeader, R1csFormatError } from "../../../src/engine/circuit/r1cs.js";
import type { R1csMatrix } from "../../../src/engine/circuit/r1cs.js";

// SOURCE: iden3/r1csfile, doc/r1cs_bin_format.md, "Example": the file below is the one that is spelled out there byte
// by byte.
const PUBLISHED = Buffer.from(
  `72316373 01000000 03000000
   01000000 40000000 00000000
   20000000 010000f0 93f5e143 9170b979 48e83328 5d588181 b64550b8 29a031e1 724e6430
   07000000 01000000 02000000 03000000 e8030000 00000000 03000000
   02000000 88020000 00000000
   02000000
     05000000 03000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
     06000000 08000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
   03000000
     00000000 02000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
     02000000 14000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
     03000000 0c000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
   02000000
     00000000 05000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
     02000000 07000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
   03000000
     01000000 04000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
     04000000 08000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
     05000000 03000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
   02000000
     03000000 2c000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
     06000000 06000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
   00000000
   01000000
     06000000 04000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
   03000000
     00000000 06000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
     02000000 0b000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
     03000000 05000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
   01000000
     06000000 58020000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
   03000000 38000000 00000000
   00000000 00000000 03000000 00000000 0a000000 00000000 0b000000 00000000 0c000000 00000000 0f000000 00000000 44010000 00000000`.replaceAll(
    /\s/g,
    "",
  ),
  "hex",
);
const BN254_R = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
/** Offsets in the published file. */
const AT = {
  prime: 28,
  wireCount: 60,
  constraintSection: 88,
  firstTerms: 100,
  firstWire: 104,
  firstCoefficient: 108,
} as const;

function changed(offset: number, value: number): Uint8Array {
  const copy = Uint8Array.from(PUBLISHED);
  new DataView(copy.buffer).setUint32(offset, value, true);
  return copy;
}

function rows(matrix: R1csMatrix): [number, bigint][][] {
  return Array.from({ length: matrix.rowOffsets.length - 1 }, (_, row) => {
    const terms: [number, bigint][] = [];
    for (let i = matrix.rowOffsets[row]!; i < matrix.rowOffsets[row + 1]!; i += 1) {
      const bytes = Buffer.from(matrix.coefficients.subarray(32 * i, 32 * i + 32)).reverse();
      terms.push([matrix.wires[i]!, BigInt(`0x${bytes.toString("hex")}`)]);
    }
    return terms;
  });
}

describe("readR1cs on the published example", () => {
  it("reads the header", () => {
    expect(readR1csHeader(PUBLISHED)).toEqual({
      fieldBytes: 32,
      prime: BN254_R,
      wireCount: 7,
      outputCount: 1,
      publicInputCount: 2,
      privateInputCount: 3,
      labelCount: 1000,
      constraintCount: 3,
    });
  });

  it("reads every term of every constraint", () => {
    const { a, b, c } = readR1cs(PUBLISHED).constraints;
    expect(rows(a)).toEqual([
      [
        [5, 3n],
        [6, 8n],
      ],
      [
        [1, 4n],
        [4, 8n],
        [5, 3n],
      ],
      [[6, 4n]],
    ]);
    expect(rows(b)).toEqual([
      [
        [0, 2n],
        [2, 20n],
        [3, 12n],
      ],
      [
        [3, 44n],
        [6, 6n],
      ],
      [
        [0, 6n],
        [2, 11n],
        [3, 5n],
      ],
    ]);
    expect(rows(c)).toEqual([
      [
        [0, 5n],
        [2, 7n],
      ],
      [],
      [[6, 600n]],
    ]);
  });

  it("reads the labels of the wires", () => {
    expect([...readR1cs(PUBLISHED).wireLabels]).toEqual([0, 3, 10, 11, 12, 15, 324]);
  });

  it("reads bytes at an odd place of a larger buffer", () => {
    const larger = Buffer.concat([Buffer.from([1]), PUBLISHED]);
    expect(readR1cs(larger.subarray(1))).toEqual(readR1cs(PUBLISHED));
  });
});

describe("readR1cs on damaged files", () => {
  it.each([
    ["another magic word", changed(0, 1)],
    ["another version", changed(4, 2)],
    ["too many sections", changed(8, 17)],
    ["a missing section", changed(8, 2)],
    ["a section twice", changed(AT.constraintSection, 1)],
    ["another field size", changed(24, 48)],
    ["an even modulus", changed(AT.prime, 0xf0000000)],
    ["fewer wires than public signals", changed(AT.wireCount, 3)],
    ["fewer wires than a constraint names", changed(AT.wireCount, 6)],
    ["more wires than labels", changed(AT.wireCount, 1001)],
    ["more constraints than the section has", changed(AT.wireCount + 24, 4)],
    ["fewer constraints than the section has", changed(AT.wireCount + 24, 2)],
    ["four thousand million constraints", changed(AT.wireCount + 24, 0xffffffff)],
    ["a wire that does not exist", changed(AT.firstWire, 7)],
    ["four thousand million terms", changed(AT.firstTerms, 0xffffffff)],
    ["a section longer than the file", changed(AT.constraintSection + 4, 0xfffffff0)],
    ["a section of more than 4 GiB", changed(AT.constraintSection + 8, 1)],
    ["a label that does not exist", changed(PUBLISHED.length - 8, 1000)],
    ["nothing at all", new Uint8Array(0)],
    ["a length that is no multiple of four", PUBLISHED.subarray(0, PUBLISHED.length - 1)],
    ["bytes at its end", Buffer.concat([PUBLISHED, Buffer.alloc(4)])],
  ])("refuses %s", (_name, bytes) => {
    expect(() => readR1cs(bytes)).toThrow(R1csFormatError);
  });

  it("takes the coefficient prime - 1 and refuses the prime and what lies above", () => {
    for (const [value, accepted] of [
      [BN254_R - 1n, true],
      [BN254_R, false],
      [2n ** 256n - 1n, false],
    ] as const) {
      const bytes = Buffer.from(PUBLISHED);
      Buffer.from(value.toString(16).padStart(64, "0"), "hex").reverse().copy(bytes, AT.firstCoefficient);
      if (accepted) expect(() => readR1cs(bytes), `${value}`).not.toThrow();
      else expect(() => readR1cs(bytes), `${value}`).toThrow("below the prime");
    }
  });

  it("refuses every truncation without reading past the end", () => {
    for (let length = 0; length < PUBLISHED.length; length += 4) {
      expect(() => readR1cs(PUBLISHED.subarray(0, length)), `${length} bytes`).toThrow(R1csFormatError);
    }
  });
});

describe("findUnsatisfied", () => {
  const source =
    "pragma circom 2.1.0; template T() { signal input a; signal input b; signal output c; signal d <== a * b; c <== d * a; } component main = T();";
  let file: Uint8Array;

  beforeAll(async () => {
    const result = await compileCircuit({ sources: { "main.circom": source }, main: "main.circom", curve: "BN254" });
    if (!result.ok) throw new Error(JSON.stringify(result.diagnostics));
    file = result.r1cs;
  });

  function witness(values: readonly bigint[]): Uint8Array {
    return Buffer.concat(values.map((value) => Buffer.from(value.toString(16).padStart(64, "0"), "hex").reverse()));
  }

  it("finds nothing in a good witness, and the broken constraint in a bad one", () => {
    const r1cs = readR1cs(file);
    // Wires: 1, c, a, b, d.
    expect(findUnsatisfied(r1cs, witness([1n, 45n, 3n, 5n, 15n]))).toBeUndefined();
    expect([0, 1]).toContain(findUnsatisfied(r1cs, witness([1n, 45n, 3n, 5n, 16n])));
    expect(findUnsatisfied(r1cs, witness([1n, 46n, 3n, 5n, 15n]))).toBe(1);
  });

  it("refuses a first wire other than one, values not below the prime, and another number of wires", () => {
    const r1cs = readR1cs(file);
    expect(findUnsatisfied(r1cs, witness([0n, 0n, 0n, 0n, 0n]))).toBe(-1);
    expect(findUnsatisfied(r1cs, witness([1n, 45n + BN254_R, 3n, 5n, 15n]))).toBe(-1);
    expect(() => findUnsatisfied(r1cs, witness([1n, 45n, 3n, 5n]))).toThrow(RangeError);
  });
});
