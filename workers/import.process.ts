/**
 * Process that reads files of a circuit made elsewhere and ends; started by src/prover/compute/import-task.ts. Reads
 * only the files that the request names. Their witness program is started here.
 */
import { runProcessEntry } from "../src/engine/process/process-entry.js";
import type { ImportTaskAnswer, ImportTaskRequest } from "../src/prover/compute/import-task.js";
import { readImport } from "../src/prover/compute/read-import.js";
import { rowsOnThreads } from "./row-threads.js";

await runProcessEntry(
  async (request: ImportTaskRequest, onProgress): Promise<ImportTaskAnswer> =>
    await readImport(request, { onProgress, executeRows: rowsOnThreads }),
);
