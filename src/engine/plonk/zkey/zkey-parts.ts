/**
 * What snarkjs' `.zkey` files for PLONK and FFLONK have in common (iden3 binary file, version 1): the frame, additions,
 * and numbers in Montgomery form.
 *
 *   "zkey" || version u32 = 1 || sections u32 || { type u32 || bytes u64 || content } ...
 *
 * All integers are little-endian.
 */
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { writeBigIntLE } from "../../field/bytes.js";
import { ZKEY_MAGIC, ZKEY_VERSION } from "../../groth16/zkey-layout.js";
import type { PlonkGates } from "../plonk-gates.js";

/** The bytes are no `.zkey` of the scheme and curve. */
export class ZkeyFormatError extends Error {
  override readonly name = "ZkeyFormatError";
}

/** A polynomial stands as its coefficients and four times as many values. */
export const VALUES_PER_COEFFICIENT = 4;

const SECTIONS_MAX = 64;
const HEAD_BYTES = 12;

/**
 * Returns the contents of a file's sections by their types, as views.
 * @throws ZkeyFormatError when the bytes are no such file from their first to their last
 */
export function readZkeySections(bytes: Uint8Array): ReadonlyMap<number, Uint8Array> {
  if (bytes.length < HEAD_BYTES || wordAt(bytes, 0) !== ZKEY_MAGIC || wordAt(bytes, 4) !== ZKEY_VERSION)
    throw new ZkeyFormatError("the file is no zkey of version 1");
  const count = wordAt(bytes, 8);
  if (count > SECTIONS_MAX) throw new ZkeyFormatError("the file has too many sections");
  const sections = new Map<number, Uint8Array>();
  let at = HEAD_BYTES;
  for (let i = 0; i < count; i += 1) {
    if (at + HEAD_BYTES > bytes.length) throw new ZkeyFormatError("the file ends inside a section");
    const type = wordAt(bytes, at);
    const length = wordAt(bytes, at + 4) + 2 ** 32 * wordAt(bytes, at + 8);
    at += HEAD_BYTES;
    if (length > bytes.length - at) throw new ZkeyFormatError("the file ends inside a section");
    if (sections.has(type)) throw new ZkeyFormatError(`section ${String(type)} is there twice`);
    sections.set(type, bytes.subarray(at, at + length));
    at += length;
  }
  if (at !== bytes.length) throw new ZkeyFormatError("the file goes on behind its sections");
  return sections;
}

/**
 * Compares a file with what it must be.
 * @param pieces of the whole file, one after the other
 * @returns where they differ, in words; undefined when they are the same
 */
export function findDifference(pieces: Iterable<Uint8Array>, bytes: Uint8Array): string | undefined {
  let at = 0;
  for (const piece of pieces) {
    if (Buffer.compare(piece, bytes.subarray(at, at + piece.length)) !== 0) {
      const type = sectionAt(bytes, at + firstDifference(piece, bytes.subarray(at)));
      return type === undefined
        ? "the file's sections are not those of the circuit"
        : `section ${String(type)} differs`;
    }
    at += piece.length;
  }
  return at === bytes.length ? undefined : "the file goes on behind its sections";
}

/** Returns the first bytes of a file. */
export function zkeyHead(sectionCount: number): Uint8Array {
  return u32(ZKEY_MAGIC, ZKEY_VERSION, sectionCount);
}

/** Returns the bytes before a section's content. */
export function zkeySectionHead(type: number, contentBytes: number): Uint8Array {
  return u32(type, contentBytes % 2 ** 32, Math.floor(contentBytes / 2 ** 32));
}

/** Returns a section with its head. */
export function zkeySection(type: number, ...parts: readonly (Uint8Array | Uint32Array)[]): Uint8Array {
  const contents = parts.map((part) => new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
  const length = contents.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([zkeySectionHead(type, length), ...contents]);
}

/** Returns the bytes of an addition: left u32 || right u32 || factor of each. */
export function zkeyAdditionBytes({ frBytes }: CurveParameters): number {
  return 8 + 2 * frBytes;
}

/** Returns the content of the section of additions. */
export function additionsContent({ additions, coefficients }: PlonkGates, curve: CurveParameters): Uint8Array {
  const additionBytes = zkeyAdditionBytes(curve);
  const content = new Uint8Array(additions.count * additionBytes);
  const factors = coefficients.map((value) => montgomeryBytes(value, curve));
  for (let i = 0; i < additions.count; i += 1) {
    const at = i * additionBytes;
    content.set(u32(additions.left[i] ?? 0, additions.right[i] ?? 0), at);
    for (const [j, name] of (["leftFactor", "rightFactor"] as const).entries())
      content.set(factors[additions[name][i] ?? 0] ?? new Uint8Array(0), at + 8 + j * curve.frBytes);
  }
  return content;
}

/** Returns an element of the scalar field in Montgomery form. */
export function montgomeryBytes(value: bigint, { frBytes, r }: CurveParameters): Uint8Array {
  return integerBytes((value << BigInt(8 * frBytes)) % r, frBytes);
}

/** Returns an integer, little-endian. */
export function integerBytes(value: bigint, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  writeBigIntLE(value, bytes, 0, length);
  return bytes;
}

/** Returns words of 32 bits. */
export function u32(...values: readonly number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(values).buffer);
}

/** Reads a word of 32 bits. */
export function wordAt(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)) >>> 0
  );
}

function firstDifference(piece: Uint8Array, bytes: Uint8Array): number {
  const found = piece.findIndex((byte, i) => byte !== bytes[i]);
  return found < 0 ? 0 : found;
}

/** The type of the section in whose content a place is; undefined for the heads. */
function sectionAt(bytes: Uint8Array, place: number): number | undefined {
  for (let at = HEAD_BYTES; at + HEAD_BYTES <= bytes.length;) {
    const start = at + HEAD_BYTES;
    const end = start + wordAt(bytes, at + 4) + 2 ** 32 * wordAt(bytes, at + 8);
    if (place < end) return place < start ? undefined : wordAt(bytes, at);
    at = end;
  }
  return undefined;
}
