/** What the process of the gates does (workers/gates.process.ts): from a stored key to whether it may be used. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readPhase1Powers } from "../../engine/powers-of-tau/phase1-powers.js";
import { rangeOfPath } from "../../engine/powers-of-tau/range-file.js";
import { PROOF_SYSTEMS } from "../../engine/proof-systems/names.js";
import type { StoredKey, StoredKeyResult } from "../../engine/proof-systems/proof-system.js";
import { openReferenceString } from "../../engine/proof-systems/reference-string-file.js";
import { proofSystem } from "../../engine/proof-systems/table.js";
import type { ExportInput, GatesInput, StoredFile } from "./compute.js";

/**
 * Runs all gates on the files.
 * @param options.onProgress called with the share of the gates that is done, 0 to 1
 */
export async function checkGates(
  input: GatesInput,
  { onProgress }: { readonly onProgress?: (share: number) => void } = {},
): Promise<StoredKeyResult> {
  const { system, r1cs, provingKey, verifyingKey, isImported, example } = input;
  return await proofSystem(system).checkKey({
    ...(onProgress === undefined ? {} : { onProgress }),
    r1cs: read(r1cs),
    provingKey: read(provingKey),
    verifyingKey: read(verifyingKey).toString("utf8"),
    ...stringOf(input),
    ...(isImported === undefined ? {} : { isImported }),
    ...(example === undefined ? {} : { example: { ...example, witnessProgram: read(example.witnessProgram) } }),
  });
}

/**
 * Returns snarkjs' file of a proving key that is stored in another form.
 * @throws RangeError when it would be too long
 */
export function exportZkey({ system, provingKey }: ExportInput): Uint8Array {
  const known = proofSystem(system);
  if (known.exportZkey === undefined) throw new Error("the key is stored as snarkjs' file");
  return Buffer.concat([...known.exportZkey(read(provingKey))]);
}

/** The server has checked the string's file against its hash; of a large one, few ranges are read. */
function stringOf({ system, referenceString }: GatesInput): Pick<StoredKey, "referenceString" | "phase1"> {
  if (referenceString === undefined) return {};
  return PROOF_SYSTEMS[system].setup === "own"
    ? { phase1: readPhase1Powers(rangeOfPath(referenceString.path)) }
    : { referenceString: openReferenceString(referenceString, proofSystem(system).curve) };
}

function read({ path, sha256 }: StoredFile): Buffer {
  const bytes = readFileSync(path);
  if (createHash("sha256").update(bytes).digest("hex") !== sha256)
    throw new Error("a file does not have the content that its hash says");
  return bytes;
}
