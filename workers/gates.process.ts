/**
 * Process that checks one stored key and ends; started by src/prover/compute/gates-task.ts. Reads only the files that
 * the request names.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { runProcessEntry } from "../src/engine/process/process-entry.js";
import { openReferenceString } from "../src/engine/proof-systems/reference-string-file.js";
import type { StoredKeyResult } from "../src/engine/proof-systems/proof-system.js";
import { proofSystem } from "../src/engine/proof-systems/table.js";
import type { GatesInput, StoredFile } from "../src/prover/compute/compute.js";

function read({ path, sha256 }: StoredFile): Buffer {
  const bytes = readFileSync(path);
  if (createHash("sha256").update(bytes).digest("hex") !== sha256)
    throw new Error("a file does not have the content that its hash says");
  return bytes;
}

await runProcessEntry(
  async ({ system, r1cs, provingKey, verifyingKey, referenceString, example }: GatesInput): Promise<StoredKeyResult> =>
    await proofSystem(system).checkKey({
      r1cs: read(r1cs),
      provingKey: read(provingKey),
      verifyingKey: read(verifyingKey).toString("utf8"),
      // The server has checked the file against its hash; of a large one, few ranges are read.
      ...(referenceString === undefined
        ? {}
        : { referenceString: openReferenceString(referenceString, proofSystem(system).curve) }),
      ...(example === undefined
        ? {}
        : {
            example: { circuit: example.circuit, witnessProgram: read(example.witnessProgram), inputs: example.inputs },
          }),
    }),
);
