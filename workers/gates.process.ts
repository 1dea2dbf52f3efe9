/**
 * Process that checks one stored key, or writes it in another form, and ends; started by
 * src/prover/compute/gates-task.ts. Reads only the files that the request names.
 */
import { runProcessEntry } from "../src/engine/process/process-entry.js";
import { checkGates, exportZkey } from "../src/prover/compute/check-gates.js";
import type { StoredKeyResult } from "../src/engine/proof-systems/proof-system.js";
import type { ExportAnswer, GatesRequest } from "../src/prover/compute/gates-task.js";
import { rowsOnThreads } from "./row-threads.js";

await runProcessEntry(async (request: GatesRequest, onProgress): Promise<StoredKeyResult | ExportAnswer> => {
  if (!("exported" in request)) return await checkGates(request, { onProgress, executeRows: rowsOnThreads });
  try {
    return { ok: true, value: exportZkey(request.exported) };
  } catch (error) {
    if (error instanceof RangeError) return { ok: false, message: error.message };
    throw error;
  }
});
