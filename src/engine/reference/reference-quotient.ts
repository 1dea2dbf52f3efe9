/**
 * Part of the reference (reference-arena.ts): the polynomial part of a Groth16 proof, rows times witness and A*B - C on
 * the shifted domain.
 */
import type { ReferenceArena } from "./reference-arena.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import type { CoefficientTable } from "../curves/curve-kernels.js";
import { NttDomain } from "./reference-ntt.js";

/** matrix u32 || constraint u32 || wire u32 || coefficient(32) */
const ENTRY_BYTES = 44;
const ENTRY_WORDS = ENTRY_BYTES / 4;
/** Entries copied into the arena at once; the table itself may lie in shared memory. */
const ENTRIES_PER_CHUNK = 1 << 14;

/**
 * Computes `CurveKernels.quotientOnCoset`. The caller has checked the table: wires and constraints are used as offsets.
 */
export function quotientOnCoset(
  arena: ReferenceArena,
  curve: CurveParameters,
  table: CoefficientTable,
  witness: Uint8Array,
): Uint8Array {
  const size = 2 ** table.domainPower;
  const { bytes, mul } = arena.fr;
  const length = size * bytes;
  const a = arena.alloc(length),
    b = arena.alloc(length),
    c = arena.alloc(length);
  arena.bytes.fill(0, a, c);
  arena.scoped(() => {
    applyRows(arena, table, witness, { a, b });
  });
  for (let i = 0; i < length; i += bytes) mul(a + i, b + i, c + i);
  const domain = new NttDomain(arena, curve, table.domainPower);
  for (const values of [a, b, c]) domain.moveToCoset(values);
  arena.vector.mulSub([a, b, c], size, a);
  arena.vector.batchFromMontgomery(a, size, a);
  return arena.take(a, length);
}

/**
 * Adds coefficient * witness[wire] to the row of each entry. The stored factor 2^512 makes the products Montgomery
 * values.
 */
function applyRows(
  arena: ReferenceArena,
  table: CoefficientTable,
  witness: Uint8Array,
  rows: { readonly a: number; readonly b: number },
): void {
  const { mul, add, bytes } = arena.fr;
  const witnessAt = arena.put(witness);
  const chunk = arena.alloc(ENTRIES_PER_CHUNK * ENTRY_BYTES),
    product = arena.alloc(bytes);
  const isZero = zeroWires(arena.words, witnessAt / 4, witness.length / bytes);
  const { words } = arena;
  for (let start = 0; start < table.entries.length; start += ENTRIES_PER_CHUNK * ENTRY_BYTES) {
    const part = table.entries.subarray(start, Math.min(table.entries.length, start + ENTRIES_PER_CHUNK * ENTRY_BYTES));
    arena.bytes.set(part, chunk);
    const end = chunk + part.length;
    for (let entry = chunk, word = chunk / 4; entry < end; entry += ENTRY_BYTES, word += ENTRY_WORDS) {
      const wire = words[word + 2] as number;
      if (isZero[wire] === 1) continue;
      const target = (words[word] === 0 ? rows.a : rows.b) + (words[word + 1] as number) * bytes;
      mul(entry + 12, witnessAt + wire * bytes, product);
      add(target, product, target);
    }
  }
}

function zeroWires(words: Uint32Array, start: number, count: number): Uint8Array {
  const isZero = new Uint8Array(count);
  for (let i = 0; i < count; i += 1) {
    const at = start + 8 * i;
    let any = 0;
    for (let k = at; k < at + 8; k += 1) any |= words[k] as number;
    if (any === 0) isZero[i] = 1;
  }
  return isZero;
}
