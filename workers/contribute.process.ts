/**
 * Process that makes one contribution and ends: its secret dies with it and is never on disk. Started by
 * src/commands/ceremony/; its own threads share the points.
 */
import { readFileSync } from "node:fs";
import { CeremonyError } from "../src/engine/groth16/ceremony/ceremony-fault.js";
import { contributeToKey } from "../src/engine/groth16/ceremony/contribute-to-key.js";
import { openRangeFile, openWrittenFile } from "../src/engine/powers-of-tau/range-file.js";
import { runProcessEntry } from "../src/engine/process/process-entry.js";
import type { ContributeAnswer, ContributeTaskRequest } from "../src/commands/ceremony/contribute-task.js";
import { scaleOnThreads } from "./key-threads.js";

await runProcessEntry(
  async ({ from, to, name, entropyFile }: ContributeTaskRequest, report): Promise<ContributeAnswer> => {
    try {
      const target = openWrittenFile(to, { isNew: true });
      const record = await contributeToKey(
        { source: openRangeFile(from), target },
        { name, entropy: entropyFile === undefined ? undefined : readFileSync(entropyFile) },
        { execute: scaleOnThreads({ from, to }), onProgress: report },
      );
      target.sync();
      return { ok: true, record };
    } catch (error) {
      if (error instanceof CeremonyError) return { ok: false, message: error.message };
      throw error;
    }
  },
);
