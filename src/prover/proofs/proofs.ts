/**
 * Proving, verifying and the notes of proofs. The thread pools compute, and the vault opens key material. A proof is
 * returned only after its note and record are on disk.
 */
import { AppError, assert, invalidMember, notFound } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { StreamedBody } from "../../platform/contract/streamed-body.js";
import type { RefusedItem } from "../../platform/contract/refused-item.js";
import type { Events } from "../../platform/events/events.js";
import { newId } from "../../platform/ids.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type { Artifacts } from "../../platform/store/artifacts.js";
import type { ResidentBytes } from "../compute/resident-bytes.js";
import type { ProveValue, TaskFailure, TaskResult, VerifyValue } from "../../engine/protocol.js";
import { builtProver, readyProver } from "../built-prover.js";
import type { Catalog } from "../catalog.js";
import type { ClosedRequest } from "../closed-inputs/closed-inputs.js";
import { isVerifierOnly } from "../imports/import-files.js";
import type { ProveRequest, ReadyProver } from "../providers/provider.js";
import type { KeyPins } from "../provisioning/key-pins.js";
import type { NoteStores, StoredNote } from "./note-stores.js";
import { boundedMeta } from "../labels/labels.js";
import type { Meta } from "../labels/label-schemas.js";
import type { Place, Places } from "../sharing/places.js";
import type { Right } from "../sharing/grants.js";
import type { Admission, ProverAccess } from "../sharing/prover-access.js";
import { verifierCalldata } from "../on-chain/verifier-calldata.js";
import { noteDeposited } from "../prover-events.js";
import type { ProverRepository, StoredProver } from "../repository.js";
import type { Note, ProofItem, ProofRecord, ProveResult } from "../schemas.js";
import type { Attestation, Decision, NotePlace } from "./attestation.js";
import { WitnessFiles } from "./witness-files.js";
import { readClaim } from "./claims.js";
import { hashProof, hashStatement, noteDigest, nullifierKey } from "./public-inputs.js";
import type { ProverVault } from "../vault-port.js";

interface ProofsOptions {
  /** Time that one proof may take, waiting for a thread included. */
  readonly proveDeadlineMs: number;
  readonly verifyDeadlineMs: number;
}

interface ProofsDependencies {
  readonly repository: ProverRepository;
  readonly access: ProverAccess;
  readonly places: Places;
  readonly notes: NoteStores;
  /** The providers, which prove and verify. */
  readonly catalog: Catalog;
  readonly artifacts: Pick<Artifacts, "read" | "resolve">;
  /** The name under which a subject's work waits for its turn. */
  readonly turnOf: (subject: Subject) => string;
  readonly resident: ResidentBytes;
  readonly pins: KeyPins;
  readonly vault: ProverVault;
  readonly events: Pick<Events, "commitOf">;
  readonly clock: Clock;
}

/** What a caller wants proven. */
interface ProofRequest extends Omit<ProveRequest, "closed" | "references">, Attested {
  readonly closed?: ClosedRequest | undefined;
  readonly meta?: Meta;
  readonly signal: AbortSignal;
}

/** The content of a note, encrypted as JSON. */
interface NoteContent {
  readonly prover_id: string;
  readonly proof: string;
  readonly public_signals: readonly string[];
}

type Timings = ProofRecord["timings"];
type OwnPlace = Pick<Place, "vault_id" | "note_key_id" | "note_store_id">;

/** Who is told of decisions beside the caller. */
interface Attested {
  readonly attest?: Attestation;
}

export class Proofs {
  readonly #options: ProofsOptions;
  readonly #with: ProofsDependencies;
  readonly #files = new WitnessFiles();

  constructor(options: ProofsOptions, dependencies: ProofsDependencies) {
    this.#options = options;
    this.#with = dependencies;
  }

