/**
 * The tasks that verify one proof, or many of one key. They run on the WebAssembly kernels if the message asks for
 * them, and again on the reference backend if the kernels fail.
 */
import { LRUCache } from "lru-cache";
import { checkInputs, checkPublicSignals } from "./circuit/inputs.js";
import { publicSignalsFrom, type CircuitInterface } from "./circuit/interface.js";
import { isKernelPairing } from "./groth16/pairing-backend.js";
import { computeSurely } from "./kernels/wide/compute-surely.js";
import { wideFormOf } from "./kernels/wide/wide-form.js";
import type { PreparedKey, ProofSystem, SystemClaim } from "./proof-systems/proof-system.js";
import { proofSystem } from "./proof-systems/table.js";
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

/** This thread's prepared keys, by system, backend and hash. */
const verifyingKeys = new LRUCache<string, PreparedKey>({ max: VERIFYING_KEYS_MAX });

/** What a verification needs to know of its key. */
type KeyOfMessage = Pick<VerifyMessage, "system" | "verifyingKey" | "backend">;

/** Runs the task `verify`: malformed inputs or a malformed proof are failures, an invalid proof is false. */
export async function verify(message: VerifyMessage): Promise<TaskResult<VerifyValue>> {
  const system = proofSystem(message.system);
  return await withKey(message, (key) => {
    const [judged] = judgeSurely(key, [message], (items) =>
      readClaims(system, message, { items, key }).map((claim) => ({
        claim,
        isValid: claim.ok && system.verify(key, claim.value.proof, claim.value.publicSignals),
      })),
    );
    if (judged === undefined) throw new Error("invariant broken: one item has one claim");
    const { claim } = judged;
    if (!claim.ok) return claim;
    const value = valueOf(system, claim.value, { result: judged.isValid });
    if (message.form !== "solidity" || system.solidityArguments === undefined) return { ok: true, value };
    const { proof, publicSignals } = claim.value;
    return { ok: true, value: { ...value, solidity: system.solidityArguments(proof, publicSignals) } };
  });
}

/** Runs the task `verify_batch`: a malformed item is its own failure. */
export async function verifyBatch(message: VerifyBatchMessage): Promise<TaskResult<VerifyBatchValue>> {
  const system = proofSystem(message.system);
  return await withKey(message, (key) => {
    const judged = judgeSurely(key, message.items, (items) => {
      const read = readClaims(system, message, { items, key });
      const results = system.verifyBatch(
        key,
        read.flatMap((each) => (each.ok ? [each.value] : [])),
      );
      let next = 0;
      return read.map((claim) => ({ claim, isValid: claim.ok && results[next++] === true }));
    });
    return {
      ok: true,
      value: {
        outcomes: judged.map(({ claim, isValid }) =>
          claim.ok ? { ok: true, value: valueOf(system, claim.value, { result: isValid }) } : claim,
        ),
      },
    };
  });
}

/** Verifies a proof that this thread has made. */
export async function isOwnProofValid(
  message: KeyOfMessage,
  proof: object,
  publicSignals: readonly bigint[],
): Promise<boolean> {
  return await withKey(message, (key) => {
    const [isValid = false] = computeSurely([proof], {
      isWide: isWideKey(key),
      compute: () => [proofSystem(message.system).verify(key, proof, publicSignals)],
      isSure: (result) => result,
      areSame: (first, second) => first === second,
    });
    return isValid;
  });
}

/** What was found of one item. */
interface Judged {
  readonly claim: TaskResult<SystemClaim>;
  readonly isValid: boolean;
}

/**
 * Judges items on four lanes, and again on two those that were not found valid. The values of a key, with which every
 * proof is compared, were computed on two lanes: what is wrong meets them by chance alone.
 */
