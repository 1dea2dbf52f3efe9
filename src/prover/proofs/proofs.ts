/**
 * Proving, verifying and the notes of proofs. The thread pools compute, and the vault opens key material. A proof is
 * returned only after its note and record are on disk.
 */
import { AppError, assert, invalidMember, notFound } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { RefusedItem } from "../../platform/contract/refused-item.js";
import type { Events } from "../../platform/events/events.js";
import { newId } from "../../platform/ids.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type { Artifacts } from "../../platform/store/artifacts.js";
import type { ResidentBytes } from "../compute/resident-bytes.js";
import type { ProveValue, TaskFailure, TaskResult, UncheckedClaim, VerifyValue } from "../../engine/protocol.js";
import { readyProver } from "../built-prover.js";
import type { Catalog } from "../catalog.js";
import { isVerifierOnly } from "../imports/import-files.js";
import type { ProveRequest, ReadyProver } from "../providers/provider.js";
import type { KeyPins } from "../provisioning/key-pins.js";
import { boundedMeta } from "../labels/labels.js";
import type { Meta } from "../labels/label-schemas.js";
import type { Place, Places } from "../sharing/places.js";
import type { Right } from "../sharing/grants.js";
import type { Admission, ProverAccess } from "../sharing/prover-access.js";
import { noteDeposited, noteNullified } from "../prover-events.js";
import type { ProverRepository, StoredProver } from "../repository.js";
import type { Note, ProofItem, ProofRecord, ProveResult } from "../schemas.js";
import { readClaim } from "./claims.js";
import { hashProof, hashStatement, noteDigest, noteNullifier } from "./public-inputs.js";
import type { Appended, PendingAppend } from "../stores/pending-append.js";
import type { ProofStores } from "../stores/proof-stores.js";
import type { SpendPlan, SpendRequest, Spending, Spends } from "../stores/spending.js";
import type { StoreAppends } from "../stores/store-appends.js";
import type { StoredNote } from "../stores/store-records.js";
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
  readonly stores: ProofStores;
  readonly appends: StoreAppends;
  readonly spending: Spending;
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

/** What the items of a batch may spend, and who is told of each. */
interface BatchSpend {
  /** Of the items that say nothing else. */
  readonly nullifier?: string | boolean | undefined;
  readonly mayCreate: boolean;
  readonly onSpent: (index: number, spent: Appended["spent"]) => void;
}

/** The content of a note, encrypted as JSON. */
interface NoteContent {
  readonly prover_id: string;
  readonly proof: string;
  readonly public_signals: readonly string[];
}

type Timings = ProofRecord["timings"];
type NotePlace = Pick<Place, "vault_id" | "note_key_id" | "note_store_id">;

/** A valid proof, of which something is to be kept or spent. */
interface Proven {
  readonly proof: string;
  readonly publicSignals: readonly string[];
  readonly verifyingKeySha256: string;
  readonly plan: SpendPlan | undefined;
  readonly onSpent: SpendRequest["onSpent"];
}

/** A proof whose note and record are kept. */
interface KeptProof extends Proven {
  readonly meta: Meta;
  readonly origin: ProofRecord["origin"];
  readonly timings: Timings;
}

export class Proofs {
  readonly #options: ProofsOptions;
  readonly #with: ProofsDependencies;

  constructor(options: ProofsOptions, dependencies: ProofsDependencies) {
    this.#options = options;
    this.#with = dependencies;
  }

