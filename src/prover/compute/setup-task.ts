/**
 * Makes a key, or a reference string for development, in a process of its own that ends afterwards, so that the
 * trapdoor cannot outlive it. Only faults of the server are failures; an unsuitable circuit is part of the result.
 */
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

/** What the process is asked for. */
export type SetupRequest = SetupInput | { readonly referenceString: ReferenceStringInput };

/**
 * Runs the setup, and the gates that belong to it, on the bytes of an R1CS file. Rejects only when the server's own
 * temporary folder fails.
 */
export async function setupInProcess(
  tasks: ProcessTasks,
  input: SetupInput,
  options: SetupTaskOptions = {},
): Promise<ProcessTaskResult<MakeKeyResult>> {
  return await run<MakeKeyResult>(tasks, input, options);
}

/** Makes the file of a reference string; rejects as `setupInProcess`. */
export async function makeReferenceStringInProcess(
  tasks: ProcessTasks,
  referenceString: ReferenceStringInput,
  options: SetupTaskOptions = {},
): Promise<ProcessTaskResult<Uint8Array>> {
  return await run<Uint8Array>(tasks, { referenceString }, options);
}

async function run<Answer>(
  tasks: ProcessTasks,
  request: SetupRequest,
  options: SetupTaskOptions,
): Promise<ProcessTaskResult<Answer>> {
  return await tasks.run<SetupRequest, Answer>({
    entry: workerPath("setup.process"),
    request,
    limits: options.limits ?? SETUP_PROCESS_LIMITS,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
}
