/**
 * Checks a stored key in a process of its own: seconds of work that must not delay proofs. The files are passed
 * by path and hash, so that tens of megabytes do not pass through the server's memory.
 */
import type { StoredKeyResult } from "../../engine/proof-systems/proof-system.js";
import type { GatesInput } from "./compute.js";
import { workerPath } from "../../platform/files/package-root.js";
import type { ProcessTaskLimits, ProcessTaskResult, ProcessTasks } from "../../platform/pool/process-task.js";

/** 65,536 constraints take 3 s and 0.6 GB; the rest is room for a busy machine. */
const GATES_PROCESS_LIMITS: ProcessTaskLimits = {
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
  options: { readonly signal?: AbortSignal } = {},
): Promise<ProcessTaskResult<StoredKeyResult>> {
  return await tasks.run<GatesInput, StoredKeyResult>({
    entry: workerPath("gates.process"),
    request,
    limits: GATES_PROCESS_LIMITS,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
}
