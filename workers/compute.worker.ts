/** Piscina entry of the compute pools: proving and verification. Holds no vault key, opens no store and no socket. */
import { applyThreadNiceness } from "../src/engine/process/thread-priority.js";
import type { ComputeRequest, TaskResult } from "../src/engine/protocol.js";
import { runComputeTask } from "../src/engine/tasks.js";

applyThreadNiceness();

/** Runs one task of the pool. */
export default async function run(request: ComputeRequest): Promise<TaskResult<unknown>> {
  return await runComputeTask(request);
}
