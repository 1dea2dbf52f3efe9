/**
 * The four-lane form of kernels in a process that makes one thing and ends. Code that V8 has optimised is a process'
 * own, so that each makes the form anew, on a thread beside what it computes without kernels.
 */
import { Worker } from "node:worker_threads";
import type { CurveName } from "../src/engine/curves/curve-parameters.js";
import { newWideForms, useWideForms } from "../src/engine/kernels/wide/wide-form.js";
import type { WideForm, WideForms } from "../src/engine/kernels/wide/wide-form.js";

export interface FormRequest {
  readonly curve: CurveName;
  /** The kernels that the server runs on four lanes. */
  readonly kernels: readonly string[];
}

/**
 * Makes the form, lets this thread take it and returns it for others. Undefined when it cannot be made: two lanes do
 * the same. Until then this thread may run no kernels in earnest: those of two lanes must not be optimised meanwhile
 * (wide/try-form.ts). What has no vectors may run, as the reference's program.
 */
export async function startWideForm(request: FormRequest): Promise<WideForms | undefined> {
  const form = await new Promise<WideForm | undefined>((resolve) => {
    const thread = new Worker(new URL("../workers/wide-form.worker.js", import.meta.url), { workerData: request });
    thread.once("message", resolve);
    thread.once("error", () => {
      resolve(undefined);
    });
    thread.once("exit", () => {
      resolve(undefined);
    });
  });
  const forms = form === undefined ? undefined : newWideForms([form]);
  useWideForms(forms);
  return forms;
}
