/**
 * Runs the gates on a key as it lies in the artifact store, so that what is checked is what is published. If the
 * circuit comes with satisfying inputs, an honest proof is made and checked, too. Also writes the key's Solidity
 * verifier.
 */
import { primeCurve } from "../backends/snarkjs.js";
import { checkInputs } from "../circuit/inputs.js";
import type { CircuitInterface } from "../circuit/interface.js";
import { readR1cs } from "../circuit/r1cs.js";
import { computeWitness } from "../circuit/witness.js";
import { loadReferenceKernels } from "../reference/reference-kernels.js";
import { solidityVerifier, verifyingKeyFromJson } from "../encoding/groth16-verifying-key.js";
import { checkHonestProof, checkKey } from "./gates.js";
import type { GateResult } from "./gates.js";
import { proveGroth16, publicSignalsOf } from "./prove.js";
import { readProvingKey } from "./proving-key.js";
import type { Groth16ProvingKey } from "./proving-key.js";
import { prepareWith } from "./verify.js";
import type { PreparedVerifyingKey } from "./verify.js";

/**
 * Satisfying inputs of a built-in circuit, with what a proof of them takes. Never a caller's own program: it runs
 * without a deadline.
 */
export interface HonestExample {
  readonly circuit: CircuitInterface;
  /** WebAssembly. */
  readonly witnessProgram: Uint8Array;
  /** Input name -> value, as parsed JSON. */
  readonly inputs: unknown;
}

export interface StoredKey {
  readonly r1cs: Uint8Array;
  /** snarkjs `.zkey`. */
  readonly provingKey: Uint8Array;
  /** snarkjs verification key, JSON text. */
  readonly verifyingKey: string;
  readonly example?: HonestExample;
}

export type StoredKeyResult =
  { readonly ok: true; readonly verifierContract: string } | { readonly ok: false; readonly message: string };

/** Runs the gates. About 2 s for 60,000 constraints, and the time of a proof when there is an example. */
export async function checkStoredKey(stored: StoredKey): Promise<StoredKeyResult> {
  const key = readProvingKey(stored.provingKey);
  const kernels = await loadReferenceKernels(key.curve);
  const decoded = verifyingKeyFromJson(JSON.parse(stored.verifyingKey), kernels);
  if (!decoded.ok) return { ok: false, message: `verifying_key: ${decoded.message}` };
  const checked = checkKey(kernels, await primeCurve(key.curve.name), {
    key,
    verifyingKey: decoded.value,
    r1cs: readR1cs(stored.r1cs),
  });
  if (!checked.ok) return failed(checked);
  if (stored.example !== undefined) {
    const honest = await tryHonestProof(key, prepareWith(kernels, decoded.value), stored.example);
    if (!honest.ok) return failed(honest);
  }
  return { ok: true, verifierContract: await solidityVerifier(decoded.value) };
}

async function tryHonestProof(
  key: Groth16ProvingKey,
  prepared: PreparedVerifyingKey,
  example: HonestExample,
): Promise<GateResult> {
  const inputs = checkInputs(example.circuit, example.inputs);
  if (!inputs.ok)
    return { ok: false, gate: "honest_proof", message: "the circuit's own example has other inputs than the circuit" };
  const computed = computeWitness(
    await WebAssembly.compile(example.witnessProgram.slice()),
    example.circuit,
    inputs.values,
  );
  if (!computed.ok)
    return { ok: false, gate: "honest_proof", message: "the circuit's own example does not satisfy it" };
  return checkHonestProof(prepared, await proveGroth16(key, computed.witness), publicSignalsOf(key, computed.witness));
}

function failed({ gate, message }: Extract<GateResult, { ok: false }>): StoredKeyResult {
  return { ok: false, message: `${gate}: ${message}` };
}
