/** Makes a contribution in a process of its own, which ends with the secret in it. */
import { statSync } from "node:fs";
import type { ContributionRecord } from "../../engine/groth16/ceremony/contribution-record.js";
import { workerPath } from "../../platform/files/package-root.js";
import { ProcessTasks, type ProcessTaskLimits } from "../../platform/pool/process-task.js";
import { StartError } from "../../platform/start-error.js";

/** What the process is asked for; the files are named, not sent. */
export interface ContributeTaskRequest {
  readonly from: string;
  /** A path at which nothing is yet. */
  readonly to: string;
  readonly name: string | undefined;
  /** Whose bytes are mixed into the secret. */
  readonly entropyFile: string | undefined;
}

export type ContributeAnswer =
  { readonly ok: true; readonly record: ContributionRecord } | { readonly ok: false; readonly message: string };

const MIB = 1024 ** 2;
/** A key of 2^16 constraints takes some seconds; the largest ones minutes. The machine is the contributor's own. */
const LIMITS: ProcessTaskLimits = {
  deadlineMs: 6 * 3_600_000,
  cpuSeconds: 24 * 3_600,
  memoryBytesMax: 2 * 1024 * MIB,
  answerBytesMax: MIB,
  heapMegabytesMax: 512,
  niceness: 0,
};

/**
 * Contributes to the key in one file and writes the new one to another.
 * @throws StartError when the key is none, or the process ends without a contribution
 */
export async function contributeInProcess(
  request: ContributeTaskRequest,
  onProgress: (share: number) => void,
): Promise<ContributionRecord> {
  // The kernel's limit on written files is that of the answer, and the new key is written by the process.
  const limits = { ...LIMITS, answerBytesMax: statSync(request.from).size + 2 * MIB };
  const result = await new ProcessTasks().run<ContributeTaskRequest, ContributeAnswer>({
    ...{ entry: workerPath("contribute.process"), request, limits, onProgress },
  });
  if (!result.ok) throw new StartError(`no contribution was made: ${result.message}. ${result.stderr ?? ""}`);
  if (!result.value.ok) throw new StartError(`no contribution was made: ${result.value.message}.`);
  return result.value.record;
}
