/**
 * The compute tasks by name, as a worker thread runs them. Expected failures are results; what throws here is a bug of
 * ours or an artifact that is not what its hash says, and the pool reports it.
 */
import { checkInputs } from "./circuit/inputs.js";
import { computeWitness } from "./circuit/witness.js";
import { BN254 } from "./curves/bn254.js";
import { encodeProofHex, proofToJson } from "./encoding/groth16-proof.js";
import { encodePublicSignals } from "./encoding/public-signals.js";
import { loadPairing } from "./groth16/pairing-backend.js";
import type { Groth16Proof } from "./groth16/proof.js";
import { checkWitness, proveGroth16, publicSignalsOf } from "./groth16/prove.js";
import { readProvingKey } from "./groth16/proving-key.js";
import { randomNonZero } from "./field/bytes.js";
import { Kept } from "./kept.js";
import { ResidentProver } from "./kernels/groth16/resident-prover.js";
import { makeKeyResident, proveResident } from "./kernels/groth16/resident-proving.js";
import type { ResidentKey } from "./kernels/groth16/resident-key.js";
import { appendNotes } from "./merkle/note-tree.js";
import type { ComputeRequest, ComputeTasks, ProveMessage, ProveValue, SharedBytes, TaskResult } from "./protocol.js";
import { invalidWitness, isOwnProofValid, preparedKey, verify, verifyBatch } from "./verify-tasks.js";

/** Proving keys are large and shared; a thread rarely alternates between more than a few. */
const PROVING_KEYS_KEPT = 4;
const WITNESS_PROGRAMS_KEPT = 16;

const provingKeys = new Kept({ entriesMax: PROVING_KEYS_KEPT, make: readProvingKey });
const residentProvers = new Kept({
  entriesMax: PROVING_KEYS_KEPT,
  make: (key: ResidentKey) => new ResidentProver(key),
});
// WebAssembly takes no shared memory, so the program is copied once.
const witnessPrograms = new Kept({
  entriesMax: WITNESS_PROGRAMS_KEPT,
  make: async (bytes: Uint8Array) => await WebAssembly.compile(bytes.slice()),
});

/** Runs one task to its result. */
export async function runComputeTask(
  request: ComputeRequest,
): Promise<TaskResult<ComputeTasks[keyof ComputeTasks]["value"]>> {
  switch (request.task) {
    case "warm":
      await loadPairing(request.message.backend);
      return { ok: true, value: {} };
    case "open_key":
      return {
        ok: true,
        value: makeKeyResident(readProvingKey(viewOf(request.message.provingKey)), {
          workspaces: request.message.workspaces,
        }),
      };
    case "prove":
      return await prove(request.message);
    case "help": {
      const { openKey, team } = request.message;
      (await residentProvers.get(openKey.id, openKey.key)).help(team);
      return { ok: true, value: {} };
    }
    case "verify":
      return await verify(request.message);
    case "verify_batch":
      return await verifyBatch(request.message);
    case "append_notes":
      return { ok: true, value: appendNotes(request.message) };
  }
}

async function prove(message: ProveMessage): Promise<TaskResult<ProveValue>> {
  const inputs = checkInputs(message.circuit, message.inputs);
  if (!inputs.ok) return invalidWitness(inputs.details);
  const startedMs = performance.now();
  const computed = computeWitness(
    await keptFor(witnessPrograms, message.witnessProgram),
    message.circuit,
    inputs.values,
  );
  if (!computed.ok) return { ok: false, code: computed.code, message: computed.message, details: computed.details };
  const witnessMs = performance.now() - startedMs;
  const backend = message.openKey === undefined ? "reference" : "wasm";
  const { key } = await preparedKey(message.verifyingKey, backend);
  const publicSignals = publicSignalsOf({ curve: BN254, publicCount: key.publicCount }, computed.witness);
  let proof = await makeProof(message, computed.witness);
  const proveMs = performance.now() - startedMs - witnessMs;
  let isValid = await isOwnProofValid({ verifyingKey: message.verifyingKey, backend }, proof, publicSignals);
  if (!isValid && backend === "wasm") {
    // A fault of the kernels costs time, never a proof: the reference backend makes it again, and checks it.
    proof = await proveGroth16(await keptFor(provingKeys, message.provingKey), computed.witness);
    isValid = await isOwnProofValid({ verifyingKey: message.verifyingKey, backend: "reference" }, proof, publicSignals);
  }
  if (!isValid)
    return {
      ok: false,
      code: "proof_self_check_failed",
      message: "the proof that was made does not verify; it was thrown away",
    };
  const checkMs = performance.now() - startedMs - witnessMs - proveMs;
  return {
    ok: true,
    value: {
      proof: encodeProofHex(proof, BN254),
      proofJson: proofToJson(proof, BN254),
      publicSignals: encodePublicSignals(publicSignals),
      timings: { witnessMs, proveMs, checkMs },
    },
  };
}

/** On the kernels where the key is open; on the reference backend where it is not, or where a kernel gives up. */
async function makeProof(message: ProveMessage, witness: Uint8Array): Promise<Groth16Proof> {
  const { openKey, team } = message;
  if (openKey !== undefined) {
    checkWitness({ curve: BN254, wireCount: openKey.key.wireCount }, witness);
    // A proof whose helper was lost is made again alone, from the start and with other blinding.
    for (const company of team === undefined ? [undefined] : [team, undefined]) {
      try {
        return proveResident(
          await residentProvers.get(openKey.id, openKey.key),
          witness,
          { r: randomNonZero(BN254.r), s: randomNonZero(BN254.r) },
          company,
        );
      } catch {
        // Whatever it was (no free workspace, a trap), the reference backend below needs none of it.
      }
    }
  }
  return await proveGroth16(await keptFor(provingKeys, message.provingKey), witness);
}

function viewOf(shared: SharedBytes): Uint8Array {
  return new Uint8Array(shared.bytes);
}

async function keptFor<Value>(kept: Kept<Uint8Array, Value>, shared: SharedBytes): Promise<Value> {
  return await kept.get(shared.sha256, viewOf(shared));
}
