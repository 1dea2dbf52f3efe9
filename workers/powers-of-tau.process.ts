/**
 * Process that checks one powers-of-tau file and ends; started by src/prover/compute/powers-of-tau-task.ts. Its own
 * threads share the points. Reads only the file that the request names.
 */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { loadPairing } from "../src/engine/groth16/pairing-backend.js";
import { runCheckJobs } from "../src/engine/powers-of-tau/check-jobs.js";
import type { CheckExecutor } from "../src/engine/powers-of-tau/check-jobs.js";
import { checkPowersOfTau } from "../src/engine/powers-of-tau/check-powers.js";
import type { CheckPowersResult } from "../src/engine/powers-of-tau/check-powers.js";
import { openRangeFile } from "../src/engine/powers-of-tau/range-file.js";
import type { RangeFile } from "../src/engine/powers-of-tau/file-layout.js";
import { runProcessEntry } from "../src/engine/process/process-entry.js";

/** Every thread has 60 MB of its own; more of them wait for the disk. */
const THREADS_MAX = 8;
/** With fewer jobs (2^15 powers) starting threads takes longer than the work. */
const JOBS_FOR_THREADS = 16;

function onThreads(path: string, file: RangeFile): CheckExecutor {
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
            const worker = new Worker(new URL("./powers-of-tau.worker.js", import.meta.url), {
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

await runProcessEntry(async ({ path }: { readonly path: string }, report): Promise<CheckPowersResult> => {
  const file = openRangeFile(path);
  const pairing = await loadPairing("wasm");
  return await checkPowersOfTau(file, pairing, { execute: onThreads(path, file), onProgress: report });
});
