/**
 * Process that tries the four-lane forms of the kernels on a version of Node that nobody has tried it with: it answers
 * why the form cannot be used, if so, or V8 ends it over code that it cannot pair. Started by
 * src/app/kernel-form.ts.
 */
import { randomNonZero } from "../src/engine/field/bytes.js";
import { WIDE_CURVES, chosenOf } from "../src/engine/kernels/wide/choose-form.js";
import type { TrialAnswer } from "../src/engine/kernels/wide/choose-form.js";
import { tryWideForms } from "../src/engine/kernels/wide/try-form.js";
import { runProcessEntry } from "../src/engine/process/process-entry.js";

await runProcessEntry((): Promise<TrialAnswer> => {
  const random = (limit: bigint): bigint => randomNonZero(limit + 1n) - 1n;
  const { forms, reason } = chosenOf(tryWideForms({ curves: WIDE_CURVES, random, now: () => performance.now() }));
  return Promise.resolve({ failure: forms === undefined ? reason : undefined });
});
