/**
 * Bytes that must not be printed: every way of turning the object into text answers `[redacted]`, and a structured
 * clone of it is empty. Wiping is best effort: JavaScript cannot promise that no copy was made by an engine or a
 * library.
 */
import { inspect } from "node:util";

const REDACTED = "[redacted]";

export class SecretBytes {
  readonly #bytes: Uint8Array;

  private constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Takes over the bytes; the caller must not keep them. */
  static take(bytes: Uint8Array): SecretBytes {
    return new SecretBytes(bytes);
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** Lends the bytes to a function, which must neither keep nor return them. */
  use<T>(borrow: (bytes: Uint8Array) => T): T {
    return borrow(this.#bytes);
  }

  /** Overwrites the bytes with zeros. */
  wipe(): void {
    this.#bytes.fill(0);
  }

  toJSON(): string {
    return REDACTED;
  }

  toString(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
