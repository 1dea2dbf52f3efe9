/**
 * Work that must not be waited for by a request: sending mail, and finding out whether there is anybody to send it to.
 * Bounded, tried a few times, lost when the process ends; whoever asked asks again. Never tells the request how it
 * went.
 */
import type { Log } from "../log.js";

export interface OutboxOptions {
  /** Pause before the second try; it doubles each time. */
  readonly retryDelayMs?: number;
}

/** At a hundred messages a minute some minutes of backlog; beyond it new ones are dropped and logged. */
const WAITING_MAX = 512;
const TASKS_AT_ONCE = 2;
const TRIES_MAX = 3;
const RETRY_DELAY_MS = 2_000;

export class Outbox {
  readonly #retryDelayMs: number;
  readonly #log: Log;
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #running = new Set<Promise<void>>();
  #stopped = false;

  constructor(options: OutboxOptions, dependencies: { readonly log: Log }) {
    this.#retryDelayMs = options.retryDelayMs ?? RETRY_DELAY_MS;
    this.#log = dependencies.log;
  }

  /** Takes a task; it runs soon. Its failure is logged without words of its own. */
  add(task: () => Promise<void>): void {
    if (this.#stopped || this.#waiting.length >= WAITING_MAX) {
      this.#log.warn("mail dropped", { state: this.#stopped ? "stopping" : "outbox full" });
      return;
    }
    this.#waiting.push(task);
    this.#next();
  }

  /** Resolves when nothing waits or runs any more. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Takes nothing more and waits for what runs; what waits is dropped. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.length = 0;
    await this.idle();
  }

  #next(): void {
    while (this.#running.size < TASKS_AT_ONCE) {
      const task = this.#waiting.shift();
      if (task === undefined) return;
      const run = this.#run(task).finally(() => {
        this.#running.delete(run);
        this.#next();
      });
      this.#running.add(run);
    }
  }

  /** Ends without a rejection. */
  async #run(task: () => Promise<void>): Promise<void> {
    // After the request's own answer is on its way: what the task finds must not show in the time that the answer
    // takes.
    await new Promise((resolve) => setImmediate(resolve));
    for (let tried = 1; ; tried += 1) {
      try {
        await task();
        return;
      } catch {
        // The library's message may quote the mail, and with it a token.
        this.#log.warn("mail not sent", { attempt: tried });
        if (tried >= TRIES_MAX || this.#stopped) return;
      }
      await new Promise((resolve) => setTimeout(resolve, this.#retryDelayMs * 2 ** (tried - 1)).unref());
    }
  }
}
