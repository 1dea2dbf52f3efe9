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

/** A Groth16 key of 2^18 constraints takes 3 s and 1 GB; the rest is room for a busy machine. */
export const IMPORT_PROCESS_LIMITS: ProcessTaskLimits = {
  deadlineMs: 300_000,
  cpuSeconds: 120,
  memoryBytesMax: 6 * 1024 ** 3,
  answerBytesMax: 1024 ** 3,
  heapMegabytesMax: 1024,
  niceness: 15,
};

const MIB = 1024 ** 2;
/**
 * A PLONK key of 2^16 gates has 100 MB and takes more than a minute where its string is not at hand: all that takes
 * long are keys, by their length. What loops in the smallest ends with the limits above.
 */
const SECONDS_PER_MIB = 1;
const MORE_SECONDS_MAX = 480;
const WALL_PER_CPU_SECOND = 2.5;

/** Returns the limits of the process for files of so many bytes together. */
export function importLimits(fileBytes: number): ProcessTaskLimits {
  const seconds = Math.min(MORE_SECONDS_MAX, Math.floor((fileBytes / MIB) * SECONDS_PER_MIB));
  return {
    ...IMPORT_PROCESS_LIMITS,
    cpuSeconds: IMPORT_PROCESS_LIMITS.cpuSeconds + seconds,
    deadlineMs: IMPORT_PROCESS_LIMITS.deadlineMs + WALL_PER_CPU_SECOND * seconds * 1000,
  };
}

/** Reads the files; rejects only when the server's own temporary folder fails. */
export async function readImportInProcess(
  tasks: ProcessTasks,
  request: ImportTaskRequest,
  options: {
    readonly signal?: AbortSignal;
    readonly limits?: ProcessTaskLimits;
    readonly onProgress?: (share: number) => void;
  } = {},
): Promise<ProcessTaskResult<ImportTaskAnswer>> {
  return await tasks.run<ImportTaskRequest, ImportTaskAnswer>({
    entry: workerPath("import.process"),
    request,
    limits: options.limits ?? IMPORT_PROCESS_LIMITS,
    isUntrusted: true,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
}
