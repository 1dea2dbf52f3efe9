/**
 * Process that checks one powers-of-tau file and ends; started by src/prover/compute/powers-of-tau-task.ts. Its own
 * threads share the points. Reads only the file that the request names.
 */
import { loadPairing } from "../src/engine/groth16/pairing-backend.js";
import { checkPowersOfTau } from "../src/engine/powers-of-tau/check-powers.js";
import type { CheckPowersResult } from "../src/engine/powers-of-tau/check-powers.js";
import { openRangeFile } from "../src/engine/powers-of-tau/range-file.js";
import { runProcessEntry } from "../src/engine/process/process-entry.js";
import { powersOnThreads } from "./powers-threads.js";

await runProcessEntry(async ({ path }: { readonly path: string }, report): Promise<CheckPowersResult> => {
  const file = openRangeFile(path);
  const pairing = await loadPairing("wasm");
  return await checkPowersOfTau(file, pairing, { execute: powersOnThreads(path, file), onProgress: report });
});
