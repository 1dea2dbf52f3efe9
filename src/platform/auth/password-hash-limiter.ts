/**
 * The one gate before password hashing: hashing is the dearest thing that a stranger can ask for, so few run at once, a
 * short line waits, and the rest is turned away at once. Knows nothing of passwords.
 */
import { availableParallelism } from "node:os";
import { AppError } from "../errors.js";

export interface HashGateOptions {
  /** Hashes at once. */
  readonly concurrencyMax?: number;
  /** Hashes that wait. */
  readonly queueLengthMax?: number;
  /** Attempts that wait at the door. */
  readonly lineLengthMax?: number;
}

/**
 * Two at 19 MiB and 9 ms each, and always one core left for everything else: a crowd that logs in must not slow down
 * who is in (security 3.6).
 */
const CONCURRENCY_MAX = Math.max(1, Math.min(2, availableParallelism() - 1));
/** About 150 ms of waiting. */
const QUEUE_LENGTH_MAX = 32;
/** Ten seconds of waiting on two cores: a whole company that logs in at nine o'clock. */
const LINE_LENGTH_MAX = 1024;
/** Within a request's 15 s; who waited this long is better told to come again than cut off. */
const LINE_WAIT_MS = 12_000;
const RETRY_AFTER_SEC = 1;

export class HashGate {
  readonly #concurrencyMax: number;
  readonly #queueLengthMax: number;
  readonly #waiting: (() => void)[] = [];
  readonly #lineLengthMax: number;
  readonly #line = new Set<() => void>();
  #running = 0;
  #admitted = 0;

  constructor(options: HashGateOptions = {}) {
    this.#concurrencyMax = options.concurrencyMax ?? CONCURRENCY_MAX;
    this.#queueLengthMax = options.queueLengthMax ?? QUEUE_LENGTH_MAX;
    this.#lineLengthMax = options.lineLengthMax ?? LINE_LENGTH_MAX;
  }

  /**
   * Waits at the door until an attempt that will hash may begin: as many are let in as can hash or wait to, so that
   * nothing is read or written for the rest of a crowd while it stands in line. Resolves to what gives the place back.
   * Throws `too_many_requests` beyond the line.
   */
  async admit(): Promise<() => void> {
    if (this.#admitted >= this.#concurrencyMax + this.#queueLengthMax) {
      await this.#standInLine();
    } else {
      this.#admitted += 1;
    }
    return () => {
      // A Set keeps the order of arrival, and lets who gave up leave from the middle.
      const [next] = this.#line;
      if (next === undefined) this.#admitted -= 1;
      else next();
    };
  }

  /** Resolves when a place is handed over by whoever leaves, so that the count stays. */
  async #standInLine(): Promise<void> {
    if (this.#line.size >= this.#lineLengthMax) throw tooMany();
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        clearTimeout(timer);
        this.#line.delete(enter);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#line.delete(enter);
        reject(tooMany());
      }, LINE_WAIT_MS);
      this.#line.add(enter);
    });
  }

  /**
   * Runs the work when its turn comes. Throws `too_many_requests` when the line is full; the work has not begun then.
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.#enter();
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #enter(): Promise<void> {
    if (this.#running < this.#concurrencyMax) {
      this.#running += 1;
      return;
    }
    if (this.#waiting.length >= this.#queueLengthMax) {
      throw tooMany();
    }
    // The place is handed over by whoever leaves, so the count of running ones stays.
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
}

function tooMany(): AppError {
  return new AppError("too_many_requests", { message: "too many logins at once", retryAfterSec: RETRY_AFTER_SEC });
}
