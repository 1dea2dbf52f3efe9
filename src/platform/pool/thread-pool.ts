/**
 * A Piscina pool with what it lacks: a bounded queue with a computed Retry-After, a deadline and an abort signal per
 * task, and one retry when a thread dies during a task without effects. The only importer of piscina. A thread runs one
 * task at a time, because an abort ends the whole thread and must not end another task.
 */
import { Piscina } from "piscina";
import { AppError } from "../errors.js";
import type { Log } from "../log.js";

export interface ThreadPoolOptions {
  readonly name: string;
  /** Absolute path of the compiled worker entry. */
  readonly entry: string;
  readonly threads: number;
  /** Tasks that may wait; one more is rejected with 503. */
  readonly queueLengthMax: number;
  /** Niceness of the threads, 0 to 19 (Linux): keeps the latency of the event loop low while all cores are busy. */
  readonly niceness: number;
  /** Default 1. More only for a worker whose tasks are short, asynchronous and never aborted. */
  readonly tasksPerThread?: number;
}

export interface RunOptions {
  readonly signal?: AbortSignal;
  readonly deadlineMs?: number;
  /** Runs the task once more when its thread died; only for tasks without effects. Default true. */
  readonly retryOnCrash?: boolean;
}

/** Weight of a new duration in the moving average for Retry-After: about the last ten tasks count. */
const EWMA_SHARE = 0.2;
const RETRY_AFTER_MAX_SEC = 60;
/** V8 heap of one thread. Proving keys and WebAssembly memories lie outside of it. */
const OLD_SPACE_MB_MAX = 2048;
/**
 * Piscina tries require() first. On Node 20 the whole process aborts ("IsGraphAsync must be used on an instantiated
 * module") when a thread is terminated while it requires an ES module. With the flag Piscina uses import(), which can
 * be terminated.
 */
const THREAD_FLAGS = ["--no-experimental-require-module"];

export class ThreadPool {
  readonly #piscina: Piscina<unknown, unknown>;
  readonly #options: ThreadPoolOptions;
  readonly #log: Log;
  #averageMs = 50;
  #stopping = false;

  constructor(options: ThreadPoolOptions, dependencies: { log: Log }) {
    this.#options = options;
    this.#log = dependencies.log;
    this.#piscina = new Piscina<unknown, unknown>({
      filename: options.entry,
      minThreads: options.threads,
      maxThreads: options.threads,
      maxQueue: options.queueLengthMax,
      concurrentTasksPerWorker: options.tasksPerThread ?? 1,
      idleTimeout: Infinity,
      atomics: "disabled",
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: OLD_SPACE_MB_MAX, stackSizeMb: 4 },
      workerData: { niceness: options.niceness },
      env: {},
      execArgv: THREAD_FLAGS,
      closeTimeout: 5_000,
    });
    // A thread that dies rejects its own task. The listener only logs, but without one 'error' would end the process.
    this.#piscina.on("error", () => {
      this.#log.warn("worker thread failed", { lane: options.name });
    });
  }

  /** Tasks that wait for a thread. */
  get waiting(): number {
    return this.#piscina.queueSize;
  }

  /** Threads that are running. */
  get threads(): number {
    return this.#piscina.threads.length;
  }

  /** Returns the seconds that the current queue takes, 1 to 60, after which a rejected caller may try again. */
  retryAfterSec(): number {
    const queuedMs = ((this.waiting + 1) * this.#averageMs) / this.#options.threads;
    return Math.min(RETRY_AFTER_MAX_SEC, Math.max(1, Math.ceil(queuedMs / 1000)));
  }

  /**
   * Runs one task. When it is aborted or its deadline passes while it runs, its thread is terminated.
   * @param message any value that can be structurally cloned
   * @throws overloaded when the queue is full
   * @throws deadline_exceeded when the deadline passed
   * @throws shutting_down when the pool is stopping
   * @throws the signal's reason when the caller aborted
   */
  async run<Value>(message: unknown, options: RunOptions = {}): Promise<Value> {
    if (this.#stopping) throw new AppError("shutting_down", { message: "the server is stopping", retryAfterSec: 5 });
    options.signal?.throwIfAborted();
    const deadline = options.deadlineMs === undefined ? undefined : AbortSignal.timeout(options.deadlineMs);
    const signals = [options.signal, deadline].filter((signal) => signal !== undefined);
    const startedMs = performance.now();
    try {
      const value = await this.#attempt<Value>(message, signals, { mayRetry: options.retryOnCrash ?? true });
      this.#averageMs += EWMA_SHARE * (performance.now() - startedMs - this.#averageMs);
      return value;
    } catch (error) {
      if (options.signal?.aborted === true) throw options.signal.reason;
      if (deadline?.aborted === true) {
        throw new AppError("deadline_exceeded", {
          message: `${this.#options.name}: the task did not end within ${String(options.deadlineMs)} ms`,
          retryAfterSec: this.retryAfterSec(),
        });
      }
      throw error;
    }
  }

  /** Ends the pool: waiting tasks are rejected, running ones are terminated. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#piscina.destroy();
  }

  async #attempt<Value>(
    message: unknown,
    signals: readonly AbortSignal[],
    { mayRetry }: { readonly mayRetry: boolean },
  ): Promise<Value> {
    try {
      const options = signals.length === 0 ? {} : { signal: AbortSignal.any([...signals]) };
      return (await this.#piscina.run(message, options)) as Value;
    } catch (error) {
      if (signals.some((signal) => signal.aborted)) throw error;
      if (isQueueFull(error)) {
        throw new AppError("overloaded", {
          message: `${this.#options.name}: the queue is full, try again later`,
          retryAfterSec: this.retryAfterSec(),
        });
      }
      if (this.#stopping)
        throw new AppError("shutting_down", { message: "the server is stopping", retryAfterSec: 5, cause: error });
      this.#log.error("task lost with its thread", { lane: this.#options.name, error });
      if (mayRetry) return await this.#attempt<Value>(message, signals, { mayRetry: false });
      throw new AppError("internal_error", { message: `${this.#options.name}: the worker failed`, cause: error });
    }
  }
}

function isQueueFull(error: unknown): boolean {
  return error instanceof Error && /queue is at limit|No task queue available/i.test(error.message);
}