  /**
   * Makes a proof, checks it and stores its note.
   * @param request.inputs the caller's named inputs, unchecked
   * @param request.witnessFile in their place: a whole witness, such as snarkjs' `.wtns` file, unchecked
   * @param request.closed inputs that the proving thread alone opens: all of them, or what `inputs` names in vaults
   * @param request.meta free data of the proof's record
   * @param request.attest called with the decision, before and after it is stored
   * @throws AppError `not_found`, `forbidden`, `prover_not_provisioned`, `invalid_request`, `witness_missing`,
   *   `witness_invalid`, `constraints_unsatisfied`, `proof_self_check_failed`, `artifact_corrupt`,
   *   `prover_verifies_only`, `decryption_failed`, and what closed inputs, pools, vault and store throw
   */
  async prove(
    caller: Subject,
    id: string,
    { signal, meta: said, closed, attest, ...request }: ProofRequest,
  ): Promise<ProveResult> {
    const admission = this.#admit(caller, id, "prove");
    const { prover } = admission;
    const turn = this.#with.turnOf(caller);
    const meta = boundedMeta(said);
    this.#requireForm(prover, request.format);
    if (isVerifierOnly(prover)) throw verifiesOnly();
    requireOneWitness({ ...request, closed });
    const [provingKeySha256, verifyingKeySha256] = await Promise.all([
      this.#with.pins.read(prover, "proving_key", turn),
      this.#with.pins.read(prover, "verifying_key", turn),
    ]);
    await attest?.begin(prover, { isBatch: false });
    const pinned = { proving_key: provingKeySha256, "verifying_key.json": verifyingKeySha256 };
    const provider = this.#with.catalog.providerOf(prover);
    if (closed !== undefined && provider.takesClosedInputs !== true)
      throw invalidMember("witness", `provers of ${provider.name} take no closed inputs`);
    const ready = this.#ready(prover, pinned);
    const options = { owner: turn, signal, deadlineMs: this.#options.proveDeadlineMs };
    const result = await withClosed(closed, admission, async (part) => {
      return await provider.prove(ready, { ...request, ...part }, options);
    });
    if (!result.ok) throw admission.isOwner ? taskError(result) : taskError(withoutSource(result));
    const { proof, publicSignals, timings } = result.value;
    const keys = { verifyingKeySha256, provingKeySha256 };
    const decision: Decision = { action: "prove", result: true, admission, ready, proof, publicSignals, ...keys };
    await attest?.confirm(decision);
    const record = await this.#store(caller, admission, {
      proof,
      meta,
      publicSignals,
      verifyingKeySha256,
      origin: "prove",
      timings: {
        witness_ms: round(timings.witnessMs),
        prove_ms: round(timings.proveMs),
        check_ms: round(timings.checkMs),
      },
    });
    await attest?.sign([decision], this.#noteAt(caller, id, record.note_index));
    return { proof, ...record, ...formsOf(result.value, prover.proving_scheme) };
  }

