/**
 * Keys of the store as bytes whose order is the order of the keys: part by part, numbers before texts, texts by code
 * point. The encoding must never change, because all stored records have such keys.
 *
 * Layout, per part: number: 0x01 || 8 bytes (IEEE 754 big-endian, sign bit flipped, all bits flipped when negative)
 *                   text:   0x02 || UTF-8 with each 0x00 written as 0x00 0xFF || 0x00
 */
import { AppError } from "../errors.js";
import type { StoreKey } from "./store.js";

/** Longest encoded key. LMDB with 4 KiB pages allows 1,978 bytes; the rest is reserved for the adapter. */
export const KEY_BYTES_MAX = 1900;

/** First byte of the keys of the adapter's own records; no encoded part starts with it. */
export const RESERVED_KEY_BYTE = 0x00;

const NUMBER_PART = 0x01;
const TEXT_PART = 0x02;
/** Sorts after every part: prefix || this byte is the end of the range of a prefix. */
const AFTER_PARTS = 0x03;
const TERMINATOR = 0x00;
const ESCAPED_ZERO = 0xff;
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/**
 * Bytes that `writeKey` may write: the longest allowed key plus one more part of the longest text, three bytes per
 * UTF-16 unit.
 */
export const KEY_ROOM_BYTES = KEY_BYTES_MAX * 4 + 64;

/** Bytes of an encoded number. */
export const NUMBER_PART_BYTES = 9;

const scratch = Buffer.allocUnsafeSlow(KEY_ROOM_BYTES);
const numbers = Buffer.allocUnsafeSlow(8);

/**
 * Encodes a key.
 * @throws invalid_request for a key over 1,900 bytes, a number that is not finite, or ill-formed text
 */
export function encodeKey(key: StoreKey): Buffer {
  return Buffer.from(scratch.subarray(0, writeKey(key, scratch, 0)));
}

/**
 * Encodes a key into `target`, which has at least KEY_ROOM_BYTES from `position` on. Returns the end of the key. Throws
 * as `encodeKey` does.
 */
export function writeKey(key: StoreKey, target: Buffer, position: number): number {
  let end = position;
  for (const part of key) {
    end = typeof part === "number" ? writeNumber(part, target, end) : writeText(part, target, end);
    if (end - position > KEY_BYTES_MAX) throw keyTooLong();
  }
  return end;
}

/**
 * Encodes a number, as a part of a key, into `target` at `position`. Returns the end of the part. Throws
 * `invalid_request` unless the number is finite.
 */
export function writeNumber(part: number, target: Buffer, position: number): number {
  if (!Number.isFinite(part))
    throw new AppError("invalid_request", { message: "a number in a key of the store is not finite" });
  target[position] = NUMBER_PART;
  // Minus zero would be a second spelling of zero.
  const end = target.writeDoubleBE(part === 0 ? 0 : part, position + 1);
  if (part < 0) for (let at = position + 1; at < end; at += 1) target[at] = ~(target[at] ?? 0);
  else target[position + 1] = (target[position + 1] ?? 0) ^ 0x80;
  return end;
}

/** Returns the range [start, end) of exactly the keys that begin with `prefix`, including the prefix itself. */
export function prefixRange(prefix: StoreKey): { start: Buffer; end: Buffer } {
  const encoded = encodeKey(prefix);
  // An empty prefix means every record except those of the adapter.
  return { start: encoded.length === 0 ? Buffer.of(NUMBER_PART) : encoded, end: afterPrefix(encoded) };
}

/** Returns the upper bound (exclusive) of the range of an encoded prefix. */
export function afterPrefix(encoded: Buffer): Buffer {
  return Buffer.concat([encoded, Buffer.of(AFTER_PARTS)]);
}

/** Decodes a key. Throws `data_corrupt` for bytes that are not an encoded key. */
export function decodeKey(bytes: Uint8Array): (string | number)[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const parts: (string | number)[] = [];
  for (let position = 0; position < buffer.length;) {
    const kind = buffer[position];
    if (kind === NUMBER_PART && position + NUMBER_PART_BYTES <= buffer.length) {
      parts.push(readNumber(buffer, position + 1));
      position += NUMBER_PART_BYTES;
    } else if (kind === TEXT_PART) {
      const end = textEnd(buffer, position + 1);
      parts.push(readText(buffer, position + 1, end));
      position = end + 1;
    } else {
      throw new AppError("data_corrupt", { message: "a key in the store is damaged" });
    }
  }
  return parts;
}

function keyTooLong(): AppError {
  return new AppError("invalid_request", { message: `a key of the store is longer than ${KEY_BYTES_MAX} bytes` });
}

function writeText(part: string, target: Buffer, position: number): number {
  if (part.length > KEY_BYTES_MAX) throw keyTooLong();
  target[position] = TEXT_PART;
  let written = position + 1;
  if (part.includes("\0")) {
    for (const [index, piece] of part.split("\0").entries()) {
      if (index > 0) {
        target[written] = TERMINATOR;
        target[written + 1] = ESCAPED_ZERO;
        written += 2;
      }
      written += target.write(piece, written, "utf8");
      if (written - position > KEY_BYTES_MAX) throw keyTooLong();
    }
  } else {
    written += target.write(part, written, "utf8");
  }
  // UTF-8 cannot encode lone surrogates: two texts with different ones would have the same key.
  if (written - position - 1 !== part.length && LONE_SURROGATE.test(part)) {
    throw new AppError("invalid_request", { message: "a text in a key of the store is not well-formed Unicode" });
  }
  target[written] = TERMINATOR;
  return written + 1;
}

function readNumber(buffer: Buffer, position: number): number {
  const negative = ((buffer[position] ?? 0) & 0x80) === 0;
  for (let index = 0; index < 8; index += 1) {
    const byte = buffer[position + index] ?? 0;
    numbers[index] = negative ? byte ^ 0xff : index === 0 ? byte ^ 0x80 : byte;
  }
  return numbers.readDoubleBE(0);
}

/** Returns the position of the terminator of the text that starts at `position`. */
function textEnd(buffer: Buffer, position: number): number {
  for (let end = buffer.indexOf(TERMINATOR, position); end >= 0; end = buffer.indexOf(TERMINATOR, end + 2)) {
    if (buffer[end + 1] !== ESCAPED_ZERO) return end;
  }
  throw new AppError("data_corrupt", { message: "a key in the store is damaged" });
}

function readText(buffer: Buffer, start: number, end: number): string {
  let text = "";
  let from = start;
  for (let zero = buffer.indexOf(TERMINATOR, from); zero >= 0 && zero < end; zero = buffer.indexOf(TERMINATOR, from)) {
    text += `${buffer.toString("utf8", from, zero)}\0`;
    from = zero + 2;
  }
  return text + buffer.toString("utf8", from, end);
}
