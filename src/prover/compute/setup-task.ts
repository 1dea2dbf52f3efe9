/**
 * Makes a key, or a reference string for development, in a process of its own that ends afterwards, so that the
 * trapdoor cannot outlive it. Only faults of the server are failures; an unsuitable circuit is part of the result.
 */
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import { discardWideForms, isWideOn, wideFormOf } from "../../engine/kernels/wide/wide-form.js";
import { PROOF_SYSTEMS } from "../../engine/proof-systems/names.js";
import type { MakeKeyResult } from "../../engine/proof-systems/proof-system.js";
import { workerPath } from "../../platform/files/package-root.js";
import type { ReferenceStringInput, SetupInput } from "./compute.js";
import type { ProcessTaskLimits, ProcessTaskResult, ProcessTasks } from "../../platform/pool/process-task.js";

/** Limits for circuits of up to 2^16 constraints, which take a hundredth of the time on a machine that is not busy. */
export const SETUP_PROCESS_LIMITS: ProcessTaskLimits = {
  deadlineMs: 600_000,
  cpuSeconds: 1_200,
  memoryBytesMax: 3 * 1024 ** 3,
  answerBytesMax: 1024 ** 3,
  heapMegabytesMax: 1024,
  niceness: 15,
};

/** Constraints for which the limits above are made. */
const ORDINARY_POWER = 16;
const MIB = 1024 ** 2;
/**
 * What a process takes beside the points differs by Node's version and by threads, and is most of what a small circuit
 * takes. The limit is there to end what runs away, and not to hold the process to what was told.
 */
const MEMORY_SPARE = 1024 * MIB;

/** Returns the limits of a process whose memory is known beforehand; a large domain has more time as well. */
export function limitsFor(
  limits: ProcessTaskLimits,
  {
    bytes,
    domainPower,
    answerBytes,
  }: { readonly bytes: number; readonly domainPower: number; readonly answerBytes: number },
): ProcessTaskLimits {
  const times = 2 ** Math.max(0, domainPower - ORDINARY_POWER);
  return {
    ...limits,
    deadlineMs: limits.deadlineMs * times,
    cpuSeconds: limits.cpuSeconds * times,
    memoryBytesMax: bytes + MEMORY_SPARE,
    answerBytesMax: Math.max(limits.answerBytesMax, answerBytes + MIB),
    heapMegabytesMax: Math.max(limits.heapMegabytesMax, Math.floor(bytes / 4 / MIB)),
  };
}

interface SetupTaskOptions {
  readonly limits?: ProcessTaskLimits;
  readonly signal?: AbortSignal;
  readonly onProgress?: (share: number) => void;
}

/** What is to be made. */
export type SetupTask = SetupInput | { readonly referenceString: ReferenceStringInput };

/** What the process is asked for. */
export type SetupRequest = SetupTask & {
  /** The kernels of the curve that this server runs on four lanes; the process may do so too. */
  readonly wideKernels?: readonly string[];
};

/** A key, or the file of a reference string. */
export type SetupMade = MakeKeyResult | Uint8Array;

/** What the process answers. */
export interface SetupAnswer<Made extends SetupMade = SetupMade> {
  readonly result: Made;
  /** Whether the process has the four-lane form of kernels. */
  readonly isWide: boolean;
  /** It was made on four lanes first and failed its check; on two it does not. */
  readonly isWideWrong: boolean;
}

/**
 * Runs the setup, and the gates that belong to it, on the bytes of an R1CS file. Rejects only when the server's own
 * temporary folder fails. A key that was wrong on four lanes ends the form for this process.
 */
export async function setupInProcess(
  tasks: ProcessTasks,
  input: SetupInput,
  options: SetupTaskOptions = {},
): Promise<ProcessTaskResult<MakeKeyResult>> {
  return await run<MakeKeyResult>(tasks, { task: input, curve: PROOF_SYSTEMS[input.system].curve }, options);
}

/** Makes the file of a reference string; rejects as `setupInProcess`. */
export async function makeReferenceStringInProcess(
  tasks: ProcessTasks,
  referenceString: ReferenceStringInput,
  options: SetupTaskOptions = {},
): Promise<ProcessTaskResult<Uint8Array>> {
  return await run<Uint8Array>(tasks, { task: { referenceString }, curve: referenceString.curve }, options);
}

async function run<Made extends SetupMade>(
  tasks: ProcessTasks,
  { task, curve }: { readonly task: SetupTask; readonly curve: CurveName },
  options: SetupTaskOptions,
): Promise<ProcessTaskResult<Made>> {
  const { limits = SETUP_PROCESS_LIMITS, ...rest } = options;
  const runOne = async (request: SetupRequest): Promise<ProcessTaskResult<SetupAnswer<Made>>> =>
    await tasks.run({ entry: workerPath("setup.process"), request, limits, ...rest });
  const wideKernels = isWideOn() ? wideFormOf(curve, "kernels")?.kernels : undefined;
  let outcome = await runOne(wideKernels === undefined ? task : { ...task, wideKernels });
  // V8 ends a process whose instructions it cannot pair.
  if (!outcome.ok && outcome.code === "crashed" && wideKernels !== undefined) outcome = await runOne(task);
  if (!outcome.ok) return outcome;
  const { result, isWideWrong } = outcome.value;
  if (isWideWrong) discardWideForms();
  return { ok: true, value: result };
}
