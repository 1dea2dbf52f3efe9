/** The points of ceremonies' keys on several threads of a process, for the entries that contribute or check. */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { CompareExecutor, CompareWork } from "../src/engine/groth16/ceremony/compare-jobs.js";
import { runCompareJobs } from "../src/engine/groth16/ceremony/compare-jobs.js";
import type { ScaleExecutor, ScaleWork } from "../src/engine/groth16/ceremony/scale-jobs.js";
import { runScaleJobs } from "../src/engine/groth16/ceremony/scale-jobs.js";
import { openRangeFile, openWrittenFile } from "../src/engine/powers-of-tau/range-file.js";

/** Every thread has 10 to 60 MB of its own. */
const THREADS_MAX = 8;
/** With fewer points starting threads takes longer than the work. */
const JOBS_FOR_THREADS = { scale: 4, compare: 2 } as const;

/** Returns what multiplies points from one file to another, which is there already. */
export function scaleOnThreads(paths: { readonly from: string; readonly to: string }): ScaleExecutor {
  return async (work, onJob) => {
    if (threadsFor(work) > 1) {
      await runOnThreads(work, paths, onJob);
      return;
    }
    const source = openRangeFile(paths.from);
    const target = openWrittenFile(paths.to, { isNew: false });
    try {
      runScaleJobs({ source, target }, work, onJob);
    } finally {
      source.close();
      target.close();
    }
  };
}

/** Returns what compares the points of two keys. */
export function compareOnThreads(paths: { readonly before: string; readonly after: string }): CompareExecutor {
  return async (work, onJob) => {
    if (threadsFor(work) > 1) {
      await runOnThreads(work, { from: paths.before, to: paths.after }, onJob);
      return;
    }
    const [before, after] = [openRangeFile(paths.before), openRangeFile(paths.after)];
    try {
      runCompareJobs({ before, after }, work, onJob);
    } finally {
      before.close();
      after.close();
    }
  };
}

function threadsFor(work: ScaleWork | CompareWork): number {
  if (work.jobs.length < JOBS_FOR_THREADS[work.kind]) return 1;
  return Math.min(availableParallelism(), THREADS_MAX, work.jobs.length);
}

async function runOnThreads(
  work: ScaleWork | CompareWork,
  paths: { readonly from: string; readonly to: string },
  onJob: () => void,
): Promise<void> {
  await Promise.all(
    Array.from(
      { length: threadsFor(work) },
      () =>
        new Promise<void>((resolve, reject) => {
          // The build joins this file with others, in a folder beside this one.
          const worker = new Worker(new URL("../workers/key-points.worker.js", import.meta.url), {
            workerData: { work, ...paths },
          });
          worker.on("message", onJob);
          worker.once("error", reject);
          worker.once("exit", (code) => {
            if (code === 0) resolve();
            else reject(new Error(`a thread of a contribution ended with code ${String(code)}`));
          });
        }),
    ),
  );
}
