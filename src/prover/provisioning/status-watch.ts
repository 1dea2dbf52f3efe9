/**
 * Tells those who wait inside this process that a prover has changed, and how far its present step is. Nothing in it
 * has to last.
 */

type Listener = () => void;

export class StatusWatch {
  readonly #listeners = new Map<string, Set<Listener>>();

  readonly #shares = new Map<string, number>();

  /** How much of the present step is done, 0 to 1; forgotten with the next change. */
  setShare(proverId: string, share: number): void {
    this.#shares.set(proverId, share);
  }

  shareOf(proverId: string): number {
    return this.#shares.get(proverId) ?? 0;
  }

  /** Called after a commit that changed or deleted the prover. */
  notify(proverId: string): void {
    this.#shares.delete(proverId);
    for (const listener of [...(this.#listeners.get(proverId) ?? [])]) listener();
  }

  /** Waits until `isDone` holds, the time is up or the signal fires, whichever comes first. */
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
