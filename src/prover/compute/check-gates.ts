/** What the process of the gates does (workers/gates.process.ts): from a stored key to whether it may be used. */
import { createHash } from "node:crypto";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import type { PointRowExecutor } from "../../engine/powers-of-tau/point-row-work.js";
import type { StoredKeyResult } from "../../engine/proof-systems/proof-system.js";
import { openReferenceString } from "../../engine/proof-systems/reference-string-file.js";
import { proofSystem } from "../../engine/proof-systems/table.js";
import type { ExportInput, GatesInput, StoredFile } from "./compute.js";

/**
 * Runs all gates on the files.
 * @param options.onProgress called with the share of the gates that is done, 0 to 1
 * @param options.executeRows how sums of a string's points are computed; inline by default
 */
export async function checkGates(
  input: GatesInput,
  {
    onProgress,
    executeRows,
  }: { readonly onProgress?: (share: number) => void; readonly executeRows?: PointRowExecutor } = {},
): Promise<StoredKeyResult> {
  const { system, r1cs, provingKey, verifyingKey, referenceString, isImported, example } = input;
  const known = proofSystem(system);
  return await known.checkKey({
    ...(onProgress === undefined ? {} : { onProgress }),
    r1cs: read(r1cs),
    provingKey: read(provingKey),
    verifyingKey: read(verifyingKey).toString("utf8"),
    ...(executeRows === undefined ? {} : { executeRows }),
    // The server has checked the string's file against its hash; of a large one, few ranges are read.
    ...(referenceString === undefined ? {} : { referenceString: openReferenceString(referenceString, known.curve) }),
    ...(isImported === undefined ? {} : { isImported }),
    ...(example === undefined ? {} : { example: { ...example, witnessProgram: read(example.witnessProgram) } }),
  });
}

/**
 * Writes snarkjs' file of a proving key that is stored in another form, piece by piece, and returns its SHA-256.
 * @throws RangeError when the key does not fit into a memory; what the file system throws, and the file stays
 */
export function exportZkey({ system, provingKey, target }: ExportInput): string {
  const known = proofSystem(system);
  if (known.exportZkey === undefined) throw new Error("the key is stored as snarkjs' file");
  const hash = createHash("sha256");
  const file = openSync(target, "wx", 0o600);
  try {
    for (const piece of known.exportZkey(read(provingKey))) {
      hash.update(piece);
      for (let written = 0; written < piece.length;) written += writeSync(file, piece, written);
    }
  } finally {
    closeSync(file);
  }
  return hash.digest("hex");
}

function read({ path, sha256 }: StoredFile): Buffer {
  const bytes = readFileSync(path);
  if (createHash("sha256").update(bytes).digest("hex") !== sha256)
    throw new Error("a file does not have the content that its hash says");
  return bytes;
}
