/**
 * What was worked out from a text in this turn of the event loop: requests that come together often bring the same one.
 * Nothing outlasts the turn, in which whoever brought a text holds it anyway; so texts may be secrets, which must not
 * lie around as keys of a map.
 */
export class TurnMemo<Value> {
  readonly #work: (text: string) => Value;
  #known = new Map<string, Value>();
  /** A new one each time: one that has become old would leave its texts behind until the next full collection. */
  readonly #forget = (): void => {
    this.#known = new Map();
  };

  /** @param work gives the same for the same text; what it throws is not kept */
  constructor(work: (text: string) => Value) {
    this.#work = work;
  }

  of(text: string): Value {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const value = this.#work(text);
    if (this.#known.size === 0) setImmediate(this.#forget);
    this.#known.set(text, value);
    return value;
  }
}
