/** A worker of the page: multiplies points until no job is left. */
import { runScaleJobs } from "../../../engine/groth16/ceremony/scale-jobs.js";
import type { ScaleWork } from "../../../engine/groth16/ceremony/scale-jobs.js";
import { browser } from "./browser-scope.js";
import { SharedTarget, rangeOfShared } from "./shared-key.js";

/** What the worker is started with. */
export interface PointsRequest {
  readonly work: ScaleWork;
  readonly before: SharedArrayBuffer;
  /** Of the key in `before`. */
  readonly bytes: number;
  readonly after: SharedArrayBuffer;
}

browser.onmessage = ({ data }) => {
  const { work, before, bytes, after } = data as PointsRequest;
  const files = { source: rangeOfShared(before, bytes), target: new SharedTarget(after) };
  runScaleJobs(files, work, () => {
    browser.postMessage("job");
  });
  browser.postMessage("end");
};
