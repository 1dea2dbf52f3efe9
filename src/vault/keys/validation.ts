/**
 * Reads the texts of vault requests into bytes: UTF-8 or hex, with their limits. Messages name the member, never its
 * content.
 */
import { invalidMember } from "../../platform/errors.js";
import { CONTEXT_BYTES_MAX } from "../schemas.js";

export type TextEncoding = "hex" | "utf8";

const HEX = /^(?:0x)?((?:[0-9a-f]{2})*)$/i;

/** Returns the UTF-8 bytes of a text. Rejects text that has none, because of a lone surrogate. */
export function utf8Bytes(text: string, path: string): Uint8Array {
  if (!text.isWellFormed()) throw invalidMember(path, `\`${path}\` is not well-formed Unicode`);
  return new TextEncoder().encode(text);
}

/** Returns the bytes of a hex text, with or without 0x. */
export function hexBytes(text: string, path: string): Uint8Array {
  const digits = HEX.exec(text)?.[1];
  if (digits === undefined)
    throw invalidMember(path, `\`${path}\` is not hex: an even number of digits, with or without 0x`);
  return new Uint8Array(Buffer.from(digits, "hex"));
}

/**
 * Returns the bytes of the context that a ciphertext or a derived key is bound to: UTF-8, at most 1024 bytes, which the
 * schema's limit of characters does not guarantee.
 */
export function contextBytes(context = ""): Uint8Array {
  const bytes = utf8Bytes(context, "context");
  if (bytes.length > CONTEXT_BYTES_MAX)
    throw invalidMember("context", `\`context\` is longer than ${CONTEXT_BYTES_MAX} bytes`);
  return bytes;
}

/**
 * Whether a text certainly has more than so many bytes, before it is read: hex takes two characters a byte, and UTF-8
 * has at least one byte for each character.
 */
export function isOverlong(text: string, encoding: TextEncoding, bytesMax: number): boolean {
  return text.length > (encoding === "hex" ? 2 * bytesMax + 2 : bytesMax);
}

/** Returns `0x` and lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex")}`;
}

/** Returns bytes that own their memory: posting a view on a shared pool would copy its neighbours too. */
export function exactBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
}
