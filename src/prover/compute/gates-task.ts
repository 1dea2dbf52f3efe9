/**
 * Checks a stored Groth16 key in a process of its own: seconds of work that must hold up no proof. The files go by name
 * and hash, so that tens of megabytes need not pass through the server's memory.
 */
import type { HonestExample, StoredKeyResult } from "../../engine/groth16/stored-key.js";
import { workerPath } from "../../platform/files/package-root.js";
import type { ProcessTaskLimits, ProcessTaskResult, ProcessTasks } from "../../platform/pool/process-task.js";

/** A file that must have this content, or the check fails. */
export interface NamedFile {
  /** Absolute. */
  readonly path: string;
  /** Lower-case hex. */
  readonly sha256: string;
}

export interface GatesRequest {
  readonly r1cs: NamedFile;
  readonly provingKey: NamedFile;
  readonly verifyingKey: NamedFile;
  readonly example?: Omit<HonestExample, "witnessProgram"> & { readonly witnessProgram: NamedFile };
}

export type GatesAnswer = StoredKeyResult;

/** 65,536 constraints take 3 s and 0.6 GB; the rest is room for a busy machine. */
export const GATES_PROCESS_LIMITS: ProcessTaskLimits = {
  deadlineMs: 300_000,
  cpuSeconds: 600,
  memoryBytesMax: 3 * 1024 ** 3,
  answerBytesMax: 64 * 1024 ** 2,
  openFilesMax: 64,
  heapMegabytesMax: 1024,
  niceness: 19,
};

export interface GatesTaskOptions {
  readonly limits?: ProcessTaskLimits;
  readonly signal?: AbortSignal;
}

/** Runs all gates on the files; rejects only when the server's own temporary folder fails. */
export async function checkKeyInProcess(
  tasks: ProcessTasks,
  request: GatesRequest,
  options: GatesTaskOptions = {},
): Promise<ProcessTaskResult<GatesAnswer>> {
  return await tasks.run<GatesRequest, GatesAnswer>({
    entry: workerPath("gates.process"),
    request,
    limits: options.limits ?? GATES_PROCESS_LIMITS,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
}