function judgeSurely(
  key: PreparedKey,
  items: readonly UncheckedClaim[],
  judge: (items: readonly UncheckedClaim[]) => Judged[],
): Judged[] {
  return computeSurely(items, {
    isWide: isWideKey(key),
    compute: judge,
    isSure: ({ isValid }) => isValid,
    areSame: (first, second) =>
      first.isValid === second.isValid &&
      (first.claim.ok ? second.claim.ok : !second.claim.ok && first.claim.message === second.claim.message),
  });
}

/** Whether the pairing of a key has a four-lane form in this process. */
function isWideKey({ kernels }: PreparedKey): boolean {
  return isKernelPairing(kernels) && wideFormOf(kernels.curve.name, "pairing") !== undefined;
}

/** Runs the work again on the reference backend if the kernels fail (a trap, a point that they cannot handle). */
async function withKey<Value>(message: KeyOfMessage, work: (key: PreparedKey) => Value): Promise<Value> {
  const key = await preparedKey(message);
  try {
    return work(key);
  } catch (error) {
    if (!isKernelPairing(key.kernels)) throw error;
    return work(await preparedKey({ ...message, backend: "reference" }));
  }
}

/** Prepares a verifying key for this thread, so that the first verification with it need not. */
export async function loadVerifyingKey(message: KeyOfMessage): Promise<void> {
  await preparedKey(message);
}

/** Returns a verifying key, prepared once per thread and backend. */
async function preparedKey({ system, verifyingKey, backend = "reference" }: KeyOfMessage): Promise<PreparedKey> {
  const name = `${system} ${backend} ${verifyingKey.sha256}`;
  const prepared = verifyingKeys.get(name) ?? (await prepare(proofSystem(system), verifyingKey, backend));
  verifyingKeys.set(name, prepared);
  return prepared;
}

/** Returns each item's proof and public signals, or what is wrong with the item. */
function readClaims(
  system: ProofSystem,
  { circuit }: Pick<VerifyMessage, "circuit">,
  { items, key: { kernels } }: { readonly items: readonly UncheckedClaim[]; readonly key: PreparedKey },
): TaskResult<SystemClaim>[] {
  const checked = items.map((item) => readSignals(circuit, item));
  const sound = items.filter((_, i) => checked[i]?.ok === true);
  const proofs = system.decodeProofs(
    sound.map(({ proof }) => proof),
    kernels,
  );
  const sameProofs = system
    .decodeProofs(
      sound.flatMap(({ sameProof }) => (sameProof === undefined ? [] : [sameProof])),
      kernels,
    )
    .values();
  let next = 0;
  return checked.map((each) => {
    if (!each.ok) return each;
    const decoded = proofs[next];
    const same = sound[next]?.sameProof === undefined ? decoded : sameProofs.next().value;
    next += 1;
    if (decoded === undefined || same === undefined) throw new Error("invariant broken: every proof is decoded");
    if (!decoded.ok) return malformed(decoded.message);
    if (!same.ok) return malformed(same.message);
    if (system.encodeHex(same.value) !== system.encodeHex(decoded.value))
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

function valueOf(
  system: ProofSystem,
  { proof, publicSignals }: SystemClaim,
  { result }: Pick<VerifyValue, "result">,
): VerifyValue {
  return { result, proof: system.encodeHex(proof), publicSignals: publicSignals.map(String) };
}

async function prepare(system: ProofSystem, { bytes }: SharedBytes, backend: PairingBackend): Promise<PreparedKey> {
  const verifyingKey: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
  const pairing = await system.loadPairing(backend);
  try {
    return system.prepareKey(verifyingKey, pairing);
  } catch (error) {
    if (!isKernelPairing(pairing)) throw error;
    return system.prepareKey(verifyingKey, await system.loadPairing("reference"));
  }
}

/** Makes the failure of inputs that do not fit the circuit. */
export function invalidWitness(details: NonNullable<TaskFailure["details"]>): TaskFailure {
  return { ok: false, code: "witness_invalid", message: details[0]?.message ?? "the witness is not valid", details };
}
