/** Tells the parts that follow chains that another part has seen the chain of a network move. */

export class HeadListeners {
  readonly #listeners: ((networkId: string) => void)[] = [];

  /** Adds a listener; it is called with the network's id, any number of times for one block. */
  add(listener: (networkId: string) => void): void {
    this.#listeners.push(listener);
  }

  /** Calls the listeners. */
  notify(networkId: string): void {
    for (const listener of this.#listeners) listener(networkId);
  }
}