  /**
   * Makes a proof of a whole witness that is still on its way; otherwise as `prove`.
   * @throws AppError what `prove` and `WitnessFiles.hold` throw
   */
  async proveFile(
    caller: Subject,
    id: string,
    { body, ...request }: Pick<ProofRequest, "format" | "signal"> & { readonly body: StreamedBody },
  ): Promise<ProveResult> {
    const { prover } = this.#admit(caller, id, "prove");
    const provider = this.#with.catalog.providerOf(prover);
    if (isVerifierOnly(prover)) throw verifiesOnly();
    if (provider.witnessFileBytes === undefined)
      throw invalidMember("witness_file", `provers of ${provider.name} take no witness files`);
    const bytesMax = await provider.witnessFileBytes(
      builtProver(prover, this.#with.catalog.systemOf(prover), this.#with),
    );
    return await this.#files.hold(caller, { body, bytesMax }, async (witnessFile) => {
      return await this.prove(caller, id, { ...request, inputs: undefined, witnessFile });
    });
  }

  /**
   * Returns whether the proof is valid for the public members of the inputs; with `store`, a valid proof gets a note.
   * @throws AppError `forbidden` for `store` by one who may verify only, `proof_malformed`, `witness_missing`,
   *   `witness_invalid`, and as `prove`
   */
  async verify(
    caller: Subject,
    id: string,
    request: Attested & {
      readonly item: ProofItem;
      readonly store: boolean;
      /** Another verifier, which is asked as well; what it throws ends the request before anything is stored. */
      readonly confirm?: ((checked: VerifyValue) => Promise<void>) | undefined;
      readonly signal: AbortSignal;
    },
  ): Promise<boolean> {
    const { attest } = request;
    const verifying = this.#admit(caller, id, "verify");
    const { prover } = verifying;
    if (request.store && this.#with.access.find(caller, id, "prove") === undefined)
      throw new AppError("forbidden", { message: "this prover is shared for verification, without storing" });
    const admission = request.store ? this.#admit(caller, id, "prove") : verifying;
    const meta = boundedMeta(request.store ? request.item.meta : undefined);
    const claim = readClaim(request.item, id);
    if (claim instanceof AppError) throw claim;
    const verifyingKeySha256 = await this.#with.pins.read(prover, "verifying_key", this.#with.turnOf(caller));
    await attest?.begin(prover, { isBatch: false });
    const ready = this.#ready(prover, { "verifying_key.json": verifyingKeySha256 });
    const asked = request.confirm === undefined ? claim : { ...claim, form: "solidity" as const };
    const checked = await this.#with.catalog.providerOf(prover).verify(ready, asked, {
      owner: this.#with.turnOf(caller),
      signal: request.signal,
      deadlineMs: this.#options.verifyDeadlineMs,
    });
    if (!checked.ok) throw taskError(checked);
    const { result, proof, publicSignals } = checked.value;
    const decision: Decision = { action: "verify", ready, admission, verifyingKeySha256, ...checked.value };
    await attest?.confirm(decision);
    let note: NotePlace | undefined;
    await request.confirm?.(checked.value);
    if (result && request.store) {
      const proven = { proof, publicSignals, verifyingKeySha256, meta, origin: "verify", timings: null } as const;
      const { note_index: index } = await this.#store(caller, admission, proven);
      note = this.#noteAt(caller, id, index);
    } else admission.requireStill();
    await attest?.sign([decision], note);
    return result;
  }

  /**
   * Verifies many proofs; returns true, false or the item's own error, in the order of the items. Nothing is stored.
   * Slices run one after the other, so that a single verification waits for one slice at most and a long batch takes
   * one thread.
   * @throws AppError what concerns the prover or the pool, and so all items
   */
  async verifyBatch(
    caller: Subject,
    id: string,
    request: Attested & { readonly items: readonly (ProofItem | RefusedItem)[]; readonly signal: AbortSignal },
  ): Promise<(boolean | AppError)[]> {
    const admission = this.#admit(caller, id, "verify");
    const { prover, requireStill } = admission;
    await request.attest?.begin(prover, { isBatch: true });
    const verifyingKeySha256 = await this.#with.pins.read(prover, "verifying_key", this.#with.turnOf(caller));
    const ready = this.#ready(prover, { "verifying_key.json": verifyingKeySha256 });
    const provider = this.#with.catalog.providerOf(prover);
    const results: (boolean | AppError)[] = [];
    const { verifySliceItems } = ready.system;
    for (let start = 0; start < request.items.length; start += verifySliceItems) {
      const slice = request.items.slice(start, start + verifySliceItems).map((item) => readClaim(item, id));
      request.signal.throwIfAborted();
      const claims = slice.flatMap((claim) => (claim instanceof AppError ? [] : [claim]));
      const checked = await provider.verifyBatch(ready, claims, {
        owner: this.#with.turnOf(caller),
        signal: request.signal,
        deadlineMs: this.#options.verifyDeadlineMs,
      });
      requireStill();
      if (!checked.ok) throw taskError(checked);
      const outcomes = checked.value.outcomes.values();
      const outcomeOf = slice.map((claim) => (claim instanceof AppError ? claim : outcomes.next().value));
      results.push(...outcomeOf.map((outcome) => (outcome instanceof AppError ? outcome : resultOf(outcome))));
      const shared = { action: "verify", ready, admission, verifyingKeySha256 } as const;
      await request.attest?.sign(
        outcomeOf.map((outcome) =>
          outcome instanceof AppError || outcome?.ok !== true ? undefined : { ...shared, ...outcome.value },
        ),
      );
    }
    return results;
  }

  /**
   * Returns a note of the caller's store for the prover, decrypted, also one of another prover that shares the store.
   * @param index from 0
   * @throws AppError `not_found`, `data_corrupt`
   */
  async note(caller: Subject, id: string, index: number): Promise<Note> {
    const storeId = this.#noteStoreOf(caller, id);
    const note = storeId === undefined ? undefined : this.#with.notes.readNote(caller, storeId, index);
    const tree = storeId === undefined ? undefined : this.#with.notes.read(caller, storeId)?.tree;
    if (storeId === undefined || note === undefined || tree === undefined) throw notFound("note");
    const plaintext = await this.#decrypt(caller, storeId, note);
    return {
      index,
      root: tree.root,
      size: tree.size,
      leaf: note.leaf,
      nullifier_key: nullifierKey(note.ciphertext),
      value: Buffer.from(plaintext).toString("base64"),
    };
  }

  /** A shared store keeps the leaves of a deleted prover, but its notes cannot be decrypted without its vault. */
  async #decrypt(owner: Subject, storeId: string, note: StoredNote): Promise<Uint8Array> {
    try {
      return await this.#with.vault.decrypt(
        owner,
        { vaultId: note.vault_id, keyId: note.key_id },
        note.ciphertext,
        noteContext(storeId, note.prover_id),
      );
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "not_found") throw error;
      throw new AppError("not_found", { message: "the key that opens this note was deleted", cause: error });
    }
  }

  /** Undefined for one who may prove with another's prover and has not yet. */
  #noteStoreOf(caller: Subject, id: string): string | undefined {
    const place = this.#with.places.find(caller, id)?.value;
    if (place !== undefined) return place.note_store_id;
    const { prover, isOwner } = this.#with.access.require(caller, id, "prove");
    return isOwner ? prover.note_store_id : undefined;
  }

  /** Where a note is that was just written; undefined once its store is deleted. */
  #noteAt(caller: Subject, id: string, index: number): NotePlace | undefined {
    const storeId = this.#noteStoreOf(caller, id);
    const tree = storeId === undefined ? undefined : this.#with.notes.read(caller, storeId)?.tree;
    if (storeId === undefined || tree === undefined) return undefined;
    return { store_id: storeId, index, root: tree.root, size: tree.size };
  }

  /** Writes the note and the record of a proof, which are the caller's, whoever owns the prover. */
  async #store(
    caller: Subject,
    admission: Admission,
    proven: {
      readonly meta: Meta;
      readonly proof: string;
      readonly publicSignals: readonly string[];
      readonly verifyingKeySha256: string;
      readonly origin: ProofRecord["origin"];
      readonly timings: Timings;
    },
  ): Promise<ProofRecord> {
    const { prover, checks } = admission;
    const proofHash = hashProof(proven.proof);
    const statementHash = hashStatement(prover.id, proven.verifyingKeySha256, proven.publicSignals);
    const content: NoteContent = { prover_id: prover.id, proof: proven.proof, public_signals: proven.publicSignals };
    const { place, ciphertext } = await this.#encrypt(caller, admission, Buffer.from(JSON.stringify(content)));
    const record: Omit<ProofRecord, "note_index"> = {
      id: newId(),
      created_at: isoTimestamp(this.#with.clock.nowMs()),
      prover_id: prover.id,
      hash: proofHash,
      statement_hash: statementHash,
      public_signals: [...proven.publicSignals],
      bytes: proven.proof.length / 2,
      origin: proven.origin,
      meta: proven.meta,
      timings: proven.timings,
    };
    const noteIndex = await this.#with.notes.append(caller, place.note_store_id, {
      digest: noteDigest(statementHash, proofHash),
      statementHash,
      proofHash,
      note: { prover_id: prover.id, vault_id: place.vault_id, key_id: place.note_key_id, ciphertext },
      // Nothing is written for a prover that was deleted meanwhile, nor for one whose right has ended.
      checks,
      records: (index) =>
        mergeCommits(
          this.#with.repository.insertProof(caller, { ...record, note_index: index }),
          this.#with.events.commitOf([noteDeposited(caller, prover.id)]),
        ),
    });
    return { ...record, note_index: noteIndex };
  }

  /** Encrypts a note with the caller's own key for this prover, in the caller's own place. */
  async #encrypt(
    caller: Subject,
    { prover, isOwner, checks }: Admission,
    note: Uint8Array,
  ): Promise<{ readonly place: OwnPlace; readonly ciphertext: string }> {
    const encrypt = async (place: OwnPlace): Promise<{ place: OwnPlace; ciphertext: string }> => {
      const key = { vaultId: place.vault_id, keyId: place.note_key_id };
      const context = noteContext(place.note_store_id, prover.id);
      return { place, ciphertext: await this.#with.vault.encrypt(caller, key, note, context) };
    };
    const { vault_id, note_store_id, build } = prover;
    if (isOwner) return await encrypt({ vault_id, note_store_id, note_key_id: build.note_key_id });
    const place = await this.#with.places.open(caller, prover, { checks });
    try {
      return await encrypt(place);
    } catch (error) {
      // The caller has deleted the key or its vault; the owner's notes have a vault that is the prover's own.
      if (!(error instanceof AppError) || error.code !== "not_found") throw error;
      return await encrypt(await this.#with.places.open(caller, prover, { checks, lostKey: place.note_key_id }));
    }
  }

  #ready(prover: StoredProver, pinned: Parameters<typeof readyProver>[2]["pinned"]): ReadyProver {
    return readyProver(prover, this.#with.catalog.systemOf(prover), { ...this.#with, pinned });
  }

  #requireForm(prover: StoredProver, format: ProveRequest["format"]): void {
    if (format === undefined || this.#with.catalog.systemOf(prover).forms.includes(format)) return;
    const message =
      format === "solidity"
        ? `proofs over ${prover.curve} have no form for Solidity`
        : `proofs of ${prover.proving_scheme} have no form of ${format}`;
    throw invalidMember("format", message);
  }

  #admit(caller: Subject, id: string, right: Right): Admission {
    const admission = this.#with.access.require(caller, id, right);
    const { status } = admission.prover;
    if (status !== "provisioned")
      throw new AppError("prover_not_provisioned", {
        message: `the prover is not provisioned, its status is ${status}`,
      });
    return admission;
  }
}

