/** Recursive Length Prefix, Ethereum's encoding of nested byte strings (Yellow Paper, appendix B). Only encoding. */

export type RlpItem = Uint8Array | readonly RlpItem[];

const SHORT_LENGTH_MAX = 55;
const STRING_OFFSET = 0x80;
const LIST_OFFSET = 0xc0;

/**
 * Returns the encoding of a byte string or a nested list.
 * @example encodeRlp([bytesOfNumber(1n), [new Uint8Array(32)]])
 */
export function encodeRlp(item: RlpItem): Uint8Array {
  if (item instanceof Uint8Array) {
    if (item.length === 1 && (item[0] ?? STRING_OFFSET) < STRING_OFFSET) return item;
    return Buffer.concat([lengthPrefix(item.length, STRING_OFFSET), item]);
  }
  const payload = Buffer.concat(item.map(encodeRlp));
  return Buffer.concat([lengthPrefix(payload.length, LIST_OFFSET), payload]);
}

/** Returns a number as bytes, big-endian without leading zeros; zero is the empty string. */
export function bytesOfNumber(value: bigint): Uint8Array {
  if (value === 0n) return new Uint8Array();
  const digits = value.toString(16);
  return Uint8Array.from(Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, "hex"));
}

function lengthPrefix(length: number, offset: number): Uint8Array {
  if (length <= SHORT_LENGTH_MAX) return Uint8Array.of(offset + length);
  const lengthBytes = bytesOfNumber(BigInt(length));
  return Uint8Array.of(offset + SHORT_LENGTH_MAX + lengthBytes.length, ...lengthBytes);
}
