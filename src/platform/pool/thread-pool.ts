/**
 * A Piscina pool with what it lacks: a bounded queue that is fair to the owners (lane.ts), a deadline and an abort
 * signal per task, and one retry when a thread dies during a task without effects. The only importer of piscina. A
 * thread runs one task at a time, because an abort ends the whole thread and must not end another task. All threads are
 * started by the first task: a tenth of a second of processor time each, which a server that needs none saves.
 *
 * Piscina's own queue stays empty: it does not count tasks that have an abort signal, and every request has one.
 */
import { Piscina } from "piscina";
import { AppError } from "../errors.js";
import type { Log } from "../log.js";
import { Lane, type LaneFigures } from "./lane.js";

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
  /** How long an owner may keep more than its share of the threads; see LaneOptions. */
  readonly giveWayMs?: number;
}

export interface RunOptions {
  /** Whose turn the task takes, such as `user:<uuid>`; the server's own work by default. */
  readonly owner?: string;
  readonly signal?: AbortSignal;
  /** Time for waiting and running together. */
  readonly deadlineMs?: number;
  /** When the time began, by `performance.now()`: earlier than now when the task is run once more. */
  readonly sinceMs?: number;
  /** Runs the task once more when its thread died; only for tasks without effects. Default true. */
  readonly retryOnCrash?: boolean;
  /** Lets the task be ended with `GaveWay` while another owner waits; only for tasks without effects. Default false. */
  readonly mayGiveWay?: boolean;
  /** Called when the task gets a thread; one that failed without it was never begun. */
  readonly onBegin?: () => void;
}

/** The task was ended because its owner had more than its share of the threads; it may be run again. */
export class GaveWay extends Error {
  override readonly name = "GaveWay";
}

/** V8 heap of one thread. Proving keys and WebAssembly memories lie outside of it. */
const OLD_SPACE_MB_MAX = 2048;
/**
 * Piscina tries require() first. On Node 20 the whole process aborts ("IsGraphAsync must be used on an instantiated
 * module") when a thread is terminated while it requires an ES module. With the flag Piscina uses import(), which can
 * be terminated.
 */
const THREAD_FLAGS = ["--no-experimental-require-module"];

export class ThreadPool {
  /** Started with the first task. */
  #piscina: Piscina<unknown, unknown> | undefined;
  readonly #options: ThreadPoolOptions;
  readonly #lane: Lane;
  readonly #log: Log;
  #stopping = false;

