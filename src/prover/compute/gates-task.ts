/**
 * Checks a stored key in a process of its own: seconds of work that must not delay proofs. The files are passed
 * by path and hash, so that tens of megabytes do not pass through the server's memory.
 */
import type { GatesInput, PassedGates } from "./compute.js";
import { workerPath } from "../../platform/files/package-root.js";
import type { ProcessTaskLimits, ProcessTaskResult, ProcessTasks } from "../../platform/pool/process-task.js";

export type GatesAnswer = ({ readonly ok: true } & PassedGates) | { readonly ok: false; readonly message: string };

/** Limits for circuits of up to 2^16 constraints: 3 s, and more room than others as it yields to all other work. */
export const GATES_PROCESS_LIMITS: ProcessTaskLimits = {
  deadlineMs: 300_000,
  cpuSeconds: 600,
  memoryBytesMax: 3 * 1024 ** 3,
  answerBytesMax: 64 * 1024 ** 2,
  openFilesMax: 64,
  heapMegabytesMax: 1024,
  niceness: 19,
};

/** Runs all gates on the files; rejects only when the server's own temporary folder fails. */
export async function checkKeyInProcess(
  tasks: ProcessTasks,
  request: GatesInput,
  options: {
    readonly limits?: ProcessTaskLimits;
    readonly signal?: AbortSignal;
    readonly onProgress?: (share: number) => void;
  } = {},
): Promise<ProcessTaskResult<GatesAnswer>> {
  return await tasks.run<GatesInput, GatesAnswer>({
    entry: workerPath("gates.process"),
    request,
    limits: options.limits ?? GATES_PROCESS_LIMITS,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
}
