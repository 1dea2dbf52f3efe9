/**
 * The tasks that verify one proof, or many of one key. They run on the WebAssembly kernels if the message asks for
 * them, and again on the reference backend if the kernels fail.
 */
import { LRUCache } from "lru-cache";
import { checkInputs, checkPublicSignals } from "./circuit/inputs.js";
import { publicSignalsFrom, type CircuitInterface } from "./circuit/interface.js";
import { BN254 } from "./curves/bn254.js";
import { decodeProofs, encodeProofHex } from "./encoding/groth16-proof.js";
import { verifyingKeyFromJson } from "./encoding/groth16-verifying-key.js";
import { isKernelPairing, loadPairing } from "./groth16/pairing-backend.js";
import type { Groth16Proof } from "./groth16/proof.js";
import { verifyGroth16Batch } from "./groth16/verify-batch.js";
import { prepareWith, verifyGroth16, type PreparedVerifyingKey, type ProofClaim } from "./groth16/verify.js";
import type {
  PairingBackend,
  SharedBytes,
  TaskFailure,
  TaskResult,
  UncheckedClaim,
  VerifyBatchMessage,
  VerifyBatchValue,
  VerifyMessage,
  VerifyValue,
} from "./protocol.js";

/** A prepared verifying key takes about 200 KiB. */
const VERIFYING_KEYS_MAX = 256;

/** This thread's prepared keys, by backend and hash. */
const verifyingKeys = new LRUCache<string, PreparedVerifyingKey>({ max: VERIFYING_KEYS_MAX });

/** Returns a verifying key, prepared once per thread and backend. */
export async function preparedKey(shared: SharedBytes, backend: PairingBackend): Promise<PreparedVerifyingKey> {
  const name = `${backend} ${shared.sha256}`;
  const prepared = verifyingKeys.get(name) ?? (await prepare(shared.bytes, backend));
  verifyingKeys.set(name, prepared);
  return prepared;
}

/** Runs the task `verify`: malformed inputs or a malformed proof are failures, an invalid proof is false. */
export async function verify(message: VerifyMessage): Promise<TaskResult<VerifyValue>> {
  return await withKey(message, (key) => {
    const [read] = readClaims(message, [message], key);
    if (read === undefined) throw new Error("invariant broken: one item has one claim");
    if (!read.ok) return read;
    const { proof, publicSignals } = read.value;
    return { ok: true, value: valueOf(read.value, { result: verifyGroth16(key, proof, publicSignals) }) };
  });
}

/** Runs the task `verify_batch`: a malformed item is its own failure. */
export async function verifyBatch(message: VerifyBatchMessage): Promise<TaskResult<VerifyBatchValue>> {
  return await withKey(message, (key) => {
    const read = readClaims(message, message.items, key);
    const results = verifyGroth16Batch(
      key,
      read.flatMap((each) => (each.ok ? [each.value] : [])),
    );
    let next = 0;
    return {
      ok: true,
      value: {
        outcomes: read.map((each) =>
          each.ok ? { ok: true, value: valueOf(each.value, { result: results[next++] === true }) } : each,
        ),
      },
    };
  });
}

/** Verifies a proof that this thread has made. */
export async function isOwnProofValid(
  message: Pick<VerifyMessage, "verifyingKey" | "backend">,
  proof: Groth16Proof,
  publicSignals: readonly bigint[],
): Promise<boolean> {
  return await withKey(message, (key) => verifyGroth16(key, proof, publicSignals));
}

/** Runs the work again on the reference backend if the kernels fail (a trap, a point that they cannot handle). */
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

/** Returns each item's proof and public signals, or what is wrong with the item. */
function readClaims(
  { circuit }: Pick<VerifyMessage, "circuit">,
  items: readonly UncheckedClaim[],
  { kernels }: PreparedVerifyingKey,
): TaskResult<ProofClaim>[] {
  const checked = items.map((item) => readSignals(circuit, item));
  const sound = items.filter((_, i) => checked[i]?.ok === true);
  const proofs = decodeProofs(
    sound.map(({ proof }) => proof),
    kernels,
  );
  const sameProofs = decodeProofs(
    sound.flatMap(({ sameProof }) => (sameProof === undefined ? [] : [sameProof])),
    kernels,
  ).values();
  let next = 0;
  return checked.map((each) => {
    if (!each.ok) return each;
    const decoded = proofs[next];
    const same = sound[next]?.sameProof === undefined ? decoded : sameProofs.next().value;
    next += 1;
    if (decoded === undefined || same === undefined) throw new Error("invariant broken: every proof is decoded");
    if (!decoded.ok) return malformed(decoded.message);
    if (!same.ok) return malformed(same.message);
    if (encodeProofHex(same.value, BN254) !== encodeProofHex(decoded.value, BN254))
      return malformed("the proof is given in two forms, which are different proofs");
    return { ok: true, value: { proof: decoded.value, publicSignals: each.value } };
  });
}

/** Returns the public signals that a claim names, in circuit order. */
function readSignals(circuit: CircuitInterface, { inputs, publicSignals }: UncheckedClaim): TaskResult<bigint[]> {
  const listed = publicSignals === undefined ? undefined : checkPublicSignals(circuit, publicSignals);
  if (listed?.ok === false) return invalidWitness(listed.details);
  if (listed?.ok === true && inputs === undefined) return { ok: true, value: [...listed.signals] };
  const checked = checkInputs(circuit, inputs, { publicOnly: true });
  if (!checked.ok) return invalidWitness(checked.details);
  const signals = publicSignalsFrom(circuit, checked.values);
  if (listed?.ok === true && listed.signals.some((signal, i) => signal !== signals[i])) {
    const message = "public_signals and the witness are different";
    return invalidWitness([{ message, code: "witness_invalid", path: "public_signals" }]);
  }
  return { ok: true, value: signals };
}

function malformed(message: string): TaskFailure {
  return {
    ok: false,
    code: "proof_malformed",
    message,
    details: [{ message, code: "proof_malformed", path: "proof" }],
  };
}

function valueOf({ proof, publicSignals }: ProofClaim, { result }: Pick<VerifyValue, "result">): VerifyValue {
  return { result, proof: encodeProofHex(proof, BN254), publicSignals: publicSignals.map(String) };
}

/** The artifact's hash was checked when it was loaded, so a key that does not decode is a bug. */
async function prepare(bytes: SharedArrayBuffer, backend: PairingBackend): Promise<PreparedVerifyingKey> {
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

/** Makes the failure of inputs that do not fit the circuit. */
export function invalidWitness(details: NonNullable<TaskFailure["details"]>): TaskFailure {
  return { ok: false, code: "witness_invalid", message: details[0]?.message ?? "the witness is not valid", details };
}
