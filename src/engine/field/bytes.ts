/** Little-endian bytes of field elements, and random ones from the operating system's generator. */
import { randomBytes } from "node:crypto";

/** Bytes of one element of the fields here (BN254's two, BLS12-381's scalars). */
const FIELD_BYTES = 32;

/** Reads an unsigned little-endian integer of `length` bytes at `offset`. */
export function readBigIntLE(bytes: Uint8Array, offset = 0, length = FIELD_BYTES): bigint {
  let value = 0n;
  for (let i = offset + length - 1; i >= offset; i -= 1) value = (value << 8n) | BigInt(bytes[i] ?? 0);
  return value;
}

/**
 * Writes an unsigned little-endian integer in `length` bytes at `offset`.
 * @throws RangeError when it does not fit.
 */
export function writeBigIntLE(value: bigint, into: Uint8Array, offset = 0, length = FIELD_BYTES): void {
  let rest = value;
  for (let i = offset; i < offset + length; i += 1) {
    into[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  if (rest !== 0n) throw new RangeError("the integer does not fit its bytes");
}

/** Returns a uniformly random element of [1, modulus), by rejection, so that no value is likelier than another. */
export function randomNonZero(modulus: bigint): bigint {
  const bits = modulus.toString(2).length;
  const bytes = Math.ceil(bits / 8);
  const mask = (1n << BigInt(bits)) - 1n;
  for (;;) {
    const raw = randomBytes(bytes);
    const value = readBigIntLE(raw, 0, bytes) & mask;
    raw.fill(0);
    if (value > 0n && value < modulus) return value;
  }
}

/**
 * Writes the values one after the other.
 * @param length bytes of each, little-endian
 * @throws RangeError when a value does not fit
 */
export function scalarsOf(values: readonly bigint[], length: number): Uint8Array {
  const scalars = new Uint8Array(values.length * length);
  for (const [i, value] of values.entries()) writeBigIntLE(value, scalars, i * length, length);
  return scalars;
}

/**
 * Returns random scalars, one after the other: weights of random linear combinations, and random assignments.
 * @param options.length bytes of each, little-endian
 * @param options.randomLength the lower bytes of each that are random; the others are 0, so that no scalar reaches the
 *   order of the field
 */
export function randomScalars(
  count: number,
  { length, randomLength }: { readonly length: number; readonly randomLength: number },
): Uint8Array {
  const scalars = new Uint8Array(count * length);
  const random = randomBytes(count * randomLength);
  for (let i = 0; i < count; i += 1) scalars.set(random.subarray(i * randomLength, (i + 1) * randomLength), i * length);
  return scalars;
}
