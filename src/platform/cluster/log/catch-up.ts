/**
 * Reads the log while its node waits for the head, which others hold one after the other. What cannot be read does not
 * matter: it is read again under the lock. What must not be applied is told then.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { LogRow } from "./log-row.js";

interface CatchUpOptions {
  /** Returns the rows that are not applied yet, a page at most. */
  readonly read: () => Promise<readonly LogRow[]>;
  /** Throws for rows that do not go on from this node's place. */
  readonly apply: (rows: readonly LogRow[]) => void;
}

/** About what another node's group takes: sooner there is nothing to read. */
const PAUSE_MS_MIN = 2;
const PAUSE_MS_MAX = 20;

/** One wait for the head. */
export class CatchUp {
  readonly #options: CatchUpOptions;
  #isStopped = false;
  #fault: Error | undefined;

  /** Begins to read. */
  constructor(options: CatchUpOptions) {
    this.#options = options;
    void this.#run();
  }

  /** Ends it: what is read from now on is not applied. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Throws what applying a row has thrown. */
  requireSound(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }

  async #run(): Promise<void> {
    let pauseMs = PAUSE_MS_MIN;
    for (let rows = await this.#next(pauseMs); rows !== undefined; rows = await this.#next(pauseMs)) {
      try {
        this.#options.apply(rows);
      } catch (error) {
        this.#fault = error instanceof Error ? error : new Error("a row could not be applied", { cause: error });
        return;
      }
      pauseMs = rows.length > 0 ? PAUSE_MS_MIN : Math.min(PAUSE_MS_MAX, 2 * pauseMs);
    }
  }

  /** Returns what is there after a pause; undefined when it is not wanted any more, or cannot be read. */
  async #next(pauseMs: number): Promise<readonly LogRow[] | undefined> {
    await delay(pauseMs);
    const rows = this.#isStopped ? undefined : await this.#options.read().catch(() => undefined);
    return this.#isStopped ? undefined : rows;
  }
}
