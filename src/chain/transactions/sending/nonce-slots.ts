/** Which nonces of an account are held by open transactions, and which is the next that is free. */
import type { QueuedTransaction } from "./queued-transaction.js";

export class NonceSlots {
  readonly #held = new Map<number, QueuedTransaction>();
  /** Where the search for a free nonce starts. */
  #cursor = 0;
  #floor = 0;

  get size(): number {
    return this.#held.size;
  }

  /** Held and not in a block. */
  get unmined(): number {
    let count = 0;
    for (const { phase } of this.#held.values()) if (phase !== "included") count += 1;
    return count;
  }

  /** One above the highest nonce that was seen in a block and is final; 0 when none is known. */
  get floor(): number {
    return this.#floor;
  }

  has(nonce: number): boolean {
    return this.#held.has(nonce);
  }

  /** By nonce. */
  entries(): QueuedTransaction[] {
    return [...this.#held.entries()].sort(([one], [other]) => one - other).map(([, entry]) => entry);
  }

  take(nonce: number, entry: QueuedTransaction): void {
    this.#held.set(nonce, entry);
  }

  /** @param options.isUsed the chain has used it, so that it is not free again */
  release(nonce: number, entry: QueuedTransaction, { isUsed }: { readonly isUsed: boolean }): void {
    if (this.#held.get(nonce) !== entry) return;
    this.#held.delete(nonce);
    if (isUsed) {
      this.#floor = Math.max(this.#floor, nonce + 1);
      // The chain has used all nonces below a used one.
      this.#cursor = Math.max(this.#cursor, nonce + 1);
    } else {
      this.#cursor = Math.min(this.#cursor, nonce);
    }
  }

  /** The lowest nonce from the cursor on that nobody holds. */
  next(): number {
    while (this.#held.has(this.#cursor)) this.#cursor += 1;
    return this.#cursor;
  }

  /** The chain counts so many: the search starts there, whether that is above or below. */
  rewind(count: number): void {
    this.#cursor = count;
    this.#floor = Math.min(this.#floor, count);
  }
}
