/** Recursive Length Prefix, Ethereum's encoding of nested byte strings (Yellow Paper, appendix B). */

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

/** Bytes are not the one encoding that RLP has for an item. */
export class InvalidRlp extends Error {
  override readonly name = "InvalidRlp";
}

/** Deeper than anything in a transaction, shallow enough for recursion. */
const DEPTH_MAX = 8;

/**
 * Decodes one item. Every item has one encoding, and no other is taken.
 * @throws InvalidRlp for other bytes, for bytes behind the item, and for lists in more than 8 lists
 */
export function decodeRlp(bytes: Uint8Array): RlpItem {
  const { item, end } = decodeItem(bytes, 0, DEPTH_MAX);
  if (end !== bytes.length) throw new InvalidRlp("there are bytes behind the item");
  return item;
}

function decodeItem(bytes: Uint8Array, at: number, depth: number): { readonly item: RlpItem; readonly end: number } {
  const first = bytes[at];
  if (first === undefined) throw new InvalidRlp("an item is cut off");
  if (first < STRING_OFFSET) return { item: bytes.subarray(at, at + 1), end: at + 1 };
  const isList = first >= LIST_OFFSET;
  const { start, end } = extentOf(bytes, at, first - (isList ? LIST_OFFSET : STRING_OFFSET));
  if (!isList) {
    if (end - start === 1 && (bytes[start] ?? 0) < STRING_OFFSET) throw new InvalidRlp("a byte has a length before it");
    return { item: bytes.subarray(start, end), end };
  }
  if (depth === 0) throw new InvalidRlp("lists are nested too deeply");
  const list: RlpItem[] = [];
  const payload = bytes.subarray(0, end);
  for (let next = start; next < end;) {
    const decoded = decodeItem(payload, next, depth - 1);
    list.push(decoded.item);
    next = decoded.end;
  }
  return { item: list, end };
}

/** Returns where the payload of an item begins and ends. @param code its first byte without the kind */
function extentOf(bytes: Uint8Array, at: number, code: number): { readonly start: number; readonly end: number } {
  let start = at + 1;
  let length = code;
  if (code > SHORT_LENGTH_MAX) {
    start += code - SHORT_LENGTH_MAX;
    const digits = Buffer.from(bytes.subarray(at + 1, start)).toString("hex");
    length = Number(`0x${digits || "0"}`);
    if (digits.startsWith("00") || length <= SHORT_LENGTH_MAX)
      throw new InvalidRlp("a length is not the shortest form");
  }
  const end = start + length;
  if (end > bytes.length) throw new InvalidRlp("an item is cut off");
  return { start, end };
}

function lengthPrefix(length: number, offset: number): Uint8Array {
  if (length <= SHORT_LENGTH_MAX) return Uint8Array.of(offset + length);
  const lengthBytes = bytesOfNumber(BigInt(length));
  return Uint8Array.of(offset + SHORT_LENGTH_MAX + lengthBytes.length, ...lengthBytes);
}
