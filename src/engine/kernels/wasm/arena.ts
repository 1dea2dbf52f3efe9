/** Hands out parts of a kernel memory, last in, first out. The memory never grows. */

/** Every part starts at a multiple of this: a cache line, and more than any load needs. */
const ALIGNMENT = 64;

export class Arena {
  #next: number;
  readonly #end: number;

  /** Parts lie in start..end - 1 of the memory. */
  constructor(start: number, end: number) {
    this.#next = align(start);
    this.#end = end;
  }

  /**
   * Returns the address of `bytes` bytes that no other part uses; their old content is left in them.
   * @throws RangeError when they do not fit.
   */
  take(bytes: number): number {
    const address = this.#next;
    if (!Number.isSafeInteger(bytes) || bytes < 0 || address + bytes > this.#end)
      throw new RangeError(`kernel workspace of ${this.#end} bytes is too small`);
    this.#next = align(address + bytes);
    return address;
  }

  /** Runs the work and gives back what it took, also when it throws. */
  scoped<T>(work: () => T): T {
    const before = this.#next;
    try {
      return work();
    } finally {
      this.#next = before;
    }
  }
}

/** Rounds up to the alignment of parts, in bytes. */
export function align(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}
