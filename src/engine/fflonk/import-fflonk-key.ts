/**
 * Reads an FFLONK key of snarkjs that was made elsewhere. The file is kept as it is: the gates (stored-fflonk-key.ts)
 * make it again from circuit and powers, and compare byte for byte.
 */
import { readR1csHeader } from "../circuit/r1cs.js";
import { BN254 } from "../curves/bn254.js";
import type { CurveKernels } from "../curves/curve-kernels.js";
import { fflonkVerifyingKeyFromJson, fflonkVerifyingKeyToJson } from "../encoding/fflonk-verifying-key.js";
import { ZkeyFormatError } from "../plonk/zkey/zkey-parts.js";
import {
  FOREIGN_STRING,
  findForeignVerifyingKey,
  findString,
  findUniversalForgery,
  importVerifyingKeyAlone,
  keyProblem,
} from "../proof-systems/imported-keys.js";
import type { VerifyingKeyForm } from "../proof-systems/imported-keys.js";
import type { ImportedKeyFiles, ImportedKeyResult, ImportedVerifyingKeyResult } from "../proof-systems/proof-system.js";
import { loadReferenceKernels } from "../reference/reference-kernels.js";
import type { FflonkVerifyingKey } from "./fflonk-values.js";
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
    const form = formOf(kernels);
    const own = JSON.stringify(form.encode(verifyingKey));
    const foreign = findForeignVerifyingKey(files.verifyingKey, own, form);
    if (foreign !== undefined) return foreign;
    const power = verifyingKey.domainPower + STRING_POWER_MORE;
    const string = findString(files.strings, { ...setup, power });
    if (string === undefined && files.needsString === true) return keyProblem(FOREIGN_STRING);
    return {
      ok: true,
      verifyingKey: own,
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
  return importVerifyingKeyAlone(text, formOf(kernels), (key) =>
    findUniversalForgery(key, BN254, (zeros) =>
      verifyFflonk(prepareFflonkKey(kernels, key), trivialFflonkProof(), zeros),
    ),
  );
}

function formOf(kernels: CurveKernels): VerifyingKeyForm<FflonkVerifyingKey> {
  return {
    decode: (value) => fflonkVerifyingKeyFromJson(value, kernels),
    encode: (key) => fflonkVerifyingKeyToJson(key, BN254),
  };
}