/** The inputs come in one of three forms. */
function requireOneWitness({
  inputs,
  witnessFile,
  closed,
}: Pick<ProofRequest, "inputs" | "witnessFile" | "closed">): void {
  const given = [inputs, witnessFile, closed?.isToken === true ? closed : undefined].filter((one) => one !== undefined);
  if (given.length === 0) throw witnessMissing("witness required for proof generation");
  if (given.length > 1)
    throw invalidMember("witness_file", "give one of witness, witness_file and witness_jwe, not several");
}

/**
 * Proves while closed inputs are given to the thread that asks for them.
 * @throws AppError why it got none
 */
async function withClosed(
  closed: ClosedRequest | undefined,
  admission: Admission,
  prove: (part: Pick<ProveRequest, "closed" | "references">) => Promise<TaskResult<ProveValue>>,
): Promise<TaskResult<ProveValue>> {
  if (closed === undefined) return await prove({});
  const work = await closed.begin(admission);
  try {
    const result = await prove({ closed: work.message, references: closed.references });
    const failure = work.failure();
    if (!result.ok && failure !== undefined) throw failure;
    return result;
  } finally {
    work.end();
  }
}

/** Binds a note to its store and prover: elsewhere it does not decrypt. */
function noteContext(storeId: string, proverId: string): string {
  return `pv/v1/note:${storeId}:${proverId}`;
}

