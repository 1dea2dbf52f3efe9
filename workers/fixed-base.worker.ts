/**
 * A thread of the setup process: takes fixed-base jobs until none is left and ends. It sees secret scalars and reports
 * only the number of finished jobs.
 */
import { parentPort, workerData } from "node:worker_threads";
import { runFixedBaseJobs } from "../src/engine/groth16/fixed-base-work.js";
import type { FixedBaseWork } from "../src/engine/groth16/fixed-base-work.js";
import { useWideForms } from "../src/engine/kernels/wide/wide-form.js";
import type { WideForms } from "../src/engine/kernels/wide/wide-form.js";

const { work, threads, forms } = workerData as {
  readonly work: FixedBaseWork;
  readonly threads: number;
  readonly forms: WideForms | undefined;
};
useWideForms(forms);
runFixedBaseJobs(work, threads, () => {
  parentPort?.postMessage("done");
});
