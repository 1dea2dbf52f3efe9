/** A thread that makes the four-lane form of a curve's kernels, and ends. */
import { parentPort, workerData } from "node:worker_threads";
import { curveNamed } from "../src/engine/curves/curves.js";
import { randomNonZero } from "../src/engine/field/bytes.js";
import { makeWideForm } from "../src/engine/kernels/wide/try-form.js";
import type { FormRequest } from "./wide-form-thread.js";

const { curve, kernels } = workerData as FormRequest;
const random = (limit: bigint): bigint => randomNonZero(limit + 1n) - 1n;
parentPort?.postMessage(makeWideForm({ curve: curveNamed(curve), kernels }, { random, now: () => performance.now() }));
