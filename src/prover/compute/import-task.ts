/**
 * Reads a circuit and a key that were made elsewhere, in a process of its own: the files are of any form, up to
 * gigabytes, and the witness program may loop. They are passed by path and hash.
 */
import type { ImportLimits, ImportProblem } from "../../engine/circuit/imported-circuit.js";
import { workerPath } from "../../platform/files/package-root.js";
import type { ProcessTaskLimits, ProcessTaskResult, ProcessTasks } from "../../platform/pool/process-task.js";
import type { ImportedParts, ImportInput } from "./compute.js";

export interface ImportTaskRequest extends ImportInput {
  readonly limits: ImportLimits;
  /** Bytes that the files which stay in memory for proofs may have together. No limit unless given. */
  readonly residentBytesMax?: number;
}

export type ImportTaskAnswer = { readonly ok: true; readonly value: ImportedParts } | ImportProblem;

/**
 * A Groth16 key of 2^18 constraints takes 3 s and 1 GB, a PLONK key of 2^14 gates half a minute where its string is not
 * at hand; the rest is room for a busy machine.
 */
export const IMPORT_PROCESS_LIMITS: ProcessTaskLimits = {
  deadlineMs: 300_000,
  cpuSeconds: 120,
  memoryBytesMax: 6 * 1024 ** 3,
  answerBytesMax: 1024 ** 3,
  openFilesMax: 64,
  heapMegabytesMax: 1024,
  niceness: 15,
};

/** Reads the files; rejects only when the server's own temporary folder fails. */
export async function readImportInProcess(
  tasks: ProcessTasks,
  request: ImportTaskRequest,
  options: { readonly signal?: AbortSignal; readonly limits?: ProcessTaskLimits } = {},
): Promise<ProcessTaskResult<ImportTaskAnswer>> {
  return await tasks.run<ImportTaskRequest, ImportTaskAnswer>({
    entry: workerPath("import.process"),
    request,
    limits: options.limits ?? IMPORT_PROCESS_LIMITS,
    isUntrusted: true,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
}
