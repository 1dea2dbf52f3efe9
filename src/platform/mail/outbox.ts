/**
 * Background work that no request may wait for: sending mail, and looking up whether there is an account to send it to.
 * The queue is bounded and in memory; a task is tried a few times and lost when the process ends, and then the user
 * must ask again. The request never learns the outcome, so that it cannot reveal which accounts exist.
 */
import type { Log } from "../log.js";

export interface OutboxOptions {
  /** Pause before the second attempt; it doubles each time. */
  readonly retryDelayMs?: number;
}

/** A backlog of some minutes at a hundred messages a minute; beyond it new tasks are dropped and logged. */
const WAITING_MAX = 512;
const TASKS_AT_ONCE = 2;
const ATTEMPTS_MAX = 3;
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

  /** Queues a task. A failure is logged without its message. */
  add(task: () => Promise<void>): void {
    if (this.#stopped || this.#waiting.length >= WAITING_MAX) {
      this.#log.warn("mail dropped", { state: this.#stopped ? "stopping" : "outbox full" });
      return;
    }
    this.#waiting.push(task);
    this.#next();
  }

  /** Resolves when no task waits or runs. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Drops the waiting tasks, waits for the running ones, and accepts no more. */
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

  /** Never rejects. */
  async #run(task: () => Promise<void>): Promise<void> {
    // Starts after the answer of the request has been sent, so that the time of the answer reveals nothing.
    await new Promise((resolve) => setImmediate(resolve));
    for (let attempt = 1; ; attempt += 1) {
      try {
        await task();
        return;
      } catch {
        // The library's message may quote the mail, and with it a token.
        this.#log.warn("mail not sent", { attempt });
        if (attempt >= ATTEMPTS_MAX || this.#stopped) return;
      }
      await new Promise((resolve) => setTimeout(resolve, this.#retryDelayMs * 2 ** (attempt - 1)).unref());
    }
  }
}
