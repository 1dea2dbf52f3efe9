/**
 * Lays out a snarkjs `.zkey` for Groth16 in one shared buffer, so that threads write their points where they belong.
 */
import { createHash } from "node:crypto";
import type { CurveProgram } from "../backends/snarkjs.js";
import type { R1cs, R1csMatrix } from "../circuit/r1cs.js";
import { ReferenceArena } from "../reference/reference-arena.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { encodeG1, encodeG2 } from "../curves/points.js";
import type { G1Point, G2Point } from "../curves/points.js";
import { SCALAR_BYTES } from "../reference/signed-digits.js";
import { writeBigIntLE } from "../field/bytes.js";
import { power } from "../field/prime-field.js";
import type { Groth16VerifyingKey } from "./proof.js";
import {
  GROTH16_PROTOCOL,
  ZKEY_COEFFICIENT_BYTES,
  ZKEY_MAGIC,
  ZKEY_SECTION,
  ZKEY_VERSION,
  headerOffsets,
  sectionBytes,
} from "./zkey-layout.js";
import type { ZkeyCounts } from "./zkey-layout.js";

export interface ZkeyHeaderPoints {
  readonly alphaG1: G1Point;
  readonly betaG1: G1Point;
  readonly betaG2: G2Point;
  readonly gammaG2: G2Point;
  readonly deltaG1: G1Point;
  readonly deltaG2: G2Point;
}

type SectionName = keyof typeof ZKEY_SECTION;

/** A key's bytes with the place of each section's content. */
export interface ZkeyFrame {
  readonly buffer: SharedArrayBuffer;
  readonly at: Readonly<Record<SectionName, number>>;
}

const SECTION_HEAD_BYTES = 12;
const FILE_HEAD_BYTES = 12;
/** circuit hash(64) || contributions u32 */
const CONTRIBUTIONS_BYTES = 68;
const CIRCUIT_HASH_LABEL = "pv/v1/r1cs";
const ENTRY_WORDS = ZKEY_COEFFICIENT_BYTES / 4;
const COEFFICIENT_WORDS = SCALAR_BYTES / 4;
const TERMS_PER_CHUNK = 1 << 14;

/**
 * Returns the counts of a circuit's zkey: its wires, outputs and public inputs together, and the smallest domain with a
 * row for each constraint and public wire.
 */
export function zkeyCountsOf(r1cs: R1cs): ZkeyCounts {
  const publicCount = r1cs.outputCount + r1cs.publicInputCount;
  const rows = r1cs.constraintCount + publicCount + 1;
  return { wireCount: r1cs.wireCount, publicCount, domainPower: Math.max(1, 32 - Math.clz32(rows - 1)) };
}

/** Returns the length of the coefficient section of a circuit's key in bytes. */
export function coefficientSectionBytes(r1cs: R1cs): number {
  return 4 + coefficientCount(r1cs) * ZKEY_COEFFICIENT_BYTES;
}

/**
 * Allocates the file and writes its frame: heads, counts, header points and contributions. Point sections are still
 * zero.
 * @param contributions the section's content; without it a hash of the circuit, and no contribution
 */
export function writeZkeyFrame(
  curve: CurveParameters,
  r1cs: R1cs,
  points: ZkeyHeaderPoints,
  contributions?: Uint8Array,
): ZkeyFrame {
  const counts = zkeyCountsOf(r1cs);
  const lengths: Record<SectionName, number> = {
    ...sectionBytes(counts, curve),
    protocol: 4,
    header: headerOffsets(curve).end,
    coefficients: coefficientSectionBytes(r1cs),
    contributions: contributions?.length ?? CONTRIBUTIONS_BYTES,
  };
  const frame = allocateFrame(lengths);
  writeHeads(frame, curve, counts, points);
  new Uint8Array(frame.buffer).set(contributions ?? circuitHashOf(r1cs), frame.at.contributions);
  return frame;
}

/**
 * The part of a key that a verifier has, as a file that snarkjs' exports read: protocol, header and IC, no prover's
 * sections.
 */
