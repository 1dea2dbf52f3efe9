/**
 * Process that makes one key or reference string and ends: the trapdoor dies with it and is never on disk. Started by
 * src/prover/compute/setup-task.ts; its own threads share the group arithmetic.
 */
import { R1csFormatError, readR1csHeader } from "../src/engine/circuit/r1cs.js";
import type { CurveName } from "../src/engine/curves/curve-parameters.js";
import { curveNamed } from "../src/engine/curves/curves.js";
import { runInline } from "../src/engine/groth16/fixed-base-work.js";
import type { FixedBaseExecutor } from "../src/engine/groth16/fixed-base-work.js";
import { runChecked } from "../src/engine/kernels/wide/checked-work.js";
import type { WideForms } from "../src/engine/kernels/wide/wide-form.js";
import { makeDevelopmentString } from "../src/engine/plonk/development-string.js";
import { runProcessEntry } from "../src/engine/process/process-entry.js";
import type { MakeKeyOptions } from "../src/engine/proof-systems/proof-system.js";
import { SETUP_THREADS_MAX } from "../src/engine/proof-systems/memory-needs.js";
import { PROOF_SYSTEMS } from "../src/engine/proof-systems/names.js";
import { openReferenceString, pointCountOf } from "../src/engine/proof-systems/reference-string-file.js";
import type { StructuredReferenceString } from "../src/engine/proof-systems/reference-string.js";
import { proofSystem } from "../src/engine/proof-systems/table.js";
import { loadReferenceKernels } from "../src/engine/reference/reference-kernels.js";
import type { SetupAnswer, SetupMade, SetupRequest, SetupTask } from "../src/prover/compute/setup-task.js";
import { runOnThreads, threadsFor } from "./on-threads.js";
import { rowsOnThreads } from "./row-threads.js";
import { startWideForm } from "./wide-form-thread.js";

/** Some 10,000 wires. */
const JOBS_FOR_THREADS = 16;
/** Those of 24,000 wires. With fewer, making the four-lane form takes longer than it saves. */
const POINTS_FOR_FORM = 120_000;
/** A wire's in A, in B in both groups, and in C or the verifying key; and the rows of H are about as many. */
const POINTS_PER_WIRE = 5;

await runProcessEntry(async ({ wideKernels, ...task }: SetupRequest, report): Promise<SetupAnswer> => {
  const { curve, points } = extentOf(task);
  const isWide = wideKernels !== undefined && points >= POINTS_FOR_FORM;
  const forms = isWide ? startWideForm({ curve, kernels: wideKernels }) : Promise.resolve(undefined);
  let told = 0;
  const options = {
    execute: fixedBaseOnThreads(forms),
    executeRows: rowsOnThreads,
    // What is made again starts again.
    onProgress: (share: number): void => {
      told = Math.max(told, share);
      report(told);
    },
  };
  const made = await runChecked(async () => await make(task, options), hasFailed);
  return { ...made, isWide: (await forms) !== undefined };
});

/** Says how many multiples of generators there are to compute: none where all points come from a string. */
function extentOf(task: SetupTask): { readonly curve: CurveName; readonly points: number } {
  if ("referenceString" in task) {
    const { curve, power } = task.referenceString;
    return { curve, points: 2 * pointCountOf(power) };
  }
  const { curve, setup } = PROOF_SYSTEMS[task.system];
  const isOwn = setup === "own" && task.referenceStrings === undefined;
  return { curve, points: isOwn ? POINTS_PER_WIRE * wiresOf(task.r1cs) : 0 };
}

/** Returns 0 for bytes that are no circuit, which whoever makes the key refuses. */
function wiresOf(r1cs: Uint8Array): number {
  try {
    return readR1csHeader(r1cs).wireCount;
  } catch (error) {
    if (error instanceof R1csFormatError) return 0;
    throw error;
  }
}

/** Multiples of generators on threads, which take the form when there is one. */
function fixedBaseOnThreads(forms: Promise<WideForms | undefined>): FixedBaseExecutor {
  return async (work, onJob) => {
    // Every thread builds its own tables (0.2 s, 40 MB); more threads cost more than they save.
    const threads = threadsFor({
      jobs: work.jobs.length,
      jobsMin: JOBS_FOR_THREADS,
      threadsMax: SETUP_THREADS_MAX,
    });
    const workerData = { work, threads, forms: await forms };
    if (threads === 0) await runInline(work, onJob);
    else await runOnThreads(threads, { entry: "fixed-base.worker", workerData, onJob });
  };
}

async function make(task: SetupTask, options: MakeKeyOptions): Promise<SetupMade> {
  if ("referenceString" in task) {
    const { curve, power } = task.referenceString;
    return await makeDevelopmentString(await loadReferenceKernels(curveNamed(curve)), power, options);
  }
  const { system, r1cs, domainPowerMax, referenceStrings } = task;
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
}

/** A development string that fails its check is an error; a circuit that cannot have a key has failed no gate. */
function hasFailed(made: SetupMade): boolean {
  return !(made instanceof Uint8Array) && !made.ok && made.code === "gate_failed";
}
