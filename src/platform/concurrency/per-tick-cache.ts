/**
 * A cache that lives for one turn of the event loop: requests that arrive together often carry the same text, such as a
 * token. The entries are dropped at the end of the turn. Until then the caller holds the text anyway, so the texts may
 * be secrets, which must not stay in memory as keys of a map.
 */
export class PerTickCache<Value> {
  readonly #compute: (text: string) => Value;
  #entries = new Map<string, Value>();
  /** Makes a new map each time: a map in V8's old generation would keep its texts until the next full collection. */
  readonly #drop = (): void => {
    this.#entries = new Map();
  };

  /** @param compute a pure function of the text; what it throws is not cached */
  constructor(compute: (text: string) => Value) {
    this.#compute = compute;
  }

  /** Returns what `compute` gives for the text, and computes it once per turn. Throws what `compute` throws. */
  get(text: string): Value {
    const cached = this.#entries.get(text);
    if (cached !== undefined) return cached;
    const value = this.#compute(text);
    if (this.#entries.size === 0) setImmediate(this.#drop);
    this.#entries.set(text, value);
    return value;
  }
}
