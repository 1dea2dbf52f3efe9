/** Verifies a ceremony in a process of its own, on all cores: seconds, or minutes for a large powers-of-tau file. */
import type { CeremonyFinding } from "../../engine/groth16/ceremony/verify-ceremony.js";
import { workerPath } from "../../platform/files/package-root.js";
import { ProcessTasks, type ProcessTaskLimits } from "../../platform/pool/process-task.js";
import { StartError } from "../../platform/start-error.js";

/** What the process is asked for: absolute paths. */
export interface VerifyTaskRequest {
  readonly transcript: string;
  readonly zkey: string;
  readonly initialKey: string | undefined;
  readonly r1cs: string | undefined;
  readonly powersOfTau: string | undefined;
  readonly verifyingKey: string | undefined;
  /** Files with the keys that GitHub publishes for a name. */
  readonly githubKeys: readonly { readonly name: string; readonly path: string }[];
}

const MIB = 1024 ** 2;
/** The machine is the verifier's own; what the largest files take is a few gigabytes. */
const LIMITS: ProcessTaskLimits = {
  deadlineMs: 24 * 3_600_000,
  cpuSeconds: 96 * 3_600,
  memoryBytesMax: 16 * 1024 * MIB,
  answerBytesMax: MIB,
  heapMegabytesMax: 4096,
  niceness: 0,
};

/**
 * Makes all checks.
 * @throws StartError when the process ends without an answer
 */
export async function verifyInProcess(request: VerifyTaskRequest): Promise<readonly CeremonyFinding[]> {
  const result = await new ProcessTasks().run<VerifyTaskRequest, readonly CeremonyFinding[]>({
    ...{ entry: workerPath("verify-ceremony.process"), request, limits: LIMITS },
  });
  if (!result.ok) throw new StartError(`the ceremony was not verified: ${result.message}. ${result.stderr ?? ""}`);
  return result.value;
}
