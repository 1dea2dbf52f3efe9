/** The points of ceremonies' keys on several threads of a process, for the entries that contribute or check. */
import type { CompareExecutor, CompareWork } from "../src/engine/groth16/ceremony/compare-jobs.js";
import { runCompareJobs } from "../src/engine/groth16/ceremony/compare-jobs.js";
import type { ScaleExecutor, ScaleWork } from "../src/engine/groth16/ceremony/scale-jobs.js";
import { runScaleJobs } from "../src/engine/groth16/ceremony/scale-jobs.js";
import { openRangeFile, openWrittenFile } from "../src/engine/powers-of-tau/range-file.js";
import { runOnThreads, threadsFor } from "./on-threads.js";

/** Every thread has 10 to 60 MB of its own. */
const THREADS_MAX = 8;
const ENTRY = "key-points.worker";
/** With fewer points starting threads takes longer than the work. */
const JOBS_FOR_THREADS = { scale: 4, compare: 2 } as const;

/** Returns what multiplies points from one file to another, which is there already. */
export function scaleOnThreads(paths: { readonly from: string; readonly to: string }): ScaleExecutor {
  return async (work, onJob) => {
    const threads = threadsOf(work);
    if (threads > 0) {
      await runOnThreads(threads, { entry: ENTRY, workerData: { work, ...paths }, onJob });
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
    const threads = threadsOf(work);
    if (threads > 0) {
      const workerData = { work, from: paths.before, to: paths.after };
      await runOnThreads(threads, { entry: ENTRY, workerData, onJob });
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

function threadsOf(work: ScaleWork | CompareWork): number {
  const jobs = work.jobs.length;
  return threadsFor({ jobs, jobsMin: JOBS_FOR_THREADS[work.kind], threadsMax: Math.min(THREADS_MAX, jobs) });
}
