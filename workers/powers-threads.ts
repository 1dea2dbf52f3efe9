/** The check of a powers-of-tau file on several threads of a process. */
import { runCheckJobs } from "../src/engine/powers-of-tau/check-jobs.js";
import type { CheckExecutor } from "../src/engine/powers-of-tau/check-jobs.js";
import type { RangeFile } from "../src/engine/powers-of-tau/file-layout.js";
import { runOnThreads, threadsFor } from "./on-threads.js";

/** Every thread has 60 MB of its own; more of them wait for the disk. */
const THREADS_MAX = 8;
/** 2^15 powers. */
const JOBS_FOR_THREADS = 16;

/** Returns what checks the points of a file that is open, by its path. */
export function powersOnThreads(path: string, file: RangeFile): CheckExecutor {
  return async (work, onJob) => {
    const threads = threadsFor({ jobs: work.jobs.length, jobsMin: JOBS_FOR_THREADS, threadsMax: THREADS_MAX });
    if (threads === 0) runCheckJobs(file, work, onJob);
    else await runOnThreads(threads, { entry: "powers-of-tau.worker", workerData: { path, work }, onJob });
  };
}
