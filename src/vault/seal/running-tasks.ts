/**
 * Runs tasks on the vault's threads and counts those under way, so that sealing can wait for them. Ends and replaces
 * the threads, which is how keys leave memory.
 */
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import type { VaultTaskFailure, VaultTaskName, VaultTaskRunner, VaultTasks } from "../protocol.js";

/** How long sealing waits for operations under way: each takes microseconds to tenths of a second. */
const DRAIN_MS = 5_000;

export interface RunningTasksDependencies {
  readonly worker: VaultTaskRunner;
  readonly log: Log;
}

/** The tasks of the vault's threads, and the lifetime of these threads. */
export class RunningTasks {
  readonly #worker: VaultTaskRunner;
  readonly #log: Log;
  #running = 0;
  #onIdle: (() => void) | undefined;

  constructor(dependencies: RunningTasksDependencies) {
    this.#worker = dependencies.worker;
    this.#log = dependencies.log;
  }

  /**
   * Runs a task and returns its value. Throws the task's failure as an AppError.
   * @param onFailure called with the failure before it is thrown
   */
  async run<Name extends VaultTaskName>(
    task: Name,
    message: VaultTasks[Name]["message"],
    onFailure?: (failure: VaultTaskFailure) => void,
  ): Promise<VaultTasks[Name]["value"]> {
    this.#running += 1;
    try {
      const result = await this.#worker.run(task, message);
      if (result.ok) return result.value;
      onFailure?.(result);
      throw this.#errorOf(result);
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#onIdle?.();
    }
  }

  /** Drops all keys from memory: ends the threads after the running tasks, or after 5 s, and starts empty ones. */
  async replaceThreads(): Promise<void> {
    await this.#drained();
    await this.#worker.recycle();
  }

  /** Ends the threads for good, after the running tasks or after 5 s. */
  async stop(): Promise<void> {
    await this.#drained();
    await this.#worker.stop();
  }

  /** Drops the keys of a failed unsealing; replaces the threads where they do not answer. */
  async lock(): Promise<void> {
    const isLocked = await this.#worker.run("lock", null).then(
      (result) => result.ok,
      () => false,
    );
    if (!isLocked) await this.#worker.recycle();
  }

  async #drained(): Promise<void> {
    if (this.#running === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, DRAIN_MS);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#onIdle = undefined;
  }

  #errorOf(failure: VaultTaskFailure): AppError {
    if (failure.frames !== undefined)
      this.#log.error("vault operation failed unexpectedly", { code: failure.code, stack: failure.frames });
    return new AppError(failure.code, { message: failure.message });
  }
}