function resultOf(outcome: TaskResult<VerifyValue> | undefined): boolean | AppError {
  assert(outcome !== undefined, "each item has an outcome");
  return outcome.ok ? outcome.value.result : taskError(outcome);
}

function witnessMissing(message: string): AppError {
  return invalidMember("witness", message, "witness_missing");
}

function verifiesOnly(): AppError {
  return new AppError("prover_verifies_only", {
    message: "the prover was made of a verifying key alone and proves nothing",
  });
}

/** Returns what a failed task answers. */
export function taskError(failure: TaskFailure): AppError {
  return new AppError(failure.code, {
    message: failure.message,
    ...(failure.details === undefined ? {} : { details: failure.details }),
  });
}

/** Who does not own the prover never sees its source, nor the places in it that a failing assertion names. */
function withoutSource(failure: TaskFailure): TaskFailure {
  if (failure.code !== "constraints_unsatisfied") return failure;
  return { ok: false, code: failure.code, message: "the inputs do not satisfy the circuit, or it fails for them" };
}

function formsOf(
  { snarkjs, solidity, publicSignals }: ProveValue,
  scheme: string,
): Pick<ProveResult, "snarkjs" | "solidity"> {
  return {
    ...(snarkjs === undefined ? {} : { snarkjs: { proof: snarkjs, public_signals: [...publicSignals] } }),
    ...(solidity === undefined ? {} : { solidity: { ...solidity, calldata: verifierCalldata(scheme, solidity) } }),
  };
}

/** Tenths of a millisecond. */
function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
