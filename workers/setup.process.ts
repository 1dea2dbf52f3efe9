/**
 * Process that makes one key or reference string and ends: the trapdoor dies with it and is never on disk. Started by
 * src/prover/compute/setup-task.ts; its own threads share the group arithmetic.
 */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
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
import { rowsOnThreads } from "./row-threads.js";

/** With fewer jobs (some 10,000 wires) starting threads takes longer than the work. */
const JOBS_FOR_THREADS = 16;

const runOnThreads: FixedBaseExecutor = async (work, onJob) => {
  // Every thread builds its own tables (0.2 s, 40 MB); more threads cost more than they save.
  const threads = Math.min(availableParallelism(), SETUP_THREADS_MAX);
  if (threads < 2 || work.jobs.length < JOBS_FOR_THREADS) {
    await runInline(work, onJob);
    return;
  }
  await Promise.all(
    Array.from(
      { length: threads },
      () =>
        new Promise<void>((resolve, reject) => {
          const worker = new Worker(new URL("./fixed-base.worker.js", import.meta.url), {
            workerData: { work, threads },
          });
          worker.on("message", onJob);
          worker.once("error", reject);
          worker.once("exit", (code) => {
            if (code === 0) resolve();
            else reject(new Error(`a setup thread ended with code ${String(code)}`));
          });
        }),
    ),
  );
};

await runProcessEntry(async (request: SetupRequest, report): Promise<MakeKeyResult | Uint8Array> => {
  const options = { execute: runOnThreads, executeRows: rowsOnThreads, onProgress: report };
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
