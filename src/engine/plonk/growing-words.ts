/** A list of 32-bit words whose length is not known in advance. */
const FIRST_CAPACITY = 1024;

/** Appends words and doubles its memory when it is full. */
export class GrowingWords {
  #words = new Uint32Array(FIRST_CAPACITY);
  #length = 0;

  /** Number of words. */
  get length(): number {
    return this.#length;
  }

  /** Appends a word. */
  push(word: number): void {
    if (this.#length === this.#words.length) {
      const larger = new Uint32Array(2 * this.#words.length);
      larger.set(this.#words);
      this.#words = larger;
    }
    this.#words[this.#length] = word;
    this.#length += 1;
  }

  /** Returns the words so far, in memory of their own. */
  toWords(): Uint32Array {
    return this.#words.slice(0, this.#length);
  }
}
