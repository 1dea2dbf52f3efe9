/**
 * A circuit of any size with its witness, written without a compiler, which would take longer and more memory than what
 * is measured: x_{i+1} = (x_i + c_i) (x_i + 3) from a private start to a public output, c_i being 1 to 1024 in turn.
 * Each row is one gate of PLONK, and all values fill the field.
 */
import { BN254 } from "../src/engine/curves/bn254.js";
import type { CurveParameters } from "../src/engine/curves/curve-parameters.js";
import { writeBigIntLE } from "../src/engine/field/bytes.js";

export interface LargeCircuit {
  readonly constraintCount: number;
  /** An R1CS file. */
  readonly r1cs: Uint8Array;
  /** 32 bytes little-endian per wire. */
  readonly witness: Uint8Array;
  readonly publicSignals: readonly bigint[];
}

const FIELD_WORDS = 8;
const TERM_WORDS = 1 + FIELD_WORDS;
/** Three numbers of terms, and the terms of A, B and C. */
const ROW_WORDS = 3 + 5 * TERM_WORDS;
const CONSTANTS = 1024;
const ADDED = 3;
const HEADER_WORDS = 1 + FIELD_WORDS + 7;
const SECTION_HEAD_WORDS = 3;
const FILE_HEAD_WORDS = 3;
const MAGIC = 0x73633172; // "r1cs"

/** Makes the circuit, in about two seconds for each million of constraints. */
export function largeCircuit(constraintCount: number, curve: CurveParameters = BN254): LargeCircuit {
  const { r } = curve;
  // wires: 1, output, x_0, x_1, ...
  const wireCount = constraintCount + 2;
  const witness = new Uint8Array(wireCount * curve.frBytes);
  const put = (wire: number, value: bigint): void => {
    writeBigIntLE(value, witness, wire * curve.frBytes, curve.frBytes);
  };
  const start = r - 7n;
  put(0, 1n);
  put(2, start);
  let value = start;
  for (let i = 0; i < constraintCount; i += 1) {
    value = ((value + BigInt(constantOf(i))) * (value + BigInt(ADDED))) % r;
    put(wireOf(i + 1, constraintCount), value);
  }
  return { constraintCount, r1cs: r1csFile(constraintCount, wireCount, curve), witness, publicSignals: [value] };
}

function constantOf(row: number): number {
  return 1 + (row % CONSTANTS);
}

function wireOf(step: number, steps: number): number {
  return step === steps ? 1 : 2 + step;
}

function r1csFile(steps: number, wireCount: number, { r }: CurveParameters): Uint8Array {
  const lengths = [HEADER_WORDS, steps * ROW_WORDS, 2 * wireCount] as const;
  const words = new Uint32Array(lengths.reduce((sum, length) => sum + SECTION_HEAD_WORDS + length, FILE_HEAD_WORDS));
  words.set([MAGIC, 1, lengths.length]);
  let at = FILE_HEAD_WORDS;
  const section = (kind: number): number => {
    const bytes = 4 * (lengths[kind - 1] ?? 0);
    words.set([kind, bytes % 2 ** 32, Math.floor(bytes / 2 ** 32)], at);
    const start = at + SECTION_HEAD_WORDS;
    at = start + bytes / 4;
    return start;
  };
  const prime = Array.from({ length: FIELD_WORDS }, (_, i) => Number((r >> BigInt(32 * i)) & 0xffff_ffffn));
  words.set([4 * FIELD_WORDS, ...prime, wireCount, 1, 0, 1, wireCount, 0, steps], section(1));
  let next = section(2);
  for (let i = 0; i < steps; i += 1, next += ROW_WORDS) writeRow(words, next, i, steps);
  const labels = section(3);
  for (let wire = 0; wire < wireCount; wire += 1) words[labels + 2 * wire] = wire;
  return new Uint8Array(words.buffer);
}

function writeRow(words: Uint32Array, start: number, row: number, steps: number): void {
  let at = start;
  const sum = (...terms: readonly (readonly [wire: number, factor: number])[]): void => {
    words[at] = terms.length;
    at += 1;
    for (const [wire, factor] of terms) {
      words[at] = wire;
      words[at + 1] = factor;
      at += TERM_WORDS;
    }
  };
  const x = wireOf(row, steps);
  sum([0, constantOf(row)], [x, 1]);
  sum([0, ADDED], [x, 1]);
  sum([wireOf(row + 1, steps), 1]);
}
