/**
 * Slows down guessing at the seal key: at most ten rejected keys per subject and minute, on each node of a cluster,
 * which is unsealed by itself. Holds no key and no hash of one.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";

/** Far more than a person mistypes; the key has 256 bits, so this bounds work and noise rather than luck. */
const ATTEMPTS_MAX = 10;
const WINDOW_MS = 60_000;
/** Subjects remembered at once; beyond it the one that has been quiet longest is forgotten. */
const SUBJECTS_MAX = 10_000;

/** The recent attempts of each subject. */
export class SealAttempts {
  readonly #clock: Clock;
  /** Monotonic times of attempts that failed or are under way, oldest first. */
  readonly #bySubject = new LRUCache<string, readonly number[]>({ max: SUBJECTS_MAX });

  constructor(dependencies: { readonly clock: Clock }) {
    this.#clock = dependencies.clock;
  }

  /** Runs one attempt; a fulfilled one does not count. Throws `too_many_requests` beyond ten failures a minute. */
  async attempt<T>(subject: string, run: () => Promise<T>): Promise<T> {
    const startedMs = this.#clock.monotonicMs();
    const recent = (this.#bySubject.get(subject) ?? []).filter((ms) => startedMs - ms < WINDOW_MS);
    const oldest = recent[0];
    if (recent.length >= ATTEMPTS_MAX && oldest !== undefined) {
      const retryAfterSec = Math.ceil((oldest + WINDOW_MS - startedMs) / 1000);
      throw new AppError("too_many_requests", {
        message: "too many attempts with a wrong seal key",
        retryAfterSec: Math.max(1, retryAfterSec),
      });
    }
    // Counted before the outcome is known, so that attempts sent side by side cannot pass the limit together.
    this.#bySubject.set(subject, [...recent, startedMs]);
    const value = await run();
    this.#forget(subject, startedMs);
    return value;
  }

  /** Takes one attempt of that time off the subject's list. */
  #forget(subject: string, ms: number): void {
    const times = this.#bySubject.get(subject) ?? [];
    const index = times.indexOf(ms);
    const left = index < 0 ? times : times.toSpliced(index, 1);
    if (left.length === 0) this.#bySubject.delete(subject);
    else this.#bySubject.set(subject, left);
  }
}