export function writeVerifierZkey(curve: CurveParameters, key: Groth16VerifyingKey): Uint8Array {
  const counts = { wireCount: key.publicCount + 1, publicCount: key.publicCount, domainPower: 1 };
  const frame = allocateFrame({ protocol: 4, header: headerOffsets(curve).end, ic: sectionBytes(counts, curve).ic });
  writeHeads(frame, curve, counts, key);
  const bytes = new Uint8Array(frame.buffer);
  key.ic.forEach((point, i) => {
    if (point !== undefined) bytes.set(encodeG1(point, curve), frame.at.ic + i * 2 * curve.fqBytes);
  });
  // A copy, because parts of snarkjs refuse shared memory.
  return Uint8Array.from(bytes);
}

function allocateFrame(lengths: Partial<Record<SectionName, number>>): ZkeyFrame {
  const names = (Object.keys(lengths) as SectionName[]).sort((a, b) => ZKEY_SECTION[a] - ZKEY_SECTION[b]);
  const buffer = new SharedArrayBuffer(
    names.reduce((sum, name) => sum + SECTION_HEAD_BYTES + (lengths[name] ?? 0), FILE_HEAD_BYTES),
  );
  const view = new DataView(buffer);
  [ZKEY_MAGIC, ZKEY_VERSION, names.length].forEach((value, i) => {
    view.setUint32(4 * i, value, true);
  });
  const at = { protocol: 0, header: 0, ic: 0, coefficients: 0, a: 0, b1: 0, b2: 0, c: 0, h: 0, contributions: 0 };
  let position = FILE_HEAD_BYTES;
  for (const name of names) {
    view.setUint32(position, ZKEY_SECTION[name], true);
    view.setBigUint64(position + 4, BigInt(lengths[name] ?? 0), true);
    at[name] = position + SECTION_HEAD_BYTES;
    position = at[name] + (lengths[name] ?? 0);
  }
  return { buffer, at };
}

/**
 * Writes the coefficient section: A then B row by row, then one row of A per public wire. Standard form in, times 2^512
 * out.
 */
export function writeCoefficients(program: CurveProgram, curve: CurveParameters, r1cs: R1cs, into: Uint8Array): void {
  const words = new Uint32Array(into.buffer, into.byteOffset, into.byteLength / 4);
  words[0] = coefficientCount(r1cs);
  const converters = [r1cs.constraints.a, r1cs.constraints.b].map(
    (matrix) => new CoefficientReader(new ReferenceArena(program), curve, matrix),
  );
  let at = 1;
  for (let row = 0; row < r1cs.constraintCount; row += 1) {
    for (const [matrix, reader] of converters.entries()) at = reader.writeRow(row, matrix, words, at);
  }
  const one = new Uint8Array(SCALAR_BYTES);
  writeBigIntLE(power(2n, 512n, curve.r), one);
  const oneWords = new Uint32Array(one.buffer);
  for (let wire = 0; wire <= r1cs.outputCount + r1cs.publicInputCount; wire += 1) {
    words[at] = 0;
    words[at + 1] = r1cs.constraintCount + wire;
    words[at + 2] = wire;
    words.set(oneWords, at + 3);
    at += ENTRY_WORDS;
  }
}

/**
 * SHA-512 over the label, the counts and the three matrices as they lie in memory (little-endian on every supported
 * machine).
 */
function circuitHashOf(r1cs: R1cs): Uint8Array {
  const hash = createHash("sha512").update(CIRCUIT_HASH_LABEL);
  hash.update(
    Uint32Array.of(
      r1cs.wireCount,
      r1cs.outputCount,
      r1cs.publicInputCount,
      r1cs.privateInputCount,
      r1cs.constraintCount,
    ),
  );
  for (const matrix of [r1cs.constraints.a, r1cs.constraints.b, r1cs.constraints.c]) {
    hash.update(matrix.rowOffsets).update(matrix.wires).update(matrix.coefficients);
  }
  return hash.digest();
}

