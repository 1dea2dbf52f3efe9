/** Passes on that the chain of a network was seen to have moved, from the part that saw it to those that follow the chain. */

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
