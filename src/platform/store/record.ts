/**
 * One stored record as bytes, with the tag that tells rot from data: LMDB has no page checksums, and a flipped bit must never
 * become an answer. The tag is no defence against an attacker who can write the file; the vault's envelopes are.
 *
 * Layout: format(1) || version(8, big-endian) || JSON(n, UTF-8) || tag(8)
 * tag = first 8 bytes of SHA-256(key length(2, big-endian) || key || format || version || JSON)
 */
import { hash } from "node:crypto";
import { AppError } from "../errors.js";

const FORMAT = 1;
const HEADER_BYTES = 9;
const TAG_BYTES = 8;

/** Longest JSON of one record. Larger things are artifacts: files beside the store (artifacts.ts). */
export const RECORD_BYTES_MAX = 4 * 1024 * 1024;

export interface DecodedRecord {
  readonly version: number;
  /** UTF-8 JSON; a view into the given bytes. */
  readonly json: Buffer;
  readonly tag: bigint;
}

/** The stored bytes and their tag, of which the store keeps a running sum. */
export function encodeRecord(key: Buffer, version: number, json: Uint8Array): { bytes: Buffer; tag: bigint } {
  const whole = Buffer.allocUnsafe(2 + key.length + HEADER_BYTES + json.length + TAG_BYTES);
  const start = 2 + key.length;
  whole.writeUInt16BE(key.length, 0);
  whole.set(key, 2);
  whole[start] = FORMAT;
  whole.writeBigUInt64BE(BigInt(version), start + 1);
  whole.set(json, start + HEADER_BYTES);
  const tagAt = whole.length - TAG_BYTES;
  const digest = hash("sha256", whole.subarray(0, tagAt), "buffer");
  digest.copy(whole, tagAt, 0, TAG_BYTES);
  return { bytes: whole.subarray(start), tag: digest.readBigUInt64BE(0) };
}

/** Checks the tag and takes the record apart. Throws `data_corrupt`. */
export function decodeRecord(key: Buffer, bytes: Uint8Array): DecodedRecord {
  if (bytes.length < HEADER_BYTES + TAG_BYTES) throw corrupt();
  const whole = Buffer.allocUnsafe(2 + key.length + bytes.length);
  const start = 2 + key.length;
  whole.writeUInt16BE(key.length, 0);
  whole.set(key, 2);
  whole.set(bytes, start);
  const tagAt = whole.length - TAG_BYTES;
  const digest = hash("sha256", whole.subarray(0, tagAt), "buffer");
  const tag = whole.readBigUInt64BE(tagAt);
  if (digest.readBigUInt64BE(0) !== tag || whole[start] !== FORMAT) throw corrupt();
  return { version: Number(whole.readBigUInt64BE(start + 1)), json: whole.subarray(start + HEADER_BYTES, tagAt), tag };
}

export function corrupt(cause?: unknown): AppError {
  return new AppError("data_corrupt", { message: "a stored record is damaged; it is not served", ...(cause === undefined ? {} : { cause }) });
}
