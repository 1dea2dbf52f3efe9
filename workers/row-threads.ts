/** Sums of rows of points on several threads of a process, for the entries of processes that make or check keys. */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { runPointRowsInline } from "../src/engine/powers-of-tau/point-row-work.js";
import type { PointRowExecutor } from "../src/engine/powers-of-tau/point-row-work.js";

/** Every thread has some 30 MB of its own. */
const THREADS_MAX = 8;
/** With fewer jobs starting threads takes longer than the work. */
const JOBS_FOR_THREADS = 8;

/** Runs the jobs on as many threads as the machine has. */
export const rowsOnThreads: PointRowExecutor = async (work, onJob) => {
  const threads = Math.min(availableParallelism(), THREADS_MAX);
  if (threads < 2 || work.jobs.length < JOBS_FOR_THREADS) {
    await runPointRowsInline(work, onJob);
    return;
  }
  await Promise.all(
    Array.from(
      { length: threads },
      () =>
        new Promise<void>((resolve, reject) => {
          // The build joins this file with others, in a folder beside this one.
          const worker = new Worker(new URL("../workers/point-row.worker.js", import.meta.url), { workerData: work });
          worker.on("message", onJob);
          worker.once("error", reject);
          worker.once("exit", (code) => {
            if (code === 0) resolve();
            else reject(new Error(`a thread of a setup ended with code ${String(code)}`));
          });
        }),
    ),
  );
};
