/**
 * Bytes that must not be printed: every conversion of the object to text gives `[redacted]`, and its structured clone
 * is empty. Wiping is best effort: JavaScript cannot promise that neither the engine nor a library made a copy.
 */
import { inspect } from "node:util";

const REDACTED = "[redacted]";

export class SecretBytes {
  readonly #bytes: Uint8Array;

  private constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /**
   * Takes over the bytes; the caller must not use them any more.
   * @example const key = SecretBytes.take(generateHdEntropy());
   */
  static take(bytes: Uint8Array): SecretBytes {
    return new SecretBytes(bytes);
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** Passes the bytes to a function, which must neither keep nor return them. */
  use<T>(borrow: (bytes: Uint8Array) => T): T {
    return borrow(this.#bytes);
  }

  /** Overwrites the bytes with zeros. */
  wipe(): void {
    this.#bytes.fill(0);
  }

  /** Returns `[redacted]`. */
  toJSON(): string {
    return REDACTED;
  }

  /** Returns `[redacted]`. */
  toString(): string {
    return REDACTED;
  }

  /** Returns `[redacted]`. */
  [inspect.custom](): string {
    return REDACTED;
  }
}
