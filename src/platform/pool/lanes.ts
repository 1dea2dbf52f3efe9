/**
 * The lanes of compute work. `interactive` (verification; milliseconds) has threads of its own, so that it never waits behind
 * `prove`. Compilation and setup run as processes of their own (process-task.ts) and have no lane here.
 */
import { workerPath } from "../package-root.js";
import type { Log } from "../log.js";
import type { ComputeRequest, ComputeTaskName, ComputeTasks, TaskResult } from "../../engine/protocol.js";
import { ThreadPool, type RunOptions } from "./thread-pool.js";

export type LaneName = "interactive" | "prove";

export interface LanesOptions {
  /** Threads that prove; one per core by default. */
  readonly proveThreads: number;
  readonly interactiveThreads: number;
  readonly proveQueueLengthMax: number;
  readonly interactiveQueueLengthMax: number;
}

/** Niceness of the lanes: proving yields to the event loop (0) and to verification; see `npm run bench -- http`. */
const PROVE_NICENESS = 15;
const INTERACTIVE_NICENESS = 2;

export class Lanes {
  readonly #pools: Readonly<Record<LaneName, ThreadPool>>;

  constructor(options: LanesOptions, dependencies: { log: Log }) {
    const entry = workerPath("compute.worker");
    this.#pools = {
      interactive: new ThreadPool(
        { name: "interactive", entry, threads: options.interactiveThreads, queueLengthMax: options.interactiveQueueLengthMax, niceness: INTERACTIVE_NICENESS },
        dependencies,
      ),
      prove: new ThreadPool(
        { name: "prove", entry, threads: options.proveThreads, queueLengthMax: options.proveQueueLengthMax, niceness: PROVE_NICENESS },
        dependencies,
      ),
    };
  }

  /** Runs a compute task on a lane; failures that are part of the task come back as a union, the rest rejects (thread-pool.ts). */
  async run<Name extends ComputeTaskName>(lane: LaneName, task: Name, message: ComputeTasks[Name]["message"], options?: RunOptions): Promise<TaskResult<ComputeTasks[Name]["value"]>> {
    const request = { task, message } as ComputeRequest;
    return await this.#pools[lane].run<ComputeRequest, TaskResult<ComputeTasks[Name]["value"]>>(request, options);
  }

  /** Loads the curve in every thread ahead of the first request. */
  async warm(): Promise<void> {
    const warmups = Object.values(this.#pools).flatMap((pool) =>
      Array.from({ length: pool.threads }, async () => { await pool.run({ task: "warm", message: {} }); }),
    );
    await Promise.all(warmups);
  }

  /** Tasks waiting per lane, for metrics. */
  waiting(): Readonly<Record<LaneName, number>> {
    return { interactive: this.#pools.interactive.waiting, prove: this.#pools.prove.waiting };
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#pools).map(async (pool) => { await pool.stop(); }));
  }
}
