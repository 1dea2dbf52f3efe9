/**
 * Limits password hashing, the most expensive work that a stranger can cause: few hashes run at once, a short queue
 * waits, and the rest is rejected at once. Knows nothing of passwords.
 */
import { availableParallelism } from "node:os";
import { AppError } from "../errors.js";

export interface PasswordHashLimiterOptions {
  /** Hashes that run at once. */
  readonly concurrencyMax?: number;
  /** Hashes that wait. */
  readonly queueLengthMax?: number;
  /** Attempts that wait for `admit`. */
  readonly admissionQueueLengthMax?: number;
}

/**
 * Two hashes, at 19 MiB and 9 ms each, and always one core left for everything else: many logins at once must not slow
 * down users who are logged in already.
 */
const CONCURRENCY_MAX = Math.max(1, Math.min(2, availableParallelism() - 1));
/** A wait of about 150 ms. */
const QUEUE_LENGTH_MAX = 32;
/** A wait of ten seconds on two cores: all employees of a company that log in at nine o'clock. */
const ADMISSION_QUEUE_LENGTH_MAX = 1024;
/** Shorter than the 15 s of a request, so that the client is told to try again instead of being cut off. */
const ADMISSION_WAIT_MAX_MS = 12_000;
const RETRY_AFTER_SEC = 1;

export class PasswordHashLimiter {
  readonly #concurrencyMax: number;
  readonly #queueLengthMax: number;
  readonly #queue: (() => void)[] = [];
  readonly #admissionQueueLengthMax: number;
  readonly #admissionQueue = new Set<() => void>();
  #running = 0;
  #admitted = 0;

  constructor(options: PasswordHashLimiterOptions = {}) {
    this.#concurrencyMax = options.concurrencyMax ?? CONCURRENCY_MAX;
    this.#queueLengthMax = options.queueLengthMax ?? QUEUE_LENGTH_MAX;
    this.#admissionQueueLengthMax = options.admissionQueueLengthMax ?? ADMISSION_QUEUE_LENGTH_MAX;
  }

  /**
   * Waits until an attempt that will hash may begin. No more attempts are admitted than can hash or wait to hash, so
   * that nothing is read or written for the rest while they wait.
   * @returns a function that gives the place back; to be called once
   * @throws too_many_requests when the admission queue is full, or after 12 s in it
   */
  async admit(): Promise<() => void> {
    if (this.#admitted >= this.#concurrencyMax + this.#queueLengthMax) {
      await this.#waitForAdmission();
    } else {
      this.#admitted += 1;
    }
    return () => {
      // A Set keeps the order of arrival, and an attempt that timed out can be removed from its middle.
      const [next] = this.#admissionQueue;
      if (next === undefined) this.#admitted -= 1;
      else next();
    };
  }

  /** Resolves when an attempt that ends hands its place over; the count of admitted attempts stays the same. */
  async #waitForAdmission(): Promise<void> {
    if (this.#admissionQueue.size >= this.#admissionQueueLengthMax) throw tooMany();
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        clearTimeout(timer);
        this.#admissionQueue.delete(enter);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#admissionQueue.delete(enter);
        reject(tooMany());
      }, ADMISSION_WAIT_MAX_MS);
      this.#admissionQueue.add(enter);
    });
  }

  /**
   * Runs a task as soon as fewer than `concurrencyMax` are running, in order of arrival.
   * @throws too_many_requests when the queue is full; the task has not begun then
   */
  async run<T>(task: () => Promise<T>): Promise<T> {
    await this.#acquire();
    try {
      return await task();
    } finally {
      this.#release();
    }
  }

  async #acquire(): Promise<void> {
    if (this.#running < this.#concurrencyMax) {
      this.#running += 1;
      return;
    }
    if (this.#queue.length >= this.#queueLengthMax) {
      throw tooMany();
    }
    // A task that ends hands its place over, so that the count of running tasks stays the same.
    await new Promise<void>((resolve) => this.#queue.push(resolve));
  }

  #release(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
}

function tooMany(): AppError {
  return new AppError("too_many_requests", { message: "too many logins at once", retryAfterSec: RETRY_AFTER_SEC });
}