  /**
   * Makes a proof, checks it and stores its note.
   * @param request.inputs the caller's named inputs, unchecked
   * @param request.witnessFile in their place: a whole witness, such as snarkjs' `.wtns` file, unchecked
   * @param request.meta free data of the proof's record
   * @param request.spend what the proof spends, in the commit that stores it
   * @throws AppError `not_found`, `forbidden`, `prover_not_provisioned`, `invalid_request`, `witness_missing`,
   *   `witness_invalid`, `constraints_unsatisfied`, `proof_self_check_failed`, `artifact_corrupt`,
   *   `prover_verifies_only`, `note_double_spend`, and what pools, vault and store throw
   */
  async prove(
    caller: Subject,
    id: string,
    {
      signal,
      meta: said,
      spend = { mayCreate: true },
      ...request
    }: ProveRequest & { readonly meta?: Meta; readonly signal: AbortSignal; readonly spend?: SpendRequest },
  ): Promise<ProveResult> {
    const admission = this.#admit(caller, id, "prove");
    const { prover } = admission;
    const { owner } = prover.build;
    const meta = boundedMeta(said);
    this.#requireForm(prover, request.format);
    if (isVerifierOnly(prover))
      throw new AppError("prover_verifies_only", {
        message: "the prover was made of a verifying key alone and proves nothing",
      });
    const { inputs, witnessFile } = request;
    if (inputs === undefined && witnessFile === undefined)
      throw witnessMissing("witness required for proof generation");
    if (inputs !== undefined && witnessFile !== undefined)
      throw invalidMember("witness_file", "give either witness or witness_file, not both");
    const [provingKeySha256, verifyingKeySha256] = await Promise.all([
      this.#with.pins.read(owner, prover, "proving_key"),
      this.#with.pins.read(owner, prover, "verifying_key"),
    ]);
    const pinned = { proving_key: provingKeySha256, "verifying_key.json": verifyingKeySha256 };
    const ready = this.#ready(prover, pinned);
    const plan = await this.#with.spending.plan(caller, admission, spend, { built: ready, isVerified: false });
    const result = await this.#with.catalog.providerOf(prover).prove(ready, request, {
      owner: this.#with.turnOf(caller),
      signal,
      deadlineMs: this.#options.proveDeadlineMs,
    });
    if (!result.ok) throw admission.isOwner ? taskError(result) : taskError(withoutSource(result));
    const { proof, publicSignals, timings } = result.value;
    const { record } = await this.#store(caller, admission, {
      proof,
      meta,
      publicSignals,
      verifyingKeySha256,
      plan,
      onSpent: spend.onSpent,
      origin: "prove",
      timings: {
        witness_ms: round(timings.witnessMs),
        prove_ms: round(timings.proveMs),
        check_ms: round(timings.checkMs),
      },
    });
    return { proof, ...record, ...formsOf(result.value) };
  }

  /**
   * Returns whether the proof is valid for the public members of the inputs; with `store`, a valid proof gets a note.
   * What it spends is spent in the same commit, before true is returned; an invalid proof spends nothing.
   * @throws AppError `forbidden` for `store` or spending by one who may verify only, `proof_malformed`,
   *   `witness_missing`, `witness_invalid`, `note_double_spend`, and as `prove`
   */
  async verify(
    caller: Subject,
    id: string,
    request: {
      readonly item: ProofItem;
      readonly store: boolean;
      readonly signal: AbortSignal;
      readonly spend?: Pick<SpendRequest, "mayCreate" | "onSpent">;
    },
  ): Promise<boolean> {
    const verifying = this.#admit(caller, id, "verify");
    const { prover } = verifying;
    if (request.store && this.#with.access.find(caller, id, "prove") === undefined)
      throw new AppError("forbidden", { message: "this prover is shared for verification, without storing" });
    const meta = boundedMeta(request.store ? request.item.meta : undefined);
    const claim = readClaim(request.item, id);
    if (claim instanceof AppError) throw claim;
    const verifyingKeySha256 = await this.#with.pins.read(prover.build.owner, prover, "verifying_key");
    const ready = this.#ready(prover, { "verifying_key.json": verifyingKeySha256 });
    const spend = { mayCreate: false, ...request.spend, ...spendsOf(request.item) };
    const plan = await this.#with.spending.plan(caller, verifying, spend, { built: ready, isVerified: true });
    const admission = request.store || plan !== undefined ? this.#admit(caller, id, "prove") : verifying;
    const checked = await this.#with.catalog.providerOf(prover).verify(ready, claim, {
      owner: this.#with.turnOf(caller),
      signal: request.signal,
      deadlineMs: this.#options.verifyDeadlineMs,
    });
    if (!checked.ok) throw taskError(checked);
    const { result, proof, publicSignals } = checked.value;
    const proven = { proof, publicSignals, verifyingKeySha256, plan, onSpent: spend.onSpent };
    if (result && request.store)
      await this.#store(caller, admission, { ...proven, meta, origin: "verify", timings: null });
    else if (result && plan !== undefined) await this.#spend(caller, admission, proven);
    else admission.requireStill();
    return result;
  }

  /**
   * Verifies many proofs; returns true, false or the item's own error, in the order of the items. No note is stored;
   * what items spend is spent by each for itself, so that of two that spend the same the first one does. Slices run
   * one after the other, so that a single verification waits for one slice at most and a long batch takes one thread.
   * @throws AppError what concerns the prover or the pool, and so all items
   */
  async verifyBatch(
    caller: Subject,
    id: string,
    request: {
      readonly items: readonly (ProofItem | RefusedItem)[];
      readonly signal: AbortSignal;
      readonly spend?: BatchSpend;
    },
  ): Promise<(boolean | AppError)[]> {
    const admission = this.#admit(caller, id, "verify");
    const { prover } = admission;
    const verifyingKeySha256 = await this.#with.pins.read(prover.build.owner, prover, "verifying_key");
    const ready = this.#ready(prover, { "verifying_key.json": verifyingKeySha256 });
    const provider = this.#with.catalog.providerOf(prover);
    const results: (boolean | AppError)[] = [];
    const { verifySliceItems } = ready.system;
    for (let start = 0; start < request.items.length; start += verifySliceItems) {
      const slice = await Promise.all(
        request.items
          .slice(start, start + verifySliceItems)
          .map(async (item) => await this.#readItem(caller, admission, item, { ready, spend: request.spend })),
      );
      request.signal.throwIfAborted();
      const claims = slice.flatMap((item) => (item instanceof AppError ? [] : [item.claim]));
      const checked = await provider.verifyBatch(ready, claims, {
        owner: this.#with.turnOf(caller),
        signal: request.signal,
        deadlineMs: this.#options.verifyDeadlineMs,
      });
      admission.requireStill();
      if (!checked.ok) throw taskError(checked);
      const outcomes = checked.value.outcomes.values();
      const decided = slice.map((item, offset) => {
        const index = start + offset;
        return item instanceof AppError ? item : { ...item, index, outcome: outcomes.next().value };
      });
      // All at once, so that they share commits; they are queued in their order.
      results.push(
        ...(await Promise.all(
          decided.map(async (item) =>
            item instanceof AppError
              ? item
              : await this.#finishItem(caller, id, item, { verifyingKeySha256, onSpent: request.spend?.onSpent }),
          ),
        )),
      );
    }
    return results;
  }

  /** Reads an item of a batch, and what it spends; returns what is wrong with it. */
  async #readItem(
    caller: Subject,
    admission: Admission,
    item: ProofItem | RefusedItem,
    { ready, spend }: { readonly ready: ReadyProver; readonly spend: BatchSpend | undefined },
  ): Promise<{ readonly claim: UncheckedClaim; readonly plan: SpendPlan | undefined } | AppError> {
    const claim = readClaim(item, admission.prover.id);
    if (claim instanceof AppError || item instanceof RefusedItem) return asError(claim);
    const { nullifier = spend?.nullifier, spends } = spendsOf(item);
    const wanted = { nullifier, spends, mayCreate: spend?.mayCreate ?? false };
    try {
      const plan = await this.#with.spending.plan(caller, admission, wanted, { built: ready, isVerified: true });
      return { claim, plan };
    } catch (error) {
      return asError(error);
    }
  }

  /** Spends what a valid item of a batch spends, and returns its result. */
  async #finishItem(
    caller: Subject,
    id: string,
    {
      plan,
      outcome,
      index,
    }: {
      readonly plan: SpendPlan | undefined;
      readonly outcome: TaskResult<VerifyValue> | undefined;
      readonly index: number;
    },
    {
      verifyingKeySha256,
      onSpent,
    }: { readonly verifyingKeySha256: string; readonly onSpent: BatchSpend["onSpent"] | undefined },
  ): Promise<boolean | AppError> {
    const result = resultOf(outcome);
    if (result !== true || plan === undefined || outcome?.ok !== true) return result;
    const { proof, publicSignals } = outcome.value;
    try {
      await this.#spend(caller, this.#admit(caller, id, "prove"), {
        ...{ proof, publicSignals, verifyingKeySha256, plan },
        onSpent: (spent) => onSpent?.(index, spent),
      });
      return true;
    } catch (error) {
      return asError(error);
    }
  }

  /**
   * Returns a note of the caller's store for the prover, decrypted, also one of another prover that shares the store.
   * @param index from 0
   * @throws AppError `not_found`, `data_corrupt`
   */
  async note(caller: Subject, id: string, index: number): Promise<Note> {
    const storeId = this.#noteStoreOf(caller, id);
    const note = storeId === undefined ? undefined : this.#with.stores.readNote(caller, storeId, index);
    const tree = storeId === undefined ? undefined : this.#with.stores.read(caller, storeId)?.tree;
    if (storeId === undefined || note === undefined || tree === undefined) throw notFound("note");
    const plaintext = await this.#decrypt(caller, storeId, note);
    return {
      index,
      root: tree.root,
      size: tree.size,
      leaf: note.leaf,
      nullifier_key: Buffer.from(noteNullifier(note.ciphertext), "hex").toString("base64"),
      spent: this.#with.stores.isNoteSpent({ owner: caller, id: storeId }, index),
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

  /** Writes the note and the record of a proof, which are the caller's, whoever owns the prover. */
  async #store(
    caller: Subject,
    admission: Admission,
    proven: KeptProof,
  ): Promise<Pick<Appended, "spent"> & { readonly record: ProofRecord }> {
    const { prover } = admission;
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
    const { noteIndex, spent } = await this.#append(caller, admission, proven, {
      note: {
        store: { owner: caller, id: place.note_store_id },
        digest: noteDigest(statementHash, proofHash),
        ...{ statementHash, proofHash },
        record: { prover_id: prover.id, vault_id: place.vault_id, key_id: place.note_key_id, ciphertext },
      },
      records: ({ noteIndex: index = 0 }) =>
        mergeCommits(
          this.#with.repository.insertProof(caller, { ...record, note_index: index }),
          this.#with.events.commitOf([noteDeposited(caller, prover.id)]),
        ),
    });
    assert(noteIndex !== undefined, "a note has a place");
    return { record: { ...record, note_index: noteIndex }, spent };
  }

  /** Spends what a valid proof spends, without keeping the proof. */
  async #spend(caller: Subject, admission: Admission, proven: Proven): Promise<Appended> {
    return await this.#append(caller, admission, proven, { records: () => ({}) });
  }

  /** Appends what is kept of a proof, and spends what it spends, in one commit. */
  async #append(
    caller: Subject,
    admission: Admission,
    { plan, onSpent, publicSignals, verifyingKeySha256 }: Proven,
    { records, ...kept }: Pick<PendingAppend, "note" | "records">,
  ): Promise<Appended> {
    const { prover, checks } = admission;
    const statementHash = hashStatement(prover.id, verifyingKeySha256, publicSignals);
    const spends = this.#with.spending.spendsOf(plan, caller, { admission, publicSignals, statementHash });
    const nullified = this.#with.events.commitOf(spends.map(({ store }) => noteNullified(store.owner, prover.id)));
    const appended = await this.#with.appends.append({
      ...kept,
      spends,
      // Nothing is written for a prover that was deleted meanwhile, nor for one whose right has ended.
      checks,
      records: (places) => mergeCommits(records(places), spends.length === 0 ? {} : nullified),
    });
    if (spends.length > 0) onSpent?.(appended.spent);
    return appended;
  }

  /** Encrypts a note with the caller's own key for this prover, in the caller's own place. */
  async #encrypt(
    caller: Subject,
    { prover, isOwner, checks }: Admission,
    note: Uint8Array,
  ): Promise<{ readonly place: NotePlace; readonly ciphertext: string }> {
    const encrypt = async (place: NotePlace): Promise<{ place: NotePlace; ciphertext: string }> => {
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
      return await encrypt(await this.#with.places.open(caller, prover, { checks, lost: place.vault_id }));
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

/** Binds a note to its store and prover: elsewhere it does not decrypt. */
function noteContext(storeId: string, proverId: string): string {
  return `pv/v1/note:${storeId}:${proverId}`;
}

function resultOf(outcome: TaskResult<VerifyValue> | undefined): boolean | AppError {
  assert(outcome !== undefined, "each item has an outcome");
  return outcome.ok ? outcome.value.result : taskError(outcome);
}

function spendsOf({ nullifier, spends }: ProofItem): Spends {
  return { ...(nullifier === undefined ? {} : { nullifier }), ...(spends === undefined ? {} : { spends }) };
}

/** Returns a failure that concerns one item; rethrows any other. */
function asError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

function witnessMissing(message: string): AppError {
  return invalidMember("witness", message, "witness_missing");
}

function taskError(failure: TaskFailure): AppError {
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

function formsOf({ snarkjs, solidity, publicSignals }: ProveValue): Pick<ProveResult, "snarkjs" | "solidity"> {
  return {
    ...(snarkjs === undefined ? {} : { snarkjs: { proof: snarkjs, public_signals: [...publicSignals] } }),
    ...(solidity === undefined ? {} : { solidity }),
  };
}

/** Tenths of a millisecond. */
function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
