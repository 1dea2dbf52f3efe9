/**
 * Writes a witness as snarkjs' `.wtns` file, version 2, so that it can be checked by other tools:
 *
 *   "wtns" || version u32 || sections u32 || { type u32 || bytes u64 || content } ...
 *
 * Section 1 has the bytes of an element, the prime and the number of elements; section 2 has the elements. All integers
 * are little-endian. Format: iden3 snarkjs, `src/wtns_utils.js`.
 */
import { writeBigIntLE } from "../field/bytes.js";

const FIELD_BYTES = 32;
const MAGIC = "wtns";
const VERSION = 2;
const FILE_HEAD = 12;
const SECTION_HEAD = 12;
const HEADER_BYTES = 4 + FIELD_BYTES + 4;

/**
 * Returns the file of a witness.
 * @param elements one 32-byte little-endian element a wire, wire 0 first
 */
export function wtnsFile(elements: Uint8Array, prime: bigint): Uint8Array {
  const file = new Uint8Array(FILE_HEAD + SECTION_HEAD + HEADER_BYTES + SECTION_HEAD + elements.length);
  const view = new DataView(file.buffer);
  file.set(Buffer.from(MAGIC, "latin1"));
  view.setUint32(4, VERSION, true);
  view.setUint32(8, 2, true);
  let at = sectionHead(view, FILE_HEAD, { type: 1, bytes: HEADER_BYTES });
  view.setUint32(at, FIELD_BYTES, true);
  writeBigIntLE(prime, file, at + 4, FIELD_BYTES);
  view.setUint32(at + 4 + FIELD_BYTES, elements.length / FIELD_BYTES, true);
  at = sectionHead(view, at + HEADER_BYTES, { type: 2, bytes: elements.length });
  file.set(elements, at);
  return file;
}

function sectionHead(
  view: DataView,
  at: number,
  { type, bytes }: { readonly type: number; readonly bytes: number },
): number {
  view.setUint32(at, type, true);
  view.setBigUint64(at + 4, BigInt(bytes), true);
  return at + SECTION_HEAD;
}
