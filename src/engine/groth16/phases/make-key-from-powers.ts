/**
 * Makes a Groth16 key pair from the bytes of an R1CS and a published powers-of-tau file: the work of the setup process
 * where phase 1 is asked for. Its gates all run on the stored files (powers-gate.ts among them).
 */
import { R1csFormatError, readR1cs } from "../../circuit/r1cs.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { verifyingKeyToJson } from "../../encoding/groth16-verifying-key.js";
import type { MakeKeyOptions, MakeKeyResult } from "../../proof-systems/proof-system.js";
import { loadReferenceKernels } from "../../reference/reference-kernels.js";
import { readProvingKey, verifyingKeyOf } from "../proving-key.js";
import { SetupInputError, requireSetupInput } from "../setup.js";
import { zkeyCountsOf } from "../zkey-writer.js";
import { setupFromPowers } from "./setup-from-powers.js";

/**
 * Makes the key; a circuit that cannot have one is a result, not an error. Some seconds for 60,000 constraints on two
 * threads from a prepared file; minutes from one that is not.
 */
export async function makeGroth16KeyFromPowers(
  r1csBytes: Uint8Array,
  curve: CurveParameters,
  { referenceString, executeRows, onProgress }: MakeKeyOptions,
): Promise<MakeKeyResult> {
  try {
    const startedAt = performance.now();
    const r1cs = readR1cs(r1csBytes);
    requireSetupInput(r1cs, curve);
    const { domainPower } = zkeyCountsOf(r1cs);
    const string = referenceString?.(domainPower);
    if (string === undefined) return { ok: false, code: "reference_string_required", power: domainPower };
    const zkey = await setupFromPowers(r1cs, string.openPowers(), {
      ...(executeRows === undefined ? {} : { executeRows }),
      ...(onProgress === undefined ? {} : { onProgress }),
    });
    const verifyingKey = verifyingKeyToJson(verifyingKeyOf(readProvingKey(zkey)), await loadReferenceKernels(curve));
    const timings = { keyMs: performance.now() - startedAt, gatesMs: 0 };
    return { ok: true, provingKey: zkey, verifyingKey, gates: [], timings, referenceString: string.sha256 };
  } catch (error) {
    if (error instanceof R1csFormatError || error instanceof SetupInputError)
      return { ok: false, code: "circuit_unsupported", message: error.message };
    throw error;
  }
}
