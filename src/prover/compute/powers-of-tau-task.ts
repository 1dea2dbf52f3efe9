/**
 * Checks a powers-of-tau file in a process of its own, at low priority: seconds to minutes of work on both cores. The
 * file is passed by path, so that gigabytes do not pass through the server's memory.
 */
import type { CheckPowersResult } from "../../engine/powers-of-tau/check-powers.js";
import { workerPath } from "../../platform/files/package-root.js";
import type { ProcessTaskLimits, ProcessTaskResult, ProcessTasks } from "../../platform/pool/process-task.js";

/**
 * A prepared 2^16 takes 3 s of two cores and 0.4 GB, each doubling as much again; 2^23, the largest prepared file that
 * is taken, half an hour and 5 GB.
 */
export const POWERS_OF_TAU_PROCESS_LIMITS: ProcessTaskLimits = {
  deadlineMs: 7_200_000,
  cpuSeconds: 14_400,
  memoryBytesMax: 8 * 1024 ** 3,
  answerBytesMax: 16 * 1024 ** 2,
  heapMegabytesMax: 1024,
  niceness: 19,
};

interface CheckTaskOptions {
  readonly limits?: ProcessTaskLimits;
  readonly signal?: AbortSignal;
  readonly onProgress?: (share: number) => void;
}

/**
 * Runs the whole check on a file that nobody else writes to. Rejects only when the server's own temporary folder fails;
 * a file that must not be used is part of the result.
 */
export async function checkPowersInProcess(
  tasks: ProcessTasks,
  path: string,
  options: CheckTaskOptions = {},
): Promise<ProcessTaskResult<CheckPowersResult>> {
  return await tasks.run<{ path: string }, CheckPowersResult>({
    entry: workerPath("powers-of-tau.process"),
    request: { path },
    limits: options.limits ?? POWERS_OF_TAU_PROCESS_LIMITS,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
}
