/**
 * Writes the primitive encodings of the WebAssembly binary format (Core Specification 2.0, section 5.2) into a growing
 * buffer.
 */

/** One of the two vectors of 128 bits that stand for one of 256. */
export type Half = 0 | 1;

const INITIAL_BYTES = 1024;

export class ByteWriter {
  #buffer = new Uint8Array(INITIAL_BYTES);
  #length = 0;
  /** The half of every vector that is being written, in a function of two halves (wasm-builder.ts). */
  half: Half = 0;

  /** Bytes that were written. */
  get length(): number {
    return this.#length;
  }

  /** Appends the low 8 bits of a number. */
  byte(value: number): void {
    this.#reserve(1);
    this.#buffer[this.#length] = value;
    this.#length += 1;
  }

  /** Appends bytes as they are. */
  raw(bytes: ArrayLike<number>): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Appends the unsigned LEB128 form of a number below 2^32. */
  unsigned(value: number): void {
    let rest = value >>> 0;
    while (rest > 0x7f) {
      this.byte((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    this.byte(rest);
  }

  /** Appends the signed LEB128 form of a number that fits in 64 bits. */
  signed(value: bigint): void {
    let rest = value;
    for (;;) {
      const low = Number(rest & 0x7fn);
      rest >>= 7n;
      const isLast = (rest === 0n && (low & 0x40) === 0) || (rest === -1n && (low & 0x40) !== 0);
      this.byte(isLast ? low : low | 0x80);
      if (isLast) return;
    }
  }

  /** Appends a name: the length of its UTF-8 form, then the form. */
  name(text: string): void {
    const bytes = new TextEncoder().encode(text);
    this.unsigned(bytes.length);
    this.raw(bytes);
  }

  /** Appends the number of items, then each item. */
  vector<T>(items: readonly T[], write: (item: T) => void): void {
    this.unsigned(items.length);
    for (const item of items) write(item);
  }

  /** Appends a section: its id, the length of what `fill` writes, then that. */
  section(id: number, fill: (content: ByteWriter) => void): void {
    const content = new ByteWriter();
    fill(content);
    const bytes = content.finish();
    this.byte(id);
    this.unsigned(bytes.length);
    this.raw(bytes);
  }

  /** Returns a copy of what was written. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#buffer.slice(0, this.#length);
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#buffer.length) return;
    const larger = new Uint8Array(Math.max(this.#buffer.length * 2, this.#length + count));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
  }
}
