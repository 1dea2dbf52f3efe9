/** A thread of the process that checks a powers-of-tau file: takes jobs until none is left and ends. */
import { parentPort, workerData } from "node:worker_threads";
import { runCheckJobs } from "../src/engine/powers-of-tau/check-jobs.js";
import type { CheckWork } from "../src/engine/powers-of-tau/check-jobs.js";
import { openRangeFile } from "../src/engine/powers-of-tau/range-file.js";

const { path, work } = workerData as { readonly path: string; readonly work: CheckWork };
runCheckJobs(openRangeFile(path), work, () => {
  parentPort?.postMessage("done");
});