  constructor(options: ThreadPoolOptions, dependencies: { log: Log }) {
    this.#options = options;
    this.#log = dependencies.log;
    const { name, threads, tasksPerThread = 1, queueLengthMax, giveWayMs } = options;
    this.#lane = new Lane({
      name,
      places: threads * tasksPerThread,
      queueLengthMax,
      ...(giveWayMs === undefined ? {} : { giveWayMs }),
    });
  }

  /** Tasks that wait for a thread. */
  get waiting(): number {
    return this.#lane.waiting;
  }

  /** Threads, started or not. */
  get threads(): number {
    return this.#options.threads;
  }

  /** Whether the threads have been started, as the first task does. */
  get isStarted(): boolean {
    return this.#piscina !== undefined;
  }

  /** What waits and runs, for metrics. */
  get figures(): LaneFigures {
    return this.#lane.figures;
  }

  /** Returns the seconds, 1 to 120, after which a refused caller may try again. */
  retryAfterSec(owner?: string): number {
    return this.#lane.retryAfterSec(owner);
  }

  /**
   * Runs one task. When it is aborted or its deadline passes while it runs, its thread is terminated.
   * @param message any value that can be structurally cloned
   * @throws overloaded when the queue is full
   * @throws deadline_exceeded when the deadline passed
   * @throws shutting_down when the pool is stopping
   * @throws GaveWay when the task may give way and did
   * @throws the signal's reason when the caller aborted
   */
  async run<Value>(message: unknown, options: RunOptions = {}): Promise<Value> {
    if (this.#stopping) throw stopping();
    options.signal?.throwIfAborted();
    const deadline = deadlineOf(options);
    const gaveWay = options.mayGiveWay === true ? new AbortController() : undefined;
    const signal = anyOf([options.signal, deadline]);
    const ending = anyOf([signal, gaveWay?.signal]);
    try {
      return await this.#lane.run(
        {
          ...(options.owner === undefined ? {} : { owner: options.owner }),
          ...(signal === undefined ? {} : { signal }),
          ...(gaveWay === undefined ? {} : { giveWay: () => gaveWay.abort() }),
        },
        async () => {
          options.onBegin?.();
          return await this.#attempt<Value>(message, ending, { mayRetry: options.retryOnCrash ?? true });
        },
      );
    } catch (error) {
      if (options.signal?.aborted === true) throw options.signal.reason;
      if (deadline?.aborted === true) throw this.#tooLate(options, error);
      if (gaveWay?.signal.aborted === true) throw new GaveWay("the thread was needed for another owner");
      throw error;
    }
  }

  /** Ends the pool: waiting tasks are rejected, running ones are terminated. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#lane.stop(stopping());
    await this.#piscina?.destroy();
  }

  #start(): Piscina<unknown, unknown> {
    const { name, entry, threads, tasksPerThread = 1, niceness } = this.#options;
    const piscina = new Piscina<unknown, unknown>({
      filename: entry,
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: tasksPerThread,
      idleTimeout: Infinity,
      atomics: "disabled",
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: OLD_SPACE_MB_MAX, stackSizeMb: 4 },
      workerData: { niceness },
      env: {},
      execArgv: THREAD_FLAGS,
      closeTimeout: 5_000,
    });
    // A thread that dies rejects its own task; this tells of those without one. Without a listener 'error' would end
    // the process.
    piscina.on("error", (error) => {
      this.#log.warn("worker thread failed", { lane: name, error });
      if (piscina.threads.length === 0) this.#replace(piscina);
    });
    return piscina;
  }

  /**
   * Gives up threads that all failed while they started, which Piscina does not start again: what waits for them fails
   * at once, and the next task starts new ones.
   */
  #replace(failed: Piscina<unknown, unknown>): void {
    if (this.#piscina !== failed) return;
    this.#piscina = undefined;
    void failed.destroy();
  }

  async #attempt<Value>(
    message: unknown,
    signal: AbortSignal | undefined,
    { mayRetry }: { readonly mayRetry: boolean },
  ): Promise<Value> {
    const piscina = (this.#piscina ??= this.#start());
    try {
      return (await piscina.run(message, signal === undefined ? {} : { signal })) as Value;
    } catch (error) {
      if (signal?.aborted === true) throw error;
      if (this.#stopping) throw stopping(error);
      if (piscina.threads.length === 0) this.#replace(piscina);
      this.#log.error("task lost with its thread", { lane: this.#options.name, error });
      if (mayRetry) return await this.#attempt<Value>(message, signal, { mayRetry: false });
      throw new AppError("internal_error", { message: `${this.#options.name}: the worker failed`, cause: error });
    }
  }

  #tooLate({ owner, deadlineMs }: RunOptions, cause: unknown): AppError {
    return new AppError("deadline_exceeded", {
      message: `${this.#options.name}: the task did not end within ${String(deadlineMs)} ms`,
      retryAfterSec: this.retryAfterSec(owner),
      cause,
    });
  }
}

function deadlineOf({ deadlineMs, sinceMs }: RunOptions): AbortSignal | undefined {
  if (deadlineMs === undefined) return undefined;
  const usedMs = sinceMs === undefined ? 0 : performance.now() - sinceMs;
  return AbortSignal.timeout(Math.max(0, Math.ceil(deadlineMs - usedMs)));
}

function anyOf(signals: readonly (AbortSignal | undefined)[]): AbortSignal | undefined {
  const given = signals.filter((signal) => signal !== undefined);
  return given.length < 2 ? given[0] : AbortSignal.any(given);
}

function stopping(cause?: unknown): AppError {
  return new AppError("shutting_down", {
    message: "the server is stopping",
    retryAfterSec: 5,
    ...(cause === undefined ? {} : { cause }),
  });
}
