/**
 * The compute tasks by name, as a worker thread runs them. Expected failures are results; a task throws only for a bug
 * or for an artifact that is not what its hash says, and the pool reports it.
 */
import { LRUCache } from "lru-cache";
import { checkInputs } from "./circuit/inputs.js";
import { computeWitness } from "./circuit/witness.js";
import { BN254 } from "./curves/bn254.js";
import { encodeProofHex, proofToJson } from "./encoding/groth16-proof.js";
import { loadPairing } from "./groth16/pairing-backend.js";
import type { Groth16Proof } from "./groth16/proof.js";
import { checkWitness, proveGroth16, publicSignalsOf } from "./groth16/prove.js";
import { readProvingKey, type Groth16ProvingKey } from "./groth16/proving-key.js";
import { randomNonZero } from "./field/bytes.js";
import { ResidentProver } from "./kernels/groth16/resident-prover.js";
import { makeKeyResident, proveResident } from "./kernels/groth16/resident-proving.js";
import type { ResidentKey } from "./kernels/groth16/resident-key.js";
import { appendNotes } from "./merkle/note-tree.js";
import type {
  ComputeRequest,
  ComputeTasks,
  OpenKey,
  ProveMessage,
  ProveValue,
  SharedBytes,
  TaskResult,
} from "./protocol.js";
import { invalidWitness, isOwnProofValid, preparedKey, verify, verifyBatch } from "./verify-tasks.js";

/** Proving keys are large and shared; a thread rarely alternates between more than a few. */
const PROVING_KEYS_MAX = 4;
const WITNESS_PROGRAMS_MAX = 16;

/**
 * What this thread has parsed from shared bytes, by the hash of the bytes or the id of the opening. An entry keeps its
 * shared memory alive, so the numbers are small.
 */
const provingKeys = new LRUCache<string, Groth16ProvingKey, SharedBytes>({
  max: PROVING_KEYS_MAX,
  memoMethod: (_sha256, _stale, { context }) => readProvingKey(viewOf(context)),
});
const residentProvers = new LRUCache<string, ResidentProver, ResidentKey>({
  max: PROVING_KEYS_MAX,
  memoMethod: (_id, _stale, { context }) => new ResidentProver(context),
});
const witnessPrograms = new LRUCache<string, WebAssembly.Module>({ max: WITNESS_PROGRAMS_MAX });

/**
 * Runs one task.
 * @throws Error when an artifact is not what its hash says, or for a bug
 */
export async function runComputeTask(
  request: ComputeRequest,
): Promise<TaskResult<ComputeTasks[keyof ComputeTasks]["value"]>> {
  switch (request.task) {
    case "warm":
      await loadPairing(request.message.backend);
      return { ok: true, value: { done: true } };
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
      residentProverOf(openKey).help(team);
      return { ok: true, value: { done: true } };
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
  const computed = computeWitness(await witnessProgramOf(message.witnessProgram), message.circuit, inputs.values);
  if (!computed.ok) return { ok: false, code: computed.code, message: computed.message, details: computed.details };
  const witnessMs = performance.now() - startedMs;
  const backend = message.openKey === undefined ? "reference" : "wasm";
  const { key } = await preparedKey(message.verifyingKey, backend);
  const publicSignals = publicSignalsOf({ curve: BN254, publicCount: key.publicCount }, computed.witness);
  let proof = await makeProof(message, computed.witness);
  const proveMs = performance.now() - startedMs - witnessMs;
  let isValid = await isOwnProofValid({ verifyingKey: message.verifyingKey, backend }, proof, publicSignals);
  if (!isValid && backend === "wasm") {
    // A fault of the kernels costs time but no proof: the reference backend proves and checks again.
    proof = await proveGroth16(provingKeyOf(message.provingKey), computed.witness);
    isValid = await isOwnProofValid({ verifyingKey: message.verifyingKey, backend: "reference" }, proof, publicSignals);
  }
  if (!isValid)
    return {
      ok: false,
      code: "proof_self_check_failed",
      message: "the new proof does not verify and was discarded; try again, and report it if it happens again",
    };
  const checkMs = performance.now() - startedMs - witnessMs - proveMs;
  return {
    ok: true,
    value: {
      proof: encodeProofHex(proof, BN254),
      proofJson: proofToJson(proof, BN254),
      publicSignals: publicSignals.map(String),
      timings: { witnessMs, proveMs, checkMs },
    },
  };
}

/** Proves on the kernels if the key is open; on the reference backend if it is not, or if the kernels fail. */
async function makeProof(message: ProveMessage, witness: Uint8Array): Promise<Groth16Proof> {
  const { openKey, team } = message;
  if (openKey !== undefined) {
    checkWitness({ curve: BN254, wireCount: openKey.key.wireCount }, witness);
    // A proof that lost a helper is made again without helpers, from the start and with other blinding.
    for (const helpers of team === undefined ? [undefined] : [team, undefined]) {
      try {
        return proveResident(
          residentProverOf(openKey),
          witness,
          { r: randomNonZero(BN254.r), s: randomNonZero(BN254.r) },
          helpers,
        );
      } catch {
        // No free workspace, or a trap: the reference backend below depends on neither.
      }
    }
  }
  return await proveGroth16(provingKeyOf(message.provingKey), witness);
}

function provingKeyOf(shared: SharedBytes): Groth16ProvingKey {
  return provingKeys.memo(shared.sha256, { context: shared });
}

function residentProverOf({ id, key }: OpenKey): ResidentProver {
  return residentProvers.memo(id, { context: key });
}

async function witnessProgramOf(shared: SharedBytes): Promise<WebAssembly.Module> {
  const compiled = witnessPrograms.get(shared.sha256);
  if (compiled !== undefined) return compiled;
  // WebAssembly takes no shared memory, so the program is copied.
  const program = await WebAssembly.compile(viewOf(shared).slice());
  witnessPrograms.set(shared.sha256, program);
  return program;
}

function viewOf(shared: SharedBytes): Uint8Array {
  return new Uint8Array(shared.bytes);
}
