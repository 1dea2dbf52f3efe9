/**
 * The tasks that verify: one proof, or many of one key. Runs on our kernels where the message asks for them, and again
 * on the reference backend when the kernels fail on the way.
 */
import { checkInputs } from "./circuit/inputs.js";
import { publicSignalsFrom } from "./circuit/interface.js";
import { BN254 } from "./curves/curve-parameters.js";
import { decodeProofs, encodeProofHex } from "./encoding/groth16-proof.js";
import { verifyingKeyFromJson } from "./encoding/groth16-verifying-key.js";
import { encodePublicSignals } from "./encoding/public-signals.js";
import { isKernelPairing, loadPairing } from "./groth16/pairing-backend.js";
import type { Groth16Proof } from "./groth16/proof.js";
import { verifyGroth16Batch, type ProofClaim } from "./groth16/verify-batch.js";
import { prepareWith, verifyGroth16, type PreparedVerifyingKey } from "./groth16/verify.js";
import { Kept } from "./kept.js";
import type {
  PairingBackend,
  SharedBytes,
  TaskFailure,
  TaskResult,
  VerifyBatchMessage,
  VerifyBatchValue,
  VerifyMessage,
  VerifyValue,
} from "./protocol.js";

/** A prepared verifying key takes about 200 KiB. */
const VERIFYING_KEYS_KEPT = 256;

interface KeySource {
  readonly bytes: SharedArrayBuffer;
  readonly backend: PairingBackend;
}

const verifyingKeys = new Kept({ entriesMax: VERIFYING_KEYS_KEPT, make: prepare });

/** A verifying key, prepared once per thread and backend. */
export async function preparedKey(
  { sha256, bytes }: SharedBytes,
  backend: PairingBackend,
): Promise<PreparedVerifyingKey> {
  return await verifyingKeys.get(`${backend} ${sha256}`, { bytes, backend });
}

export async function verify(message: VerifyMessage): Promise<TaskResult<VerifyValue>> {
  return await withKey(message, (key) => {
    const [read] = readStatements(message, [message], key);
    if (read === undefined) throw new Error("invariant broken: one item has one statement");
    if (!read.ok) return read;
    const { proof, publicSignals } = read.value;
    return { ok: true, value: verified(read.value, verifyGroth16(key, proof, publicSignals)) };
  });
}

export async function verifyBatch(message: VerifyBatchMessage): Promise<TaskResult<VerifyBatchValue>> {
  return await withKey(message, (key) => {
    const read = readStatements(message, message.items, key);
    const results = verifyGroth16Batch(
      key,
      read.flatMap((each) => (each.ok ? [each.value] : [])),
    );
    let next = 0;
    return {
      ok: true,
      value: {
        outcomes: read.map((each) =>
          each.ok ? { ok: true, value: verified(each.value, results[next++] === true) } : each,
        ),
      },
    };
  });
}

/** Checks a proof that was made on this thread. */
export async function isOwnProofValid(
  message: Pick<VerifyMessage, "verifyingKey" | "backend">,
  proof: Groth16Proof,
  publicSignals: readonly bigint[],
): Promise<boolean> {
  return await withKey(message, (key) => verifyGroth16(key, proof, publicSignals));
}

/** Whatever a kernel fails with (a trap, a point that it cannot handle), the reference backend needs none of it. */
async function withKey<Value>(
  { verifyingKey, backend = "reference" }: Pick<VerifyMessage, "verifyingKey" | "backend">,
  work: (key: PreparedVerifyingKey) => Value,
): Promise<Value> {
  const key = await preparedKey(verifyingKey, backend);
  try {
    return work(key);
  } catch (error) {
    if (!isKernelPairing(key.kernels)) throw error;
    return work(await preparedKey(verifyingKey, "reference"));
  }
}

/** Each item's statement, or why it is none. */
function readStatements(
  { circuit }: Pick<VerifyMessage, "circuit">,
  items: readonly Pick<VerifyMessage, "inputs" | "proof">[],
  { kernels }: PreparedVerifyingKey,
): TaskResult<ProofClaim>[] {
  const checked = items.map(({ inputs }) => checkInputs(circuit, inputs, { publicOnly: true }));
  const proofs = decodeProofs(
    items.filter((_, i) => checked[i]?.ok === true).map(({ proof }) => proof),
    kernels,
  );
  let next = 0;
  return checked.map((each) => {
    if (!each.ok) return invalidWitness(each.details);
    const decoded = proofs[next++];
    if (decoded === undefined) throw new Error("invariant broken: every proof is decoded");
    return decoded.ok
      ? { ok: true, value: { proof: decoded.value, publicSignals: publicSignalsFrom(circuit, each.values) } }
      : malformed(decoded.message);
  });
}

function malformed(message: string): TaskFailure {
  return {
    ok: false,
    code: "proof_malformed",
    message,
    details: [{ message, code: "proof_malformed", path: "proof" }],
  };
}

function verified({ proof, publicSignals }: ProofClaim, result: boolean): VerifyValue {
  return { result, proof: encodeProofHex(proof, BN254), publicSignals: encodePublicSignals(publicSignals) };
}

/** The artifact's hash was checked when it was loaded, so a key that does not decode is a fault of ours. */
async function prepare({ bytes, backend }: KeySource): Promise<PreparedVerifyingKey> {
  const pairing = await loadPairing(backend);
  try {
    return prepareOn(pairing, bytes);
  } catch (error) {
    if (!isKernelPairing(pairing)) throw error;
    return prepareOn(await loadPairing("reference"), bytes);
  }
}

function prepareOn(pairing: Awaited<ReturnType<typeof loadPairing>>, bytes: SharedArrayBuffer): PreparedVerifyingKey {
  const decoded = verifyingKeyFromJson(JSON.parse(Buffer.from(bytes).toString("utf8")), pairing);
  if (!decoded.ok) throw new Error(`verifying key: ${decoded.message}`);
  return prepareWith(pairing, decoded.value);
}

export function invalidWitness(details: NonNullable<TaskFailure["details"]>): TaskFailure {
  return { ok: false, code: "witness_invalid", message: details[0]?.message ?? "the witness is not valid", details };
}