function coefficientCount(r1cs: R1cs): number {
  return (
    r1cs.constraints.a.wires.length + r1cs.constraints.b.wires.length + r1cs.outputCount + r1cs.publicInputCount + 1
  );
}

/** A verifier's file has no beta and delta in G1: they stay zero. */
type HeadPoints = Omit<ZkeyHeaderPoints, "betaG1" | "deltaG1"> & Partial<Pick<ZkeyHeaderPoints, "betaG1" | "deltaG1">>;

function writeHeads(frame: ZkeyFrame, curve: CurveParameters, counts: ZkeyCounts, points: HeadPoints): void {
  const at = headerOffsets(curve);
  const bytes = new Uint8Array(frame.buffer, frame.at.header, at.end);
  const view = new DataView(frame.buffer, frame.at.header, at.end);
  new DataView(frame.buffer).setUint32(frame.at.protocol, GROTH16_PROTOCOL, true);
  view.setUint32(0, curve.fqBytes, true);
  writeBigIntLE(curve.q, bytes, at.q, curve.fqBytes);
  view.setUint32(at.r - 4, curve.frBytes, true);
  writeBigIntLE(curve.r, bytes, at.r, curve.frBytes);
  [counts.wireCount, counts.publicCount, 2 ** counts.domainPower].forEach((value, i) => {
    view.setUint32(at.counts + 4 * i, value, true);
  });
  bytes.set(encodeG1(points.alphaG1, curve), at.alphaG1);
  if (points.betaG1 !== undefined) bytes.set(encodeG1(points.betaG1, curve), at.betaG1);
  bytes.set(encodeG2(points.betaG2, curve), at.betaG2);
  bytes.set(encodeG2(points.gammaG2, curve), at.gammaG2);
  if (points.deltaG1 !== undefined) bytes.set(encodeG1(points.deltaG1, curve), at.deltaG1);
  bytes.set(encodeG2(points.deltaG2, curve), at.deltaG2);
}

/** Converts one matrix's coefficients a chunk at a time while its rows are written in order. */
class CoefficientReader {
  readonly #arena: ReferenceArena;
  readonly #matrix: R1csMatrix;
  readonly #chunk: number;
  readonly #factor: number;
  #converted = 0;

  constructor(arena: ReferenceArena, curve: CurveParameters, matrix: R1csMatrix) {
    this.#arena = arena;
    this.#matrix = matrix;
    this.#chunk = arena.alloc(TERMS_PER_CHUNK * SCALAR_BYTES);
    const factor = new Uint8Array(SCALAR_BYTES);
    // One multiplication by the radix cubed adds the factor of the radix squared.
    writeBigIntLE(power(2n, 768n, curve.r), factor);
    this.#factor = arena.put(factor);
  }

  writeRow(row: number, matrix: number, words: Uint32Array, start: number): number {
    const { rowOffsets, wires } = this.#matrix;
    const end = rowOffsets[row + 1] as number;
    let at = start;
    for (let term = rowOffsets[row] as number; term < end; term += 1, at += ENTRY_WORDS) {
      if (term >= this.#converted) this.#convertNext();
      words[at] = matrix;
      words[at + 1] = row;
      words[at + 2] = wires[term] as number;
      const source = this.#chunk / 4 + (term % TERMS_PER_CHUNK) * COEFFICIENT_WORDS;
      for (let k = 0; k < COEFFICIENT_WORDS; k += 1) words[at + 3 + k] = this.#arena.words[source + k] as number;
    }
    return at;
  }

  #convertNext(): void {
    const { coefficients } = this.#matrix;
    const part = coefficients.subarray(
      this.#converted * SCALAR_BYTES,
      (this.#converted + TERMS_PER_CHUNK) * SCALAR_BYTES,
    );
    this.#arena.bytes.set(part, this.#chunk);
    for (let i = 0; i < part.length; i += SCALAR_BYTES)
      this.#arena.fr.mul(this.#chunk + i, this.#factor, this.#chunk + i);
    this.#converted += TERMS_PER_CHUNK;
  }
}
