/** The check of a powers-of-tau file on several threads of a process. */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { runCheckJobs } from "../src/engine/powers-of-tau/check-jobs.js";
import type { CheckExecutor } from "../src/engine/powers-of-tau/check-jobs.js";
import type { RangeFile } from "../src/engine/powers-of-tau/file-layout.js";

/** Every thread has 60 MB of its own; more of them wait for the disk. */
const THREADS_MAX = 8;
/** With fewer jobs (2^15 powers) starting threads takes longer than the work. */
const JOBS_FOR_THREADS = 16;

/** Returns what checks the points of a file that is open, by its path. */
export function powersOnThreads(path: string, file: RangeFile): CheckExecutor {
  return async (work, onJob) => {
    const threads = Math.min(availableParallelism(), THREADS_MAX);
    if (threads < 2 || work.jobs.length < JOBS_FOR_THREADS) {
      runCheckJobs(file, work, onJob);
      return;
    }
    await Promise.all(
      Array.from(
        { length: threads },
        () =>
          new Promise<void>((resolve, reject) => {
            // The build joins this file with others, in a folder beside this one.
            const worker = new Worker(new URL("../workers/powers-of-tau.worker.js", import.meta.url), {
              workerData: { path, work },
            });
            worker.on("message", onJob);
            worker.once("error", reject);
            worker.once("exit", (code) => {
              if (code === 0) resolve();
              else reject(new Error(`a thread of the check ended with code ${String(code)}`));
            });
          }),
      ),
    );
  };
}
