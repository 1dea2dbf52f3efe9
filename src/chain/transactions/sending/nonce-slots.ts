/** Which nonces of an account are held by open transactions, and which is the next that is free. */
import { nonceOf, type QueuedTransaction } from "./queued-transaction.js";

export class NonceSlots {
  readonly #held = new Map<number, QueuedTransaction>();
  /** Of transactions that are being stored, in this process; true once the search for a free nonce passed it by. */
  readonly #reserved = new Map<number, boolean>();
  /** Where the search for a free nonce starts. */
  #cursor = 0;
  #floor = 0;

  get size(): number {
    return this.#held.size;
  }

  /** True when no transaction holds a nonce, and none that is being stored will. */
  get isEmpty(): boolean {
    return this.#held.size === 0 && this.#reserved.size === 0;
  }

  /** Held by transactions that are not in a block. */
  get unmined(): number {
    let count = 0;
    for (const { state } of this.#held.values()) if (state.phase !== "included") count += 1;
    return count;
  }

  /** One above the highest nonce that was seen in a block and is final; 0 when none is known. */
  get floor(): number {
    return this.#floor;
  }

  /** Returns true when an open transaction holds the nonce, or one that is being stored will. */
  has(nonce: number): boolean {
    return this.#held.has(nonce) || this.#reserved.has(nonce);
  }

  /** Keeps a nonce for a transaction that is being stored, until `unreserve`. Returns false when it is taken. */
  reserve(nonce: number): boolean {
    if (this.has(nonce)) return false;
    this.#reserved.set(nonce, false);
    return true;
  }

  /** Gives back what was reserved, also once the transaction holds the nonce. */
  unreserve(nonce: number): void {
    const wasPassed = this.#reserved.get(nonce) === true;
    this.#reserved.delete(nonce);
    if (wasPassed && !this.#held.has(nonce)) this.#cursor = Math.min(this.#cursor, nonce);
  }

  /** Returns the transactions that hold a nonce, the lowest nonce first. */
  entries(): QueuedTransaction[] {
    return [...this.#held.entries()].sort(([one], [other]) => one - other).map(([, queued]) => queued);
  }

  /** Gives the nonce that the transaction's state names to the transaction. */
  take(queued: QueuedTransaction): void {
    this.#held.set(nonceOf(queued), queued);
  }

  /**
   * Frees a nonce, if the transaction still holds it.
   * @param options.isUsed the chain has used the nonce, so that it is never free again
   */
  release(nonce: number, queued: QueuedTransaction, { isUsed }: { readonly isUsed: boolean }): void {
    if (this.#held.get(nonce) !== queued) return;
    this.#held.delete(nonce);
    if (isUsed) {
      this.#floor = Math.max(this.#floor, nonce + 1);
      // The chain has used all nonces below a used one.
      this.#cursor = Math.max(this.#cursor, nonce + 1);
    } else {
      this.#cursor = Math.min(this.#cursor, nonce);
    }
  }

  /** Returns the lowest free nonce from the cursor on. */
  next(): number {
    while (this.has(this.#cursor)) {
      if (this.#reserved.has(this.#cursor)) this.#reserved.set(this.#cursor, true);
      this.#cursor += 1;
    }
    return this.#cursor;
  }

  /** Starts the search at the chain's count, whether that is above or below the present start. */
  restartAt(count: number): void {
    this.#cursor = count;
    this.#floor = Math.min(this.#floor, count);
  }
}
