/**
 * Reads numbers, bytes and addresses of Ethereum structures from JSON, strictly: nothing is guessed or reduced. `path`
 * is the dotted name of the value, for the message.
 */
import { isChecksummed } from "./address.js";
import { InvalidPayload } from "./invalid.js";

const DECIMAL = /^\d{1,78}$/;
const SIGNED_DECIMAL = /^-?\d{1,78}$/;
const HEX_NUMBER = /^0x[0-9a-f]{1,64}$/i;
const HEX_BYTES = /^0x((?:[0-9a-f]{2})*)$/i;
const ADDRESS = /^0x[0-9a-f]{40}$/i;

/**
 * Reads a number from 0 to below 2^bits: a safe integer, decimal text, or hex text with 0x.
 * @throws InvalidPayload
 */
export function readUint(value: unknown, path: string, bits: number): bigint {
  const number =
    typeof value === "string" && HEX_NUMBER.test(value) ? BigInt(value) : readDecimal(value, path, DECIMAL);
  if (number < 0n || number >= 1n << BigInt(bits))
    throw new InvalidPayload(path, `is not in the range of uint${String(bits)}`);
  return number;
}

/**
 * Reads a number from -2^(bits - 1) to below 2^(bits - 1); hex text is a positive number.
 * @throws InvalidPayload
 */
export function readInt(value: unknown, path: string, bits: number): bigint {
  const number =
    typeof value === "string" && HEX_NUMBER.test(value) ? BigInt(value) : readDecimal(value, path, SIGNED_DECIMAL);
  const half = 1n << BigInt(bits - 1);
  if (number < -half || number >= half) throw new InvalidPayload(path, `is not in the range of int${String(bits)}`);
  return number;
}

/**
 * Reads bytes in hex with 0x.
 * @throws InvalidPayload
 */
export function readBytes(value: unknown, path: string, bytesMax: number): Uint8Array {
  const digits = typeof value === "string" ? HEX_BYTES.exec(value)?.[1] : undefined;
  if (digits === undefined) throw new InvalidPayload(path, "is not hex with 0x and an even number of digits");
  if (digits.length > 2 * bytesMax) throw new InvalidPayload(path, `is longer than ${String(bytesMax)} bytes`);
  return Uint8Array.from(Buffer.from(digits, "hex"));
}

/**
 * Reads an address of 20 bytes; one in mixed case must have the right checksum (EIP-55), since a wrong one is a typing
 * error.
 * @throws InvalidPayload
 */
export function readAddress(value: unknown, path: string): Uint8Array {
  if (typeof value !== "string" || !ADDRESS.test(value))
    throw new InvalidPayload(path, "is not an address: 0x and 40 hex digits");
  if (!isChecksummed(value))
    throw new InvalidPayload(path, "is an address in mixed case whose checksum (EIP-55) is wrong");
  return Uint8Array.from(Buffer.from(value.slice(2), "hex"));
}

function readDecimal(value: unknown, path: string, form: RegExp): bigint {
  if (typeof value === "number" && Number.isSafeInteger(value)) return BigInt(value);
  if (typeof value === "string" && form.test(value)) return BigInt(value);
  if (Number.isInteger(value))
    throw new InvalidPayload(
      path,
      "is a number beyond 2^53 - 1, which is not exact in JSON: give it as decimal or 0x-hex text",
    );
  throw new InvalidPayload(path, "is not a whole number: a safe integer, decimal text, or hex text with 0x");
}
