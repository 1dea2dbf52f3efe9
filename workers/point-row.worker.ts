/** A thread of a process that makes or checks keys: takes jobs until none is left and ends. */
import { parentPort, workerData } from "node:worker_threads";
import { runPointRowJobs } from "../src/engine/powers-of-tau/point-row-work.js";
import type { PointRowWork } from "../src/engine/powers-of-tau/point-row-work.js";

runPointRowJobs(workerData as PointRowWork, () => {
  parentPort?.postMessage("done");
});
