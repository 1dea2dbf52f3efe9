/**
 * Ends work of an owner that holds more than its share for a while, while another owner waits. Work that ends soon by
 * itself is left alone: what was done of it would be lost.
 */
import type { FairQueue } from "./fair-queue.js";

export interface GiveWayOptions {
  /** How long an owner may keep more than its share while another waits. */
  readonly afterMs: number;
  /** Ends one piece of the owner's running work; it may wait for its turn again. */
  readonly end: (owner: string) => void;
}

export class GiveWay {
  readonly #options: GiveWayOptions;
  readonly #queue: Pick<FairQueue<unknown>, "overdrawn">;
  #timer: NodeJS.Timeout | undefined;

  constructor(queue: Pick<FairQueue<unknown>, "overdrawn">, options: GiveWayOptions) {
    this.#queue = queue;
    this.#options = options;
  }

  /** Looks whether an owner has to give way; must be called after each change of the queue. */
  check(): void {
    if (this.#queue.overdrawn() === undefined) {
      this.stop();
      return;
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const owner = this.#queue.overdrawn();
      if (owner !== undefined) this.#options.end(owner);
    }, this.#options.afterMs).unref();
  }

  /** Ends the watch. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
