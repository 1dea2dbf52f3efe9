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
    return { ok: true, sha256: exportZkey(request.exported) };
  } catch (error) {
    if (error instanceof RangeError) return { ok: false, code: "circuit_too_large", message: error.message };
    if (isFull(error)) return { ok: false, code: "storage_full", message: "the disk is full" };
    throw error;
  }
});

function isFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}
