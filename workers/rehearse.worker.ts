/** A thread that rehearses the first proof of a key, and ends. It runs code of tenants, and is ended at any time. */
import { getEnvironmentData, parentPort, workerData } from "node:worker_threads";
import { WIDE_FORMS_KEY, useWideForms } from "../src/engine/kernels/wide/wide-form.js";
import type { WideForms } from "../src/engine/kernels/wide/wide-form.js";
import { applyThreadNiceness } from "../src/engine/process/thread-priority.js";
import type { RehearsalRequest } from "../src/engine/rehearsal-request.js";
import { rehearse } from "../src/engine/rehearsal.js";

applyThreadNiceness();
useWideForms(getEnvironmentData(WIDE_FORMS_KEY) as WideForms | undefined);
rehearse((workerData as { readonly request: RehearsalRequest }).request, () => {
  parentPort?.postMessage("program");
});
