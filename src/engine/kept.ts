/**
 * What a thread keeps between tasks: things parsed from shared bytes, a few at a time, least recently used first to go.
 * Each entry holds on to its shared memory, so the number is small.
 */

export class Kept<Source, Value> {
  readonly #entriesMax: number;
  readonly #make: (source: Source) => Value | Promise<Value>;
  /** Insertion order is the order of use. */
  readonly #entries = new Map<string, Value>();

  /** @param make what is kept may hold views of shared memory but must not write to it. */
  constructor(options: { readonly entriesMax: number; readonly make: (source: Source) => Value | Promise<Value> }) {
    this.#entriesMax = options.entriesMax;
    this.#make = options.make;
  }

  /** @param name what the value is kept under, such as the hash of the source. */
  async get(name: string, source: Source): Promise<Value> {
    const held = this.#entries.get(name);
    const value = held ?? (await this.#make(source));
    this.#entries.delete(name);
    this.#entries.set(name, value);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#entriesMax && oldest !== undefined) this.#entries.delete(oldest);
    return value;
  }
}
