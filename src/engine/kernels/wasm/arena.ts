/** Hands out parts of a kernel memory, last in, first out. It owns nothing else and never grows. */

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

  /** Address of `bytes` unused bytes, with whatever was there before. Throws a RangeError when they do not fit. */
  take(bytes: number): number {
    const address = this.#next;
    if (!Number.isSafeInteger(bytes) || bytes < 0 || address + bytes > this.#end)
      throw new RangeError(`kernel workspace of ${this.#end} bytes is too small`);
    this.#next = align(address + bytes);
    return address;
  }

  /** Runs the work and gives back what it took, whatever happens. */
  scoped<T>(work: () => T): T {
    const before = this.#next;
    try {
      return work();
    } finally {
      this.#next = before;
    }
  }

  get freeBytes(): number {
    return Math.max(0, this.#end - this.#next);
  }
}

export function align(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}
