/**
 * Process that reads files of a circuit made elsewhere and ends; started by src/prover/compute/import-task.ts. Reads
 * only the files that the request names. Their witness program is started here.
 */
import { runProcessEntry } from "../src/engine/process/process-entry.js";
import { readImport } from "../src/prover/compute/read-import.js";

await runProcessEntry(readImport);
