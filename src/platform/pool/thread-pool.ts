/**
 * A Piscina pool with what it lacks: a bounded wait with an honest Retry-After, a deadline and an abort signal per
 * task, one retry when a thread dies under a pure task. The only importer of piscina. One task per thread at a time,
 * because an abort ends the whole thread and must not take a neighbour with it.
 */
import { Piscina } from "piscina";
import { AppError } from "../errors.js";
import type { Log } from "../log.js";

export interface ThreadPoolOptions {
  readonly name: string;
  /** Absolute path of the compiled worker entry. */
  readonly entry: string;
  readonly threads: number;
  /** Tasks that may wait; one more is refused with 503. */
  readonly queueLengthMax: number;
  /** OS niceness of the threads, 0 to 19 (Linux): keeps the event loop's latency low while the cores are busy. */
  readonly niceness: number;
  /** More than one only for a worker whose tasks are short, asynchronous and never aborted. */
  readonly tasksPerThread?: number;
}

export interface RunOptions {
  readonly signal?: AbortSignal;
  readonly deadlineMs?: number;
  /** Run again once when the thread died under the task; only for tasks without effects. Default true. */
  readonly retryOnCrash?: boolean;
}

/** Share of a new duration in the moving average that Retry-After is computed from: about the last ten tasks count. */
const EWMA_SHARE = 0.2;
const RETRY_AFTER_MAX_SEC = 60;
/** V8 heap of one thread. Proving keys and WebAssembly memories are outside of it. */
const OLD_SPACE_MB_MAX = 2048;
/**
 * Piscina tries require() first. On Node 20 the whole process aborts ("IsGraphAsync must be used on an instantiated
 * module") when a thread is ended while it requires an ES module; with the flag it goes to import(), which ends
 * cleanly.
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
    // A thread that dies rejects its own task; the event is for the log only, and an unheard 'error' would end the
    // process.
    this.#piscina.on("error", () => {
      this.#log.warn("worker thread failed", { lane: options.name });
    });
  }

  /** Tasks that wait for a thread. */
  get waiting(): number {
    return this.#piscina.queueSize;
  }

  get threads(): number {
    return this.#piscina.threads.length;
  }

  /** Seconds after which a refused caller may find room: the time that the present queue takes, 1 to 60. */
  retryAfterSec(): number {
    const queuedMs = ((this.waiting + 1) * this.#averageMs) / this.#options.threads;
    return Math.min(RETRY_AFTER_MAX_SEC, Math.max(1, Math.ceil(queuedMs / 1000)));
  }

  /**
   * Runs one task. Rejects with `overloaded` when the queue is full, `deadline_exceeded` when time is up,
   * `shutting_down` when the pool stops, and with the signal's reason when the caller gave up; a running task's thread
   * is ended then.
   */
  async run<Message, Value>(message: Message, options: RunOptions = {}): Promise<Value> {
    if (this.#stopping) throw new AppError("shutting_down", { message: "the server is stopping", retryAfterSec: 5 });
    options.signal?.throwIfAborted();
    const deadline = options.deadlineMs === undefined ? undefined : AbortSignal.timeout(options.deadlineMs);
    const signals = [options.signal, deadline].filter((signal) => signal !== undefined);
    const startedMs = performance.now();
    try {
      const value = await this.#attempt<Value>(message, signals, options.retryOnCrash ?? true);
      this.#averageMs += EWMA_SHARE * (performance.now() - startedMs - this.#averageMs);
      return value;
    } catch (error) {
      if (options.signal?.aborted === true) throw options.signal.reason;
      if (deadline?.aborted === true) {
        throw new AppError("deadline_exceeded", {
          message: `${this.#options.name}: the work did not end within ${String(options.deadlineMs)} ms`,
          retryAfterSec: this.retryAfterSec(),
        });
      }
      throw error;
    }
  }

  /** Ends the pool: waiting tasks are refused, running ones are ended. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#piscina.destroy();
  }

  async #attempt<Value>(message: unknown, signals: readonly AbortSignal[], mayRetry: boolean): Promise<Value> {
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
      if (mayRetry) return await this.#attempt<Value>(message, signals, false);
      throw new AppError("internal_error", { message: `${this.#options.name}: the worker failed`, cause: error });
    }
  }
}

function isQueueFull(error: unknown): boolean {
  return error instanceof Error && /queue is at limit|No task queue available/i.test(error.message);
}
