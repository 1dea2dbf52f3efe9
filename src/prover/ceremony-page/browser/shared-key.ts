/** A key in memory that workers share, read and written in ranges as a file is. */
import type { RangeTarget } from "../../../engine/groth16/ceremony/scale-jobs.js";
import type { RangeFile } from "../../../engine/powers-of-tau/file-layout.js";

/** Behind a key, for the contribution that it gets. */
export const ROOM_BYTES = 1_024;

/** Reads from shared memory. */
export function rangeOfShared(memory: SharedArrayBuffer, size: number): RangeFile {
  const bytes = new Uint8Array(memory, 0, size);
  return {
    size,
    read: (target, offset) => {
      if (offset + target.length > size) throw new RangeError("the key ends before its sections");
      target.set(bytes.subarray(offset, offset + target.length));
    },
  };
}

/** Writes to shared memory, and knows how far. */
export class SharedTarget implements RangeTarget {
  readonly #bytes: Uint8Array;
  #end = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#bytes = new Uint8Array(memory);
  }

  /** See `RangeTarget`. */
  write(source: Uint8Array, offset: number): void {
    this.#bytes.set(source, offset);
    this.#end = Math.max(this.#end, offset + source.length);
  }

  get end(): number {
    return this.#end;
  }
}
