/**
 * Process that makes one key or reference string and ends: the trapdoor dies with it and is never on disk. Started by
 * src/prover/compute/setup-task.ts; its own threads share the group arithmetic.
 */
import { curveNamed } from "../src/engine/curves/curves.js";
import { runInline } from "../src/engine/groth16/fixed-base-work.js";
import type { FixedBaseExecutor } from "../src/engine/groth16/fixed-base-work.js";
import { makeDevelopmentString } from "../src/engine/plonk/development-string.js";
import { runProcessEntry } from "../src/engine/process/process-entry.js";
import type { MakeKeyResult } from "../src/engine/proof-systems/proof-system.js";
import { SETUP_THREADS_MAX } from "../src/engine/proof-systems/memory-needs.js";
import { openReferenceString } from "../src/engine/proof-systems/reference-string-file.js";
import type { StructuredReferenceString } from "../src/engine/proof-systems/reference-string.js";
import { proofSystem } from "../src/engine/proof-systems/table.js";
import { loadReferenceKernels } from "../src/engine/reference/reference-kernels.js";
import type { SetupRequest } from "../src/prover/compute/setup-task.js";
import { runOnThreads, threadsFor } from "./on-threads.js";
import { rowsOnThreads } from "./row-threads.js";

/** Some 10,000 wires. */
const JOBS_FOR_THREADS = 16;

const fixedBaseOnThreads: FixedBaseExecutor = async (work, onJob) => {
  // Every thread builds its own tables (0.2 s, 40 MB); more threads cost more than they save.
  const threads = threadsFor({
    jobs: work.jobs.length,
    jobsMin: JOBS_FOR_THREADS,
    threadsMax: SETUP_THREADS_MAX,
  });
  if (threads === 0) await runInline(work, onJob);
  else await runOnThreads(threads, { entry: "fixed-base.worker", workerData: { work, threads }, onJob });
};

await runProcessEntry(async (request: SetupRequest, report): Promise<MakeKeyResult | Uint8Array> => {
  const options = { execute: fixedBaseOnThreads, executeRows: rowsOnThreads, onProgress: report };
  if ("referenceString" in request) {
    const { curve, power } = request.referenceString;
    return await makeDevelopmentString(await loadReferenceKernels(curveNamed(curve)), power, options);
  }
  const { system, r1cs, domainPowerMax, referenceStrings } = request;
  const known = proofSystem(system);
  const referenceString = (power: number): StructuredReferenceString | undefined => {
    const file = referenceStrings?.find((each) => each.power >= power);
    return file === undefined ? undefined : openReferenceString(file, known.curve);
  };
  // Without a list of strings, a system that does without one makes keys of its own.
  return await known.makeKey(r1cs, {
    ...options,
    ...(domainPowerMax === undefined ? {} : { domainPowerMax }),
    ...(referenceStrings === undefined ? {} : { referenceString }),
  });
});
