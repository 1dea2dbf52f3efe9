/**
 * Reads a witness from snarkjs' file, trusting nothing of it. Format: iden3 "wtns" version 2 (binfileutils).
 *
 *   "wtns" || version u32 = 2 || sections u32 || { type u32 || bytes u64 || content } ...
 *   section 1: bytes of an element u32 || prime || elements u32
 *   section 2: the elements, standard form
 *
 * All integers are little-endian.
 */
import { readBigIntLE } from "../field/bytes.js";
import { scalarFieldOf, type CircuitInterface } from "./interface.js";

/** The bytes are no witness file of the circuit. */
export class WitnessFileError extends Error {
  override readonly name = "WitnessFileError";
}

const MAGIC = 0x736e7477; // "wtns" read as a little-endian word
const VERSION = 2;
const SECTIONS_MAX = 16;
const ELEMENT_BYTES = 32;
const HEADER_BYTES = 4 + ELEMENT_BYTES + 4;
const SECTION = { header: 1, elements: 2 } as const;

/**
 * Returns the elements: 32 bytes little-endian each, wire 0 first. Whether they are below the prime and
 * satisfy the circuit is left to `findUnsatisfied`.
 * @throws WitnessFileError when the file is malformed, or over another field or of another number of wires
 */
export function readWitnessFile(bytes: Uint8Array, circuit: CircuitInterface): Uint8Array {
  const sections = sectionsOf(bytes);
  const header = sections.get(SECTION.header);
  const elements = sections.get(SECTION.elements);
  if (header?.length !== HEADER_BYTES || elements === undefined)
    throw new WitnessFileError("the witness file has no header or no elements");
  if (readU32(header, 0) !== ELEMENT_BYTES || readBigIntLE(header, 4, ELEMENT_BYTES) !== scalarFieldOf(circuit.curve))
    throw new WitnessFileError("the witness file is over the field of another curve");
  const count = readU32(header, 4 + ELEMENT_BYTES);
  if (count !== circuit.wireCount || elements.length !== count * ELEMENT_BYTES)
    throw new WitnessFileError(
      `the witness file has ${String(count)} elements, the circuit has ${String(circuit.wireCount)} wires`,
    );
  // A copy, because views of 64-bit words need an aligned start.
  return elements.slice();
}

function sectionsOf(bytes: Uint8Array): Map<number, Uint8Array> {
  if (readU32(bytes, 0) !== MAGIC) throw new WitnessFileError("not a witness file");
  if (readU32(bytes, 4) !== VERSION) throw new WitnessFileError("unknown version of the witness file's format");
  const count = readU32(bytes, 8);
  if (count > SECTIONS_MAX) throw new WitnessFileError("the witness file has too many sections");
  const sections = new Map<number, Uint8Array>();
  let at = 12;
  for (let i = 0; i < count; i += 1) {
    const kind = readU32(bytes, at);
    const start = at + 12;
    const end = start + readU32(bytes, at + 4) + readU32(bytes, at + 8) * 2 ** 32;
    if (end > bytes.length || sections.has(kind))
      throw new WitnessFileError("a section of the witness file appears twice or runs past its end");
    sections.set(kind, bytes.subarray(start, end));
    at = end;
  }
  if (at !== bytes.length) throw new WitnessFileError("the witness file has bytes after its last section");
  return sections;
}

function readU32(bytes: Uint8Array, at: number): number {
  if (at + 4 > bytes.length) throw new WitnessFileError("the witness file ends too early");
  return new DataView(bytes.buffer, bytes.byteOffset + at, 4).getUint32(0, true);
}
