/**
 * One stored record as bytes, with a tag that detects damage: LMDB has no checksums of pages, and a flipped bit must
 * never reach an answer. The tag is no defence against an attacker who can write the file; the vault's record wrapping
 * is.
 *
 * Layout: format(1) || version(8, big-endian) || JSON(n, UTF-8) || tag(8)
 * Tag:    first 8 bytes of SHA-256(key length(2, big-endian) || key || format || version || JSON)
 */
import { hash } from "node:crypto";
import { AppError } from "../errors.js";

const FORMAT = 1;
const HEADER_BYTES = 9;
/** Bytes of the tag at the end of a record. */
export const TAG_BYTES = 8;

/** Longest JSON of one record. Larger data are artifacts: files beside the store (artifacts.ts). */
export const RECORD_BYTES_MAX = 4 * 1024 * 1024;

export interface DecodedRecord {
  readonly version: number;
  /** UTF-8 JSON; a view into the given bytes. */
  readonly json: Buffer;
  readonly tag: bigint;
}

/** Buffer for encoded records. LMDB copies a record at once, and reused memory needs no garbage collection. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Encodes a record. Returns its bytes, which are valid until the next call, and its tag, whose sum the store keeps.
 * @param json the JSON in one piece or several, as UTF-8 or as ASCII text
 */
export function encodeRecord(
  key: Buffer,
  version: number,
  ...json: readonly (string | Uint8Array)[]
): { bytes: Buffer; tag: bigint } {
  const start = 2 + key.length;
  let tagAt = start + HEADER_BYTES;
  for (const piece of json) tagAt += piece.length;
  const end = tagAt + TAG_BYTES;
  const whole = end <= scratch.length ? scratch : Buffer.allocUnsafe(end);
  whole.writeUInt16BE(key.length, 0);
  whole.set(key, 2);
  whole[start] = FORMAT;
  whole.writeUInt32BE(Math.floor(version / 2 ** 32), start + 1);
  whole.writeUInt32BE(version % 2 ** 32, start + 5);
  let at = start + HEADER_BYTES;
  for (const piece of json) {
    if (typeof piece === "string") whole.write(piece, at, "latin1");
    else whole.set(piece, at);
    at += piece.length;
  }
  whole.write(digestOf(whole, tagAt), tagAt, TAG_BYTES, "latin1");
  return { bytes: whole.subarray(start, end), tag: whole.readBigUInt64BE(tagAt) };
}

/** Checks the tag and splits a record into its parts. Throws `data_corrupt`. */
export function decodeRecord(key: Buffer, bytes: Uint8Array): DecodedRecord {
  if (bytes.length < HEADER_BYTES + TAG_BYTES) throw corrupt();
  const whole = Buffer.allocUnsafe(2 + key.length + bytes.length);
  const start = 2 + key.length;
  whole.writeUInt16BE(key.length, 0);
  whole.set(key, 2);
  whole.set(bytes, start);
  const tagAt = whole.length - TAG_BYTES;
  const tag = whole.toString("latin1", tagAt);
  if (!digestOf(whole, tagAt).startsWith(tag) || whole[start] !== FORMAT) throw corrupt();
  const version = whole.readUInt32BE(start + 1) * 2 ** 32 + whole.readUInt32BE(start + 5);
  return { version, json: whole.subarray(start + HEADER_BYTES, tagAt), tag: whole.readBigUInt64BE(tagAt) };
}

/** Returns the SHA-256 of the first bytes, as text of one character per byte: a Buffer would take twice as long. */
function digestOf(bytes: Buffer, length: number): string {
  return hash("sha256", bytes.subarray(0, length), "binary");
}

/** Returns the error for a damaged record. */
export function corrupt(cause?: unknown): AppError {
  return new AppError("data_corrupt", { message: "a stored record is damaged; it is not served", cause });
}
