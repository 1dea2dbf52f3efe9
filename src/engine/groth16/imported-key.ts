/**
 * Reads a Groth16 key that was made elsewhere, before the gates check it: whether the bytes are a key of the circuit's
 * size, and the verifying key that belongs to it.
 */
import type { ImportProblem } from "../circuit/imported-circuit.js";
import type { R1cs } from "../circuit/r1cs.js";
import { verifyingKeyFromJson, verifyingKeyToJson } from "../encoding/groth16-verifying-key.js";
import { loadReferenceKernels } from "../reference/reference-kernels.js";
import { ProvingKeyFormatError, readProvingKey, verifyingKeyOf } from "./proving-key.js";
import { coefficientSectionBytes, zkeyCountsOf } from "./zkey-writer.js";

export interface ImportedKeyFiles {
  /** snarkjs `.zkey`. */
  readonly provingKey: Uint8Array;
  /** snarkjs verification key, JSON text; must be the proving key's own. */
  readonly verifyingKey?: string;
}

/**
 * Reads the key. The gates (gates.ts) decide whether it is sound.
 * @returns its verifying key as JSON text, or which file is wrong
 */
export async function readImportedKey(
  files: ImportedKeyFiles,
  r1cs: R1cs,
): Promise<{ readonly ok: true; readonly verifyingKey: string } | ImportProblem> {
  try {
    const key = readProvingKey(files.provingKey);
    if (key.curve.r !== r1cs.prime)
      return problem("proving_key.zkey", `the key is over ${key.curve.name}, which is not the circuit's curve`);
    const kernels = await loadReferenceKernels(key.curve);
    const counts = zkeyCountsOf(r1cs);
    if (
      counts.wireCount !== key.wireCount ||
      counts.publicCount !== key.publicCount ||
      counts.domainPower !== key.domainPower
    )
      return problem("proving_key.zkey", "the key is of another circuit: its numbers of wires are not the R1CS's");
    if (4 + key.coefficients.entries.length > coefficientSectionBytes(r1cs))
      return problem("proving_key.zkey", "the key has more coefficients than the R1CS");
    const own = verifyingKeyToJson(verifyingKeyOf(key), kernels);
    if (files.verifyingKey !== undefined) {
      const said = verifyingKeyFromJson(parsed(files.verifyingKey), kernels);
      if (!said.ok) return problem("verification_key.json", said.message);
      if (JSON.stringify(verifyingKeyToJson(said.value, kernels)) !== JSON.stringify(own))
        return problem("verification_key.json", "is not the verifying key of proving_key.zkey");
    }
    return { ok: true, verifyingKey: JSON.stringify(own) };
  } catch (error) {
    const isOwn = error instanceof ProvingKeyFormatError;
    return problem("proving_key.zkey", isOwn ? error.message : "cannot be read");
  }
}

function problem(file: string, message: string): ImportProblem {
  return { ok: false, code: "import_invalid", file, message };
}

/** Anything that is no JSON is no verifying key either. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
