/**
 * Checks a witness against its R1CS, constraint by constraint: for witnesses and witness programs from outside that
 * gave no sound proof. Otherwise the server relies on verifying the proof.
 */
import { COEFFICIENT_BYTES } from "./r1cs.js";
import type { R1cs, R1csMatrix } from "./r1cs.js";

const WORDS = COEFFICIENT_BYTES / 8;

/**
 * Finds the first constraint that a witness breaks.
 * Cost: about 1 s per million terms.
 * @param witness one 32-byte little-endian element per wire, standard form, wire 0 first
 * @returns its index, -1 when wire 0 is not one or an element is not below the prime, undefined when all hold
 * @throws RangeError when the witness has another number of wires
 */
export function findUnsatisfied(r1cs: R1cs, witness: Uint8Array): number | undefined {
  if (witness.length !== r1cs.wireCount * COEFFICIENT_BYTES)
    throw new RangeError("witness has another number of wires");
  const wires = toElements(witness);
  if (wires[0] !== 1n || wires.some((value) => value >= r1cs.prime)) return -1;
  const { a, b, c } = r1cs.constraints;
  const known = new Map<string, bigint>();
  for (let row = 0; row < r1cs.constraintCount; row += 1) {
    const product = rowValue(a, row, wires, known) * rowValue(b, row, wires, known);
    if ((product - rowValue(c, row, wires, known)) % r1cs.prime !== 0n) return row;
  }
  return undefined;
}

/** Not reduced: a row has few terms, so that the sum stays short. */
function rowValue(matrix: R1csMatrix, row: number, wires: readonly bigint[], known: Map<string, bigint>): bigint {
  let sum = 0n;
  const end = matrix.rowOffsets[row + 1] ?? 0;
  for (let term = matrix.rowOffsets[row] ?? 0; term < end; term += 1) {
    const wire = wires[matrix.wires[term] ?? 0] ?? 0n;
    if (wire !== 0n) sum += wire * coefficientAt(matrix, term, known);
  }
  return sum;
}

/** Circuits use few different coefficients (1, -1, powers of two), so each is turned into a number once. */
function coefficientAt(matrix: R1csMatrix, term: number, known: Map<string, bigint>): bigint {
  const bytes = Buffer.from(
    matrix.coefficients.buffer,
    matrix.coefficients.byteOffset + term * COEFFICIENT_BYTES,
    COEFFICIENT_BYTES,
  );
  const key = bytes.toString("latin1");
  const found = known.get(key);
  if (found !== undefined) return found;
  const value = toElements(bytes)[0] ?? 0n;
  known.set(key, value);
  return value;
}

function toElements(bytes: Uint8Array): bigint[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / COEFFICIENT_BYTES }, (_, i) => {
    let value = 0n;
    for (let k = WORDS - 1; k >= 0; k -= 1)
      value = (value << 64n) | view.getBigUint64(i * COEFFICIENT_BYTES + 8 * k, true);
    return value;
  });
}
