/**
 * Counts the records that fail their integrity check. One is a bad block; several different ones within a minute are an
 * attack on the data file, and the vault seals itself.
 */
import type { Clock } from "../../platform/clock.js";

/** Different records that fail within the window before the vault seals itself. */
const RECORDS_MAX = 3;
const WINDOW_MS = 60_000;

/** The records that failed recently. */
export class CorruptRecords {
  readonly #clock: Clock;
  /** Record id -> monotonic time of its last failed check. */
  readonly #failedAtMs = new Map<string, number>();

  constructor(dependencies: { readonly clock: Clock }) {
    this.#clock = dependencies.clock;
  }

  /** Notes a failed check. Returns how many records failed recently, and whether they are too many. */
  note(recordId: string): { readonly count: number; readonly areTooMany: boolean } {
    const nowMs = this.#clock.monotonicMs();
    for (const [id, ms] of this.#failedAtMs) {
      if (nowMs - ms >= WINDOW_MS) this.#failedAtMs.delete(id);
    }
    this.#failedAtMs.set(recordId, nowMs);
    return { count: this.#failedAtMs.size, areTooMany: this.#failedAtMs.size >= RECORDS_MAX };
  }

  /** Forgets all failures, after an unsealing. */
  clear(): void {
    this.#failedAtMs.clear();
  }
}
