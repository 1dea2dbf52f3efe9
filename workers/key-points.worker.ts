/** A thread of a process that makes or checks contributions: takes jobs until none is left and ends. */
import { parentPort, workerData } from "node:worker_threads";
import { runCompareJobs } from "../src/engine/groth16/ceremony/compare-jobs.js";
import type { CompareWork } from "../src/engine/groth16/ceremony/compare-jobs.js";
import { runScaleJobs } from "../src/engine/groth16/ceremony/scale-jobs.js";
import type { ScaleWork } from "../src/engine/groth16/ceremony/scale-jobs.js";
import { openRangeFile, openWrittenFile } from "../src/engine/powers-of-tau/range-file.js";

const { work, from, to } = workerData as {
  readonly work: ScaleWork | CompareWork;
  readonly from: string;
  readonly to: string;
};
const onJob = (): void => {
  parentPort?.postMessage("done");
};
const source = openRangeFile(from);
if (work.kind === "scale") runScaleJobs({ source, target: openWrittenFile(to, { isNew: false }) }, work, onJob);
else runCompareJobs({ before: source, after: openRangeFile(to) }, work, onJob);
