/** Sums of rows of points on several threads of a process, for the entries of processes that make or check keys. */
import { runPointRowsInline } from "../src/engine/powers-of-tau/point-row-work.js";
import type { PointRowExecutor } from "../src/engine/powers-of-tau/point-row-work.js";
import { runOnThreads, threadsFor } from "./on-threads.js";

/** Every thread has some 30 MB of its own. */
const THREADS_MAX = 8;
const JOBS_FOR_THREADS = 8;

/** Runs the jobs on as many threads as the machine has. */
export const rowsOnThreads: PointRowExecutor = async (work, onJob) => {
  const threads = threadsFor({ jobs: work.jobs.length, jobsMin: JOBS_FOR_THREADS, threadsMax: THREADS_MAX });
  if (threads === 0) await runPointRowsInline(work, onJob);
  else await runOnThreads(threads, { entry: "point-row.worker", workerData: work, onJob });
};
