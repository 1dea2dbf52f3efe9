/**
 * Checks a stored key in a process of its own: seconds of work that must not delay proofs. The files are passed
 * by path and hash, so that tens of megabytes do not pass through the server's memory.
 */
import type { StoredKeyResult } from "../../engine/proof-systems/proof-system.js";
import type { ExportInput, GatesInput } from "./compute.js";
import { workerPath } from "../../platform/files/package-root.js";
import type { ProcessTaskLimits, ProcessTaskResult, ProcessTasks } from "../../platform/pool/process-task.js";

export type ExportAnswer =
  | { readonly ok: true; readonly sha256: string }
  | { readonly ok: false; readonly code: "circuit_too_large" | "storage_full"; readonly message: string };

/** What the process is asked for. */
export type GatesRequest = GatesInput | { readonly exported: ExportInput };

/** Limits for circuits of up to 2^16 constraints: 3 s, and more room than others as it yields to all other work. */
export const GATES_PROCESS_LIMITS: ProcessTaskLimits = {
  deadlineMs: 300_000,
  cpuSeconds: 600,
  memoryBytesMax: 3 * 1024 ** 3,
  answerBytesMax: 64 * 1024 ** 2,
  heapMegabytesMax: 1024,
  niceness: 19,
};

/** The file is written like an answer: by the limit on answers the kernel bounds it as well. */
export const EXPORT_PROCESS_LIMITS: ProcessTaskLimits = { ...GATES_PROCESS_LIMITS, answerBytesMax: 1024 ** 3 };

/** Runs all gates on the files; rejects only when the server's own temporary folder fails. */
export async function checkKeyInProcess(
  tasks: ProcessTasks,
  request: GatesInput,
  options: {
    readonly limits?: ProcessTaskLimits;
    readonly signal?: AbortSignal;
    readonly onProgress?: (share: number) => void;
  } = {},
): Promise<ProcessTaskResult<StoredKeyResult>> {
  return await tasks.run<GatesRequest, StoredKeyResult>({
    entry: workerPath("gates.process"),
    request,
    limits: options.limits ?? GATES_PROCESS_LIMITS,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
}

/** Writes snarkjs' file of a key that is stored in another form; rejects as `checkKeyInProcess`. */
export async function exportZkeyInProcess(
  tasks: ProcessTasks,
  exported: ExportInput,
  options: { readonly limits?: ProcessTaskLimits; readonly signal?: AbortSignal } = {},
): Promise<ProcessTaskResult<ExportAnswer>> {
  return await tasks.run<GatesRequest, ExportAnswer>({
    entry: workerPath("gates.process"),
    request: { exported },
    limits: options.limits ?? EXPORT_PROCESS_LIMITS,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
}
