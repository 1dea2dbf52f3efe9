/** Piscina entry of the compute pools: proving and verification. Holds no vault key, opens no store and no socket. */
import { getEnvironmentData } from "node:worker_threads";
import { ROUTINE_STATE_KEY, useRoutineState } from "../src/engine/circuit/routines/routine-use.js";
import type { RoutineState } from "../src/engine/circuit/routines/routine-use.js";
import { WIDE_FORMS_KEY, useWideForms } from "../src/engine/kernels/wide/wide-form.js";
import type { WideForms } from "../src/engine/kernels/wide/wide-form.js";
import { applyThreadNiceness } from "../src/engine/process/thread-priority.js";
import type { ComputeRequest, TaskResult } from "../src/engine/protocol.js";
import { runComputeTask } from "../src/engine/tasks.js";

applyThreadNiceness();
useRoutineState(getEnvironmentData(ROUTINE_STATE_KEY) as RoutineState | undefined);
useWideForms(getEnvironmentData(WIDE_FORMS_KEY) as WideForms | undefined);

/** Runs one task of the pool. */
export default async function run(request: ComputeRequest): Promise<TaskResult<unknown>> {
  return await runComputeTask(request);
}
