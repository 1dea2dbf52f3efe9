/** Wakes requests of this process that wait for a change of a record. Nothing here is stored. */
import type { StoreKey } from "../../platform/store/store.js";

type Listener = () => void;

export class StatusWatch {
  readonly #listeners = new Map<string, Set<Listener>>();

  /** Wakes the waiting requests; called after a commit that changed or deleted the prover. */
  notify(proverId: string): void {
    for (const listener of [...(this.#listeners.get(proverId) ?? [])]) listener();
  }

  /** Wakes those who wait for the records of these keys, which other nodes have changed. */
  noteKeys(keys: readonly StoreKey[]): void {
    for (const key of keys) this.notify(String(key.at(-1)));
  }

  /** Resolves when `isDone` holds, the time is up or the signal fires, whichever comes first; never rejects. */
  async waitUntil(
    proverId: string,
    isDone: () => boolean,
    limits: { readonly waitMs: number; readonly signal: AbortSignal },
  ): Promise<void> {
    if (limits.waitMs <= 0 || limits.signal.aborted || isDone()) return;
    await new Promise<void>((resolve) => {
      const listeners = this.#listeners.get(proverId) ?? new Set<Listener>();
      this.#listeners.set(proverId, listeners);
      const end = (): void => {
        clearTimeout(timer);
        limits.signal.removeEventListener("abort", end);
        listeners.delete(check);
        if (listeners.size === 0) this.#listeners.delete(proverId);
        resolve();
      };
      const check = (): void => {
        if (isDone()) end();
      };
      const timer = setTimeout(end, limits.waitMs);
      limits.signal.addEventListener("abort", end, { once: true });
      listeners.add(check);
    });
  }
}
