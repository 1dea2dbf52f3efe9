/**
 * Reads an FFLONK key of snarkjs that was made elsewhere. The file is kept as it is: the gates (stored-fflonk-key.ts)
 * make it again from circuit and powers, and compare byte for byte.
 */
import { readR1csHeader } from "../circuit/r1cs.js";
import { BN254 } from "../curves/bn254.js";
import { equalG2 } from "../curves/points.js";
import { fflonkVerifyingKeyFromJson, fflonkVerifyingKeyToJson } from "../encoding/fflonk-verifying-key.js";
import { ZkeyFormatError } from "../plonk/zkey-parts.js";
import {
  FOREIGN_STRING,
  findForeignVerifyingKey,
  findString,
  keyProblem,
  parsedJson,
  verifyingKeyProblem,
} from "../proof-systems/imported-keys.js";
import type { ImportedKeyFiles, ImportedKeyResult, ImportedVerifyingKeyResult } from "../proof-systems/proof-system.js";
import { loadReferenceKernels } from "../reference/reference-kernels.js";
import { FFLONK_DOMAIN_POWER_MAX, STRING_POWER_MORE } from "./make-fflonk-key.js";
import { readFflonkZkey } from "./read-zkey.js";
import { trivialFflonkProof } from "./stored-fflonk-key.js";
import { prepareFflonkKey, verifyFflonk } from "./verify-fflonk.js";

/** Reads the key; the gates decide whether it is the circuit's, and its powers those of one secret. */
export async function importFflonkKey(files: ImportedKeyFiles): Promise<ImportedKeyResult> {
  try {
    const { gates, setup, verifyingKey } = readFflonkZkey(files.provingKey);
    const header = readR1csHeader(files.r1cs);
    if (
      header.wireCount !== gates.systemWireCount ||
      header.outputCount + header.publicInputCount !== gates.publicCount
    )
      return keyProblem("the key is of another circuit: its numbers of wires are not the R1CS's");
    if (verifyingKey.domainPower > FFLONK_DOMAIN_POWER_MAX) return keyProblem("the key has too many gates");
    const kernels = await loadReferenceKernels(BN254);
    const own = fflonkVerifyingKeyToJson(verifyingKey, BN254);
    const foreign = findForeignVerifyingKey(files.verifyingKey, own, (value) => {
      const decoded = fflonkVerifyingKeyFromJson(value, kernels);
      return decoded.ok ? { ok: true, value: fflonkVerifyingKeyToJson(decoded.value, BN254) } : decoded;
    });
    if (foreign !== undefined) return foreign;
    const power = verifyingKey.domainPower + STRING_POWER_MORE;
    const string = findString(files.strings, { ...setup, power });
    if (string === undefined && files.needsString === true) return keyProblem(FOREIGN_STRING);
    return {
      ok: true,
      verifyingKey: JSON.stringify(own),
      ...(string === undefined ? {} : { referenceString: string.sha256 }),
    };
  } catch (error) {
    if (error instanceof ZkeyFormatError) return keyProblem(error.message);
    throw error;
  }
}

/** Reads a verifying key alone, and runs the gates that it has. */
export async function importFflonkVerifyingKey(text: string): Promise<ImportedVerifyingKeyResult> {
  const kernels = await loadReferenceKernels(BN254);
  const decoded = fflonkVerifyingKeyFromJson(parsedJson(text), kernels);
  if (!decoded.ok) return verifyingKeyProblem(decoded.message);
  const { publicCount, tauG2 } = decoded.value;
  if (equalG2(tauG2, BN254.generatorG2))
    return verifyingKeyProblem("the reference string has no contribution: anyone can forge proofs");
  const zeros = new Array<bigint>(publicCount).fill(0n);
  if (verifyFflonk(prepareFflonkKey(kernels, decoded.value), trivialFflonkProof(), zeros))
    return verifyingKeyProblem("a forged proof verifies");
  return { ok: true, verifyingKey: JSON.stringify(fflonkVerifyingKeyToJson(decoded.value, BN254)), publicCount };
}
