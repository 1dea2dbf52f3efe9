/**
 * Process that checks one powers-of-tau file and ends; started by src/prover/compute/powers-of-tau-task.ts. Its own
 * threads share the points. Reads only the file that the request names.
 */
import { loadPairing } from "../src/engine/groth16/pairing-backend.js";
import { runCheckJobs } from "../src/engine/powers-of-tau/check-jobs.js";
import type { CheckExecutor } from "../src/engine/powers-of-tau/check-jobs.js";
import { checkPowersOfTau } from "../src/engine/powers-of-tau/check-powers.js";
import type { CheckPowersResult } from "../src/engine/powers-of-tau/check-powers.js";
import { openRangeFile } from "../src/engine/powers-of-tau/range-file.js";
import type { RangeFile } from "../src/engine/powers-of-tau/file-layout.js";
import { runProcessEntry } from "../src/engine/process/process-entry.js";
import { runOnThreads, threadsFor } from "./on-threads.js";

/** Every thread has 60 MB of its own; more of them wait for the disk. */
const THREADS_MAX = 8;
/** 2^15 powers. */
const JOBS_FOR_THREADS = 16;

function onThreads(path: string, file: RangeFile): CheckExecutor {
  return async (work, onJob) => {
    const threads = threadsFor({ jobs: work.jobs.length, jobsMin: JOBS_FOR_THREADS, threadsMax: THREADS_MAX });
    if (threads === 0) runCheckJobs(file, work, onJob);
    else await runOnThreads(threads, { entry: "powers-of-tau.worker", workerData: { path, work }, onJob });
  };
}

await runProcessEntry(async ({ path }: { readonly path: string }, report): Promise<CheckPowersResult> => {
  const file = openRangeFile(path);
  const pairing = await loadPairing("wasm");
  return await checkPowersOfTau(file, pairing, { execute: onThreads(path, file), onProgress: report });
});
