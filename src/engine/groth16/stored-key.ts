/**
 * Runs the gates on a key as it lies in the artifact store, so that what is checked is what is published. If the
 * circuit comes with satisfying inputs, an honest proof is made and checked, too.
 */
import { primeCurve } from "../backends/snarkjs.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { readR1cs } from "../circuit/r1cs.js";
import { loadReferenceKernels } from "../reference/reference-kernels.js";
import { verifyingKeyFromJson } from "../encoding/groth16-verifying-key.js";
import type { HonestExample, StoredKey, StoredKeyResult } from "../proof-systems/proof-system.js";
import { honestWitness } from "../proof-systems/published-key.js";
import { randomNonZero } from "../field/bytes.js";
import { ResidentProver } from "../kernels/groth16/resident-prover.js";
import { makeKeyResident, proveResident } from "../kernels/groth16/resident-proving.js";
import { checkHonestProof, checkKey } from "./gates.js";
import type { GateResult } from "./gates.js";
import type { Groth16Proof } from "./proof.js";
import { proveGroth16, publicSignalsOf } from "./prove.js";
import { readProvingKey } from "./proving-key.js";
import type { Groth16ProvingKey } from "./proving-key.js";
import { prepareWith, verifyGroth16 } from "./verify.js";
import type { PreparedVerifyingKey } from "./verify.js";

/** Runs the gates. About 1 s for 60,000 constraints, and the time of a proof when there is an example. */
export async function checkGroth16Key(curve: CurveParameters, stored: StoredKey): Promise<StoredKeyResult> {
  const key = readProvingKey(stored.provingKey);
  if (key.curve !== curve) return { ok: false, message: `header: the key is not over ${curve.name}` };
  const kernels = await loadReferenceKernels(curve);
  const decoded = verifyingKeyFromJson(JSON.parse(stored.verifyingKey), kernels);
  if (!decoded.ok) return { ok: false, message: `verifying_key: ${decoded.message}` };
  const checked = checkKey(kernels, await primeCurve(key.curve.name), {
    key,
    verifyingKey: decoded.value,
    r1cs: readR1cs(stored.r1cs),
    ...(stored.onProgress === undefined ? {} : { onProgress: stored.onProgress }),
    ...(stored.referenceString === undefined ? {} : { powers: stored.referenceString.openPowers() }),
    ...(stored.isImported === undefined ? {} : { isImported: stored.isImported }),
  });
  if (!checked.ok) return failed(checked);
  if (stored.example !== undefined) {
    const honest = await tryHonestProof(key, prepareWith(kernels, decoded.value), stored.example);
    if (!honest.ok) return failed(honest);
  }
  return { ok: true };
}

async function tryHonestProof(
  key: Groth16ProvingKey,
  prepared: PreparedVerifyingKey,
  example: HonestExample,
): Promise<GateResult> {
  const witness = await honestWitness(example);
  if (!witness.ok) return { ok: false, gate: "honest_proof", message: witness.message };
  const signals = publicSignalsOf(key, witness.value);
  const quick = proveOnKernels(key, witness.value);
  const proof =
    quick !== undefined && verifyGroth16(prepared, quick, signals) ? quick : await proveGroth16(key, witness.value);
  return checkHonestProof(prepared, proof, signals);
}

/** In a third of the time; undefined where the kernels have no room or fail, for which no key is to blame. */
function proveOnKernels(key: Groth16ProvingKey, witness: Uint8Array): Groth16Proof | undefined {
  const blinding = { r: randomNonZero(key.curve.r), s: randomNonZero(key.curve.r) };
  try {
    return proveResident(new ResidentProver(makeKeyResident(key, { workspaces: 1 })), witness, blinding);
  } catch {
    return undefined;
  }
}

function failed({ gate, message }: Extract<GateResult, { ok: false }>): StoredKeyResult {
  return { ok: false, message: `${gate}: ${message}` };
}
