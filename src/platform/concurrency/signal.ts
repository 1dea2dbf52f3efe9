/**
 * An event between parts that are built one after the other: a part that is built later listens to one that was built
 * earlier and cannot know it. The audit log tells the vault that it cannot be written, the vault tells the chain that
 * it was unsealed, identity tells the chain that an owner is being deleted.
 */
export class Signal<Argument = void> {
  readonly #listeners: ((argument: Argument) => void | Promise<void>)[] = [];

  /** Adds a listener. Listeners are called in the order in which they were added. */
  on(listener: (argument: Argument) => void | Promise<void>): void {
    this.#listeners.push(listener);
  }

  /** Calls the listeners one after the other. Rejects with the first failure; later listeners are then not called. */
  async emit(argument: Argument): Promise<void> {
    for (const listener of this.#listeners) await listener(argument);
  }
}
