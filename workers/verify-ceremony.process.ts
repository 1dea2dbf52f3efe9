/**
 * Process that verifies one ceremony and ends; started by src/commands/ceremony/verify-task.ts. Its own threads share
 * the points. Reads only the files that the request names.
 */
import { readFileSync } from "node:fs";
import { readPublishedKeys } from "../src/engine/groth16/ceremony/github-keys.js";
import { readTranscriptDocument } from "../src/engine/groth16/ceremony/transcript-document.js";
import { verifyCeremony } from "../src/engine/groth16/ceremony/verify-ceremony.js";
import type { CeremonyFinding } from "../src/engine/groth16/ceremony/verify-ceremony.js";
import { openRangeFile } from "../src/engine/powers-of-tau/range-file.js";
import { runProcessEntry } from "../src/engine/process/process-entry.js";
import type { VerifyTaskRequest } from "../src/commands/ceremony/verify-task.js";
import { compareOnThreads } from "./key-threads.js";
import { powersOnThreads } from "./powers-threads.js";
import { rowsOnThreads } from "./row-threads.js";

await runProcessEntry(async (request: VerifyTaskRequest): Promise<readonly CeremonyFinding[]> => {
  const { transcript, zkey, initialKey, r1cs, powersOfTau, verifyingKey, githubKeys } = request;
  const open = (path: string | undefined) => (path === undefined ? undefined : openRangeFile(path));
  const powers = open(powersOfTau);
  return await verifyCeremony(
    readTranscriptDocument(readFileSync(transcript, "utf8")),
    {
      ...{ zkey: openRangeFile(zkey), initialKey: open(initialKey), r1cs: open(r1cs), powersOfTau: powers },
      verifyingKey: verifyingKey === undefined ? undefined : readFileSync(verifyingKey, "utf8"),
      githubKeys: new Map(
        githubKeys.map(({ name, path }) => [name.toLowerCase(), readPublishedKeys(readFileSync(path, "utf8"))]),
      ),
    },
    {
      rows: { executeRows: rowsOnThreads },
      ...(initialKey === undefined ? {} : { executeCompare: compareOnThreads({ before: initialKey, after: zkey }) }),
      ...(powersOfTau === undefined || powers === undefined
        ? {}
        : { executePowers: powersOnThreads(powersOfTau, powers) }),
    },
  );
});
