/**
 * Process of one step of a ceremony: the first key, the check of a contribution, or the beacon. Started by
 * src/prover/compute/ceremony-task.ts; reads only the files that the request names. Its own threads share the sums.
 */
import { runProcessEntry } from "../src/engine/process/process-entry.js";
import type { CeremonyTaskAnswers, CeremonyTaskRequest } from "../src/prover/compute/ceremony-task.js";
import { runCeremony } from "../src/prover/compute/run-ceremony.js";
import { compareOnThreads, scaleOnThreads } from "./key-threads.js";
import { rowsOnThreads } from "./row-threads.js";

await runProcessEntry(
  async (request: CeremonyTaskRequest, report): Promise<CeremonyTaskAnswers[keyof CeremonyTaskAnswers]> =>
    await runCeremony(request, {
      ...{ onProgress: report, executeRows: rowsOnThreads, executeCompare: compareOnThreads },
      // The task's own folder, which goes with the task.
      ...{ executeScale: scaleOnThreads, folder: process.cwd() },
    }),
);
