/**
 * A thread of the setup process: takes fixed-base jobs until none is left and ends. It sees secret scalars and reports
 * only the number of finished jobs.
 */
import { parentPort, workerData } from "node:worker_threads";
import { runFixedBaseJobs } from "../src/engine/groth16/fixed-base-work.js";
import type { FixedBaseWork } from "../src/engine/groth16/fixed-base-work.js";

const { work, threads } = workerData as { readonly work: FixedBaseWork; readonly threads: number };
runFixedBaseJobs(work, threads, () => {
  parentPort?.postMessage("done");
});
