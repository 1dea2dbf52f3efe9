/**
 * Circuits of any size with their witnesses, written without a compiler, which would take longer and more memory than
 * what is measured. Both have a private start and a public output:
 *
 * - `full`: x_{i+1} = (x_i + c_i) (x_i + 3), c_i being 1 to 1024 in turn. Each row is one gate of PLONK, and all values
 *   fill the field, which is the most that a witness can cost.
 * - `bits`: of 16 rows, 15 have the exclusive or of two bits, and one is of the chain above: as circuits that hash have it.
 */
import { BN254 } from "../src/engine/curves/bn254.js";
import type { CurveParameters } from "../src/engine/curves/curve-parameters.js";
import { writeBigIntLE } from "../src/engine/field/bytes.js";
import { reduce } from "../src/engine/field/prime-field.js";

export interface LargeCircuit {
  readonly constraintCount: number;
  /** An R1CS file. */
  readonly r1cs: Uint8Array;
  /** 32 bytes little-endian per wire. */
  readonly witness: Uint8Array;
  readonly publicSignals: readonly bigint[];
}

export type LargeCircuitKind = "full" | "bits";

/** One row: wires and factors of A, B and C, and the wire that it defines. */
interface Row {
  readonly sums: readonly (readonly (readonly [wire: number, factor: number])[])[];
  readonly target: number;
}

const FIELD_WORDS = 8;
/** Three numbers of terms, and five terms. */
const ROW_WORDS_MAX = 3 + 5 * (1 + FIELD_WORDS);
const CONSTANTS = 1024;
const ADDED = 3;
const HEADER_WORDS = 1 + FIELD_WORDS + 7;
const SECTION_HEAD_WORDS = 3;
const FILE_HEAD_WORDS = 3;
const MAGIC = 0x73633172; // "r1cs"

/** Every so many rows of `bits` one is of the chain. */
const CHAIN_EVERY = 16;
/** How far back the bits are that a row takes. */
const BACK = [5, 17] as const;

/** Makes a circuit, in about two seconds for each million of constraints. */
export function largeCircuit(
  constraintCount: number,
  { kind = "full", curve = BN254 }: { readonly kind?: LargeCircuitKind; readonly curve?: CurveParameters } = {},
): LargeCircuit {
  const { r } = curve;
  // wires: 1, output, start, then one for each row but the last.
  const wireCount = constraintCount + 2;
  const rowOf = kind === "full" ? chainRow : mixedRow;
  const values: bigint[] = [1n, 0n, r - 7n];
  const writer = new R1csWriter(wireCount, constraintCount, curve);
  for (let i = 0; i < constraintCount; i += 1) {
    const { sums, target } = rowOf(i, constraintCount);
    writer.writeRow(sums);
    const [a, b, c] = sums.map((sum) =>
      sum.reduce(
        (total, [wire, factor]) => (wire === target ? total : total + BigInt(factor) * (values[wire] ?? 0n)),
        0n,
      ),
    );
    // The target's factor in C is 1 or -1.
    const sign = sums[2]?.find(([wire]) => wire === target)?.[1] ?? 1;
    values[target] = reduce(BigInt(sign) * ((a ?? 0n) * (b ?? 0n) - (c ?? 0n)), r);
  }
  const witness = new Uint8Array(wireCount * curve.frBytes);
  for (const [wire, value] of values.entries()) writeBigIntLE(value, witness, wire * curve.frBytes, curve.frBytes);
  return { constraintCount, r1cs: writer.finish(), witness, publicSignals: [values[1] ?? 0n] };
}

function wireOf(row: number, rows: number): number {
  return row === rows - 1 ? 1 : 3 + row;
}

/** From the row before, or the start. */
function chainRow(row: number, rows: number, before = row === 0 ? 2 : wireOf(row - 1, rows)): Row {
  const target = wireOf(row, rows);
  const sums = [
    [[0, 1 + (row % CONSTANTS)], [before, 1]],
    [[0, ADDED], [before, 1]],
    [[target, 1]],
  ] as const; // prettier-ignore
  return { sums, target };
}

/** 2 p q = p + q - target for two earlier bits p and q; the first rows have 1 in their place. */
function mixedRow(row: number, rows: number): Row {
  if (row % CHAIN_EVERY === 0 || row === rows - 1) {
    const before = Math.floor((row - 1) / CHAIN_EVERY) * CHAIN_EVERY;
    return chainRow(row, rows, row === 0 ? 2 : wireOf(before, rows));
  }
  const bit = (back: number): number => {
    const from = row - back;
    // A row of the chain has no bit: the one behind it has.
    return from < 1 ? 0 : wireOf(from % CHAIN_EVERY === 0 ? from + 1 : from, rows);
  };
  const [q, p] = BACK.map(bit) as [number, number];
  const target = wireOf(row, rows);
  const sums = [
    [[p, 2]],
    [[q, 1]],
    [[p, 1], [q, 1], [target, -1]],
  ] as const; // prettier-ignore
  return { sums, target };
}

/** Writes an R1CS file row by row. */
class R1csWriter {
  readonly #minusOne: readonly number[];
  readonly #words: Uint32Array;
  readonly #constraintsAt: number;
  readonly #wireCount: number;
  #at: number;

  constructor(wireCount: number, constraintCount: number, { r }: CurveParameters) {
    this.#wireCount = wireCount;
    this.#minusOne = wordsOf(r - 1n);
    const rows = constraintCount * ROW_WORDS_MAX;
    this.#words = new Uint32Array(FILE_HEAD_WORDS + 3 * SECTION_HEAD_WORDS + HEADER_WORDS + rows + 2 * wireCount);
    this.#words.set([MAGIC, 1, 3]);
    this.#section(FILE_HEAD_WORDS, 1, HEADER_WORDS);
    const header = FILE_HEAD_WORDS + SECTION_HEAD_WORDS;
    const counts = [wireCount, 1, 0, 1, wireCount, 0, constraintCount];
    this.#words.set([4 * FIELD_WORDS, ...wordsOf(r), ...counts], header);
    this.#constraintsAt = header + HEADER_WORDS;
    this.#at = this.#constraintsAt + SECTION_HEAD_WORDS;
  }

  writeRow(sums: Row["sums"]): void {
    const words = this.#words;
    for (const sum of sums) {
      words[this.#at] = sum.length;
      this.#at += 1;
      for (const [wire, factor] of sum) {
        words[this.#at] = wire;
        if (factor < 0) words.set(this.#minusOne, this.#at + 1);
        else words[this.#at + 1] = factor;
        this.#at += 1 + FIELD_WORDS;
      }
    }
  }

  finish(): Uint8Array {
    this.#section(this.#constraintsAt, 2, this.#at - this.#constraintsAt - SECTION_HEAD_WORDS);
    this.#section(this.#at, 3, 2 * this.#wireCount);
    const labels = this.#at + SECTION_HEAD_WORDS;
    for (let wire = 0; wire < this.#wireCount; wire += 1) this.#words[labels + 2 * wire] = wire;
    return new Uint8Array(this.#words.buffer, 0, 4 * (labels + 2 * this.#wireCount));
  }

  #section(at: number, kind: number, words: number): void {
    this.#words.set([kind, (4 * words) % 2 ** 32, Math.floor((4 * words) / 2 ** 32)], at);
  }
}

function wordsOf(value: bigint): number[] {
  return Array.from({ length: FIELD_WORDS }, (_, i) => Number((value >> BigInt(32 * i)) & 0xffff_ffffn));
}
