/**
 * Reads the texts of vault requests into bytes: UTF-8 or hex, with their limits. Messages name the member, never its
 * content.
 */
import { AppError, type ErrorCode } from "../../platform/errors.js";

const HEX = /^(?:0x)?((?:[0-9a-f]{2})*)$/i;

/** A 422 that names the member at fault. */
export function invalidMember(path: string, message: string, code: ErrorCode = "invalid_request"): AppError {
  return new AppError(code, { message, details: [{ message, code, path }] });
}

/** UTF-8 bytes of a text; refuses text that has none (a lone surrogate). */
export function utf8Bytes(text: string, path: string): Uint8Array {
  if (!text.isWellFormed()) throw invalidMember(path, `\`${path}\` is not well-formed Unicode`);
  return new TextEncoder().encode(text);
}

/** Bytes of a hex text, with or without 0x. */
export function hexBytes(text: string, path: string): Uint8Array {
  const digits = HEX.exec(text)?.[1];
  if (digits === undefined)
    throw invalidMember(path, `\`${path}\` is not hex: an even number of digits, with or without 0x`);
  return new Uint8Array(Buffer.from(digits, "hex"));
}

/**
 * Whether a text has more than so many bytes for certain, before it is read: hex takes two characters a byte, UTF-8 at
 * least one byte for each.
 */
export function isOverlong(text: string, encoding: "hex" | "utf8", bytesMax: number): boolean {
  return text.length > (encoding === "hex" ? 2 * bytesMax + 2 : bytesMax);
}

/** `0x` and lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex")}`;
}

/** A copy that owns its memory: posting a view on a shared pool would copy its neighbours too. */
export function exactBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
}
