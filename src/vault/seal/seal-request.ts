/**
 * Reads `{"key": "..."}` from the bytes of a request without making a string of the phrase: strings cannot be
 * overwritten. Accepts exactly one object with this one member (RFC 8259 syntax). The body is overwritten in every
 * case.
 */
import { AppError, invalidMember } from "../../platform/errors.js";

/** Longest accepted body; 24 words fit several times. */
export const SEAL_BODY_BYTES_MAX = 1024;

const KEY_MEMBER = Buffer.from("key");
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ESCAPES: ReadonlyMap<number, number> = new Map([
  [0x22, 0x22],
  [0x5c, 0x5c],
  [0x2f, 0x2f],
  [0x62, 0x08],
  [0x66, 0x0c],
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
]);

/**
 * Returns the phrase's bytes (UTF-8, unescaped) in shared memory, so that crossing to a worker makes no copy.
 * Overwrites the body. No message repeats any part of the body.
 * @throws malformed_json, `unknown_member`, `invalid_request`, `body_too_large`
 */
export function readSealKey(body: Uint8Array): Uint8Array {
  const reader = new SealBodyReader(body);
  try {
    return reader.read();
  } catch (error) {
    reader.wipe();
    throw error;
  } finally {
    body.fill(0);
  }
}

class SealBodyReader {
  readonly #body: Uint8Array;
  readonly #texts: Uint8Array[] = [];
  #at = 0;

  constructor(body: Uint8Array) {
    this.#body = body;
  }

  read(): Uint8Array {
    if (this.#body.length > SEAL_BODY_BYTES_MAX)
      throw new AppError("body_too_large", { message: `the body is larger than ${String(SEAL_BODY_BYTES_MAX)} bytes` });
    this.#expect(0x7b);
    if (this.#peek() === 0x7d) throw missingKey();
    const member = this.#string();
    if (Buffer.compare(member, KEY_MEMBER) !== 0)
      throw new AppError("unknown_member", { message: "the body has a member other than `key`" });
    this.#expect(0x3a);
    if (this.#peek() !== QUOTE) throw notText();
    const value = this.#string();
    if (this.#peek() === 0x2c) throw new AppError("unknown_member", { message: "the body has a member beside `key`" });
    this.#expect(0x7d);
    if (this.#peek() !== undefined) throw malformed();
    if (value.length === 0) throw missingKey();
    return value;
  }

  /** Overwrites every text that was read so far. */
  wipe(): void {
    for (const text of this.#texts) text.fill(0);
  }

  /** Returns the next byte that is not white space, without consuming it. */
  #peek(): number | undefined {
    while ([0x20, 0x09, 0x0a, 0x0d].includes(this.#body[this.#at] ?? 0)) this.#at += 1;
    return this.#body[this.#at];
  }

  #expect(byte: number): void {
    if (this.#peek() !== byte) throw malformed();
    this.#at += 1;
  }

  #string(): Uint8Array {
    this.#expect(QUOTE);
    // Unescaping never makes a text longer.
    const text = new Uint8Array(new SharedArrayBuffer(this.#body.length));
    this.#texts.push(text);
    let length = 0;
    for (;;) {
      const byte = this.#body[this.#at];
      if (byte === undefined || byte < 0x20) throw malformed();
      this.#at += 1;
      if (byte === QUOTE) return text.subarray(0, length);
      length = byte === BACKSLASH ? this.#escape(text, length) : put(text, length, byte);
    }
  }

  /** Decodes the escape after a backslash and returns the new length of the text. */
  #escape(text: Uint8Array, length: number): number {
    const kind = this.#body[this.#at++] ?? 0;
    const simple = ESCAPES.get(kind);
    if (simple !== undefined) return put(text, length, simple);
    if (kind !== 0x75) throw malformed();
    const unit = this.#hex4();
    // Surrogate pairs stand for characters that no word contains; to refuse them all keeps this reader small.
    if (unit >= 0xd800 && unit <= 0xdfff) throw malformed();
    if (unit < 0x80) return put(text, length, unit);
    if (unit < 0x800) return put(text, put(text, length, 0xc0 | (unit >> 6)), 0x80 | (unit & 0x3f));
    return put(
      text,
      put(text, put(text, length, 0xe0 | (unit >> 12)), 0x80 | ((unit >> 6) & 0x3f)),
      0x80 | (unit & 0x3f),
    );
  }

  #hex4(): number {
    let value = 0;
    for (let i = 0; i < 4; i += 1) {
      const byte = this.#body[this.#at++] ?? 0;
      const letter = byte | 0x20;
      if (byte >= 0x30 && byte <= 0x39) value = value * 16 + (byte - 0x30);
      else if (letter >= 0x61 && letter <= 0x66) value = value * 16 + (letter - 0x57);
      else throw malformed();
    }
    return value;
  }
}

/** Stores a byte and returns the length after it. */
function put(text: Uint8Array, length: number, byte: number): number {
  text[length] = byte;
  return length + 1;
}

function malformed(): AppError {
  return new AppError("malformed_json", { message: "the body is not a JSON object with the member `key`" });
}

function missingKey(): AppError {
  return invalidMember("key", "unsealer key material required");
}

function notText(): AppError {
  return invalidMember("key", "`key` must be a text");
}
