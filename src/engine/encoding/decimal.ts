/** Field elements as decimal text, the way snarkjs' JSON writes them; one accepted spelling per value. */
import { Malformed } from "./decoded.js";

/** 2^384 has 116 digits; a longer text is not even converted. */
const CANONICAL_DECIMAL = /^(?:0|[1-9][0-9]{0,115})$/;

/**
 * Reads a canonical decimal below a modulus: no sign, no leading zero, no exponent, a string and not a number.
 * @param name of the place, for the message
 * @throws Malformed when the text has another form or the number is not below the modulus
 */
export function readDecimal(value: unknown, modulus: bigint, name: string): bigint {
  if (typeof value !== "string" || !CANONICAL_DECIMAL.test(value))
    throw new Malformed(`${name} must be a decimal string without leading zeros`);
  const number = BigInt(value);
  if (number >= modulus) throw new Malformed(`${name} is not below the field's modulus`);
  return number;
}

/** Reads an array of exactly `length` members. */
export function readTuple(value: unknown, length: number, name: string): readonly unknown[] {
  if (!Array.isArray(value) || value.length !== length)
    throw new Malformed(`${name} must be an array of ${String(length)}`);
  return value as readonly unknown[];
}

/** Reads a plain object whose members are all among `members` and which has the required ones. */
export function readRecord(
  value: unknown,
  members: { readonly required: readonly string[]; readonly optional: readonly string[] },
  name: string,
): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Malformed(`${name} must be an object`);
  const record = value as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(record).find((key) => !members.required.includes(key) && !members.optional.includes(key));
  if (unknown !== undefined)
    throw new Malformed(`${name} has an unknown member ${JSON.stringify(unknown.slice(0, 40))}`);
  const missing = members.required.find((key) => !Object.hasOwn(record, key));
  if (missing !== undefined) throw new Malformed(`${name} has no member ${missing}`);
  return record;
}

/**
 * Reads a whole number of JSON.
 * @throws Malformed when it is not one from `least` to `most`
 */
export function readCount(
  value: unknown,
  name: string,
  { least, most }: { readonly least: number; readonly most: number },
): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most)
    throw new Malformed(`${name} must be an integer from ${String(least)} to ${String(most)}`);
  return value;
}
