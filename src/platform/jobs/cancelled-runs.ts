/** Jobs that were cancelled here and run on other nodes: asks those to end them, and waits until they have. */
import type { JobRecords } from "./job-records.js";

export interface CancelledRunsOptions {
  /** How long the end of another node's run is waited for. */
  readonly waitMs: number;
}

export class CancelledRuns {
  readonly #options: CancelledRunsOptions;
  readonly #records: JobRecords;
  /** What ends the wait for a job, by its id; more than one caller may cancel it. */
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(options: CancelledRunsOptions, { records }: { readonly records: JobRecords }) {
    this.#options = options;
    this.#records = records;
  }

  /**
   * Deletes a job that this node does not run. Where another node runs it, that one deletes it when its run has ended;
   * one that does not for too long loses its lease, so that it commits nothing any more.
   */
  async cancel(id: string): Promise<void> {
    if (!(await this.#records.askToEnd(id, { isRunHere: false }))) return;
    await this.#untilGone(id);
    await this.#records.delete(id);
  }

  /** Looks whether jobs are gone whose end is waited for; to be called when others have changed jobs, or have ended. */
  notice(): void {
    for (const [id, ends] of this.#waiting) if (this.#records.get(id) === undefined) for (const end of ends) end();
  }

  async #untilGone(id: string): Promise<void> {
    const ends = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, ends);
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        ends.delete(end);
        if (ends.size === 0) this.#waiting.delete(id);
        resolve();
      };
      const timer = setTimeout(end, this.#options.waitMs);
      ends.add(end);
      if (this.#records.get(id) === undefined) end();
    });
  }
}
