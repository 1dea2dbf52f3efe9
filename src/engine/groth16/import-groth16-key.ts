/**
 * Reads a Groth16 key that was made elsewhere, before the gates check it: whether the bytes are a key of the circuit's
 * size, and the verifying key that belongs to it. The file is kept as it is.
 */
import { readR1cs } from "../circuit/r1cs.js";
import type { R1cs } from "../circuit/r1cs.js";
import type { CurveKernels } from "../curves/curve-kernels.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { verifyingKeyFromJson, verifyingKeyToJson } from "../encoding/groth16-verifying-key.js";
import {
  FOREIGN_STRING,
  findForeignVerifyingKey,
  importVerifyingKeyAlone,
  keyProblem,
} from "../proof-systems/imported-keys.js";
import type { VerifyingKeyForm } from "../proof-systems/imported-keys.js";
import type {
  CandidateString,
  ImportedKeyFiles,
  ImportedKeyResult,
  ImportedVerifyingKeyResult,
} from "../proof-systems/proof-system.js";
import { loadReferenceKernels } from "../reference/reference-kernels.js";
import { checkVerifyingKeyAlone } from "./gates.js";
import { findForeignHeader } from "./phases/powers-gate.js";
import type { Groth16VerifyingKey } from "./proof.js";
import { ProvingKeyFormatError, readProvingKey, verifyingKeyOf } from "./proving-key.js";
import type { Groth16ProvingKey } from "./proving-key.js";
import { coefficientSectionBytes, zkeyCountsOf } from "./zkey-writer.js";

/** Reads the key. The gates (gates.ts) decide whether it is sound. */
export async function importGroth16Key(files: ImportedKeyFiles, curve: CurveParameters): Promise<ImportedKeyResult> {
  try {
    const key = readProvingKey(files.provingKey);
    const fault =
      key.curve === curve
        ? findFault(key, readR1cs(files.r1cs))
        : `the key is over ${key.curve.name}, which is not the circuit's curve`;
    if (fault !== undefined) return keyProblem(fault);
    const kernels = await loadReferenceKernels(curve);
    const form = formOf(kernels);
    const own = JSON.stringify(form.encode(verifyingKeyOf(key)));
    const foreign = findForeignVerifyingKey(files.verifyingKey, own, form);
    if (foreign !== undefined) return foreign;
    // By its header; the gates check each point.
    const string = files.strings.find((candidate) => isOf(kernels, key, candidate));
    if (string === undefined && files.needsString === true) return keyProblem(FOREIGN_STRING);
    return {
      ok: true,
      verifyingKey: own,
      ...(string === undefined ? {} : { referenceString: string.sha256 }),
    };
  } catch (error) {
    if (error instanceof ProvingKeyFormatError) return keyProblem(error.message);
    throw error;
  }
}

/** Reads a verifying key alone, and runs the gates that it has. */
export async function importGroth16VerifyingKey(
  text: string,
  curve: CurveParameters,
): Promise<ImportedVerifyingKeyResult> {
  const kernels = await loadReferenceKernels(curve);
  return importVerifyingKeyAlone(text, formOf(kernels), (key) => {
    const checked = checkVerifyingKeyAlone(kernels, key);
    return checked.ok ? undefined : checked.message;
  });
}

function formOf(kernels: CurveKernels): VerifyingKeyForm<Groth16VerifyingKey> {
  return {
    decode: (value) => verifyingKeyFromJson(value, kernels),
    encode: (key) => verifyingKeyToJson(key, kernels),
  };
}

function isOf(kernels: CurveKernels, key: Groth16ProvingKey, candidate: CandidateString): boolean {
  if (candidate.power < key.domainPower) return false;
  const powers = candidate.openPowers();
  return powers !== undefined && findForeignHeader(kernels, key, powers) === undefined;
}

function findFault(key: Groth16ProvingKey, r1cs: R1cs): string | undefined {
  const counts = zkeyCountsOf(r1cs);
  if (
    counts.wireCount !== key.wireCount ||
    counts.publicCount !== key.publicCount ||
    counts.domainPower !== key.domainPower
  )
    return "the key is of another circuit: its numbers of wires are not the R1CS's";
  return 4 + key.coefficients.entries.length > coefficientSectionBytes(r1cs)
    ? "the key has more coefficients than the R1CS"
    : undefined;
}
