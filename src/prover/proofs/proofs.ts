/**
 * Proving, verifying and the notes of proofs. The thread pools compute, and the vault opens key material. A proof is
 * returned only after its note and record are on disk.
 */
import { AppError, assert, invalidMember, notFound } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { RefusedItem } from "../../platform/contract/refused-item.js";
import type { Events } from "../../platform/events/events.js";
import { newId } from "../../platform/ids.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type { Artifacts } from "../../platform/store/artifacts.js";
import type { StoreRecord } from "../../platform/store/store.js";
import type { ResidentBytes } from "../compute/resident-bytes.js";
import type { ProveValue, TaskFailure, TaskResult, VerifyValue } from "../../engine/protocol.js";
import { readyProver } from "../built-prover.js";
import type { Catalog } from "../catalog.js";
import { isVerifierOnly } from "../imports/import-files.js";
import type { ProveRequest, ReadyProver } from "../providers/provider.js";
import type { KeyPins } from "../provisioning/key-pins.js";
import type { NoteStores, StoredNote } from "./note-stores.js";
import { noteDeposited } from "../prover-events.js";
import type { ProverRepository, StoredProver } from "../repository.js";
import type { Note, ProofItem, ProofRecord, ProveResult } from "../schemas.js";
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

/** The content of a note, encrypted as JSON. */
interface NoteContent {
  readonly prover_id: string;
  readonly proof: string;
  readonly public_signals: readonly string[];
}

type Timings = ProofRecord["timings"];

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
   * @throws AppError `not_found`, `prover_not_provisioned`, `invalid_request`, `witness_missing`, `witness_invalid`,
   *   `constraints_unsatisfied`, `proof_self_check_failed`, `artifact_corrupt`, `prover_verifies_only`, and what
   *   pools, vault and store throw
   */
  async prove(
    owner: Subject,
    id: string,
    { signal, ...request }: ProveRequest & { readonly signal: AbortSignal },
  ): Promise<ProveResult> {
    const prover = this.#provisioned(owner, id);
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
    const result = await this.#with.catalog.providerOf(prover).prove(this.#ready(prover, pinned), request, {
      owner: this.#with.turnOf(owner),
      signal,
      deadlineMs: this.#options.proveDeadlineMs,
    });
    if (!result.ok) throw taskError(result);
    const { proof, publicSignals, timings } = result.value;
    const record = await this.#store(owner, prover, {
      proof,
      publicSignals,
      verifyingKeySha256,
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
   * @throws AppError `proof_malformed`, `witness_missing`, `witness_invalid`, and as `prove`
   */
  async verify(
    owner: Subject,
    id: string,
    request: { readonly item: ProofItem; readonly store: boolean; readonly signal: AbortSignal },
  ): Promise<boolean> {
    const prover = this.#provisioned(owner, id);
    const claim = readClaim(request.item, id);
    if (claim instanceof AppError) throw claim;
    const verifyingKeySha256 = await this.#with.pins.read(owner, prover, "verifying_key");
    const ready = this.#ready(prover, { "verifying_key.json": verifyingKeySha256 });
    const checked = await this.#with.catalog.providerOf(prover).verify(ready, claim, {
      owner: this.#with.turnOf(owner),
      signal: request.signal,
      deadlineMs: this.#options.verifyDeadlineMs,
    });
    if (!checked.ok) throw taskError(checked);
    const { result, proof, publicSignals } = checked.value;
    if (result && request.store) {
      await this.#store(owner, prover, { proof, publicSignals, verifyingKeySha256, origin: "verify", timings: null });
    }
    return result;
  }

  /**
   * Verifies many proofs; returns true, false or the item's own error, in the order of the items. Nothing is stored.
   * Slices run one after the other, so that a single verification waits for one slice at most and a long batch takes
   * one thread.
   * @throws AppError what concerns the prover or the pool, and so all items
   */
  async verifyBatch(
    owner: Subject,
    id: string,
    request: { readonly items: readonly (ProofItem | RefusedItem)[]; readonly signal: AbortSignal },
  ): Promise<(boolean | AppError)[]> {
    const prover = this.#provisioned(owner, id);
    const verifyingKeySha256 = await this.#with.pins.read(owner, prover, "verifying_key");
    const ready = this.#ready(prover, { "verifying_key.json": verifyingKeySha256 });
    const provider = this.#with.catalog.providerOf(prover);
    const results: (boolean | AppError)[] = [];
    const { verifySliceItems } = ready.system;
    for (let start = 0; start < request.items.length; start += verifySliceItems) {
      const slice = request.items.slice(start, start + verifySliceItems).map((item) => readClaim(item, id));
      request.signal.throwIfAborted();
      const claims = slice.flatMap((claim) => (claim instanceof AppError ? [] : [claim]));
      const checked = await provider.verifyBatch(ready, claims, {
        owner: this.#with.turnOf(owner),
        signal: request.signal,
        deadlineMs: this.#options.verifyDeadlineMs,
      });
      if (!checked.ok) throw taskError(checked);
      const outcomes = checked.value.outcomes.values();
      results.push(...slice.map((claim) => (claim instanceof AppError ? claim : resultOf(outcomes.next().value))));
    }
    return results;
  }

  /**
   * Returns a note of the prover's note store, decrypted, also one of another prover that shares the store.
   * @param index from 0
   * @throws AppError `not_found`, `data_corrupt`
   */
  async note(owner: Subject, id: string, index: number): Promise<Note> {
    const prover = this.#find(owner, id).value;
    const note = this.#with.notes.readNote(owner, prover.note_store_id, index);
    const tree = this.#with.notes.read(owner, prover.note_store_id)?.tree;
    if (note === undefined || tree === undefined) throw notFound("note");
    const plaintext = await this.#decrypt(owner, prover.note_store_id, note);
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

  /** Writes the note and the record of a proof. */
  async #store(
    owner: Subject,
    prover: StoredProver,
    proven: {
      readonly proof: string;
      readonly publicSignals: readonly string[];
      readonly verifyingKeySha256: string;
      readonly origin: ProofRecord["origin"];
      readonly timings: Timings;
    },
  ): Promise<ProofRecord> {
    const proofHash = hashProof(proven.proof);
    const statementHash = hashStatement(prover.id, proven.verifyingKeySha256, proven.publicSignals);
    const content: NoteContent = { prover_id: prover.id, proof: proven.proof, public_signals: proven.publicSignals };
    const storeId = prover.note_store_id;
    const keyId = prover.build.note_key_id;
    const ciphertext = await this.#with.vault.encrypt(
      owner,
      { vaultId: prover.vault_id, keyId },
      Buffer.from(JSON.stringify(content)),
      noteContext(storeId, prover.id),
    );
    const record: Omit<ProofRecord, "note_index"> = {
      id: newId(),
      created_at: isoTimestamp(this.#with.clock.nowMs()),
      prover_id: prover.id,
      hash: proofHash,
      statement_hash: statementHash,
      public_signals: [...proven.publicSignals],
      bytes: proven.proof.length / 2,
      origin: proven.origin,
      timings: proven.timings,
    };
    const noteIndex = await this.#with.notes.append(owner, storeId, {
      digest: noteDigest(statementHash, proofHash),
      statementHash,
      proofHash,
      note: { prover_id: prover.id, vault_id: prover.vault_id, key_id: keyId, ciphertext },
      // Nothing is written for a prover that was deleted meanwhile.
      checks: () => {
        const { key, version } = this.#find(owner, prover.id);
        return [{ key, version }];
      },
      records: (index) =>
        mergeCommits(
          this.#with.repository.insertProof(owner, { ...record, note_index: index }),
          this.#with.events.commitOf([noteDeposited(owner, prover.id)]),
        ),
    });
    return { ...record, note_index: noteIndex };
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

  #find(owner: Subject, id: string): StoreRecord<StoredProver> {
    const found = this.#with.repository.find(owner, id);
    if (found === undefined) throw notFound("prover");
    return found;
  }

  #provisioned(owner: Subject, id: string): StoredProver {
    const prover = this.#find(owner, id).value;
    if (prover.status !== "provisioned")
      throw new AppError("prover_not_provisioned", {
        message: `the prover is not provisioned, its status is ${prover.status}`,
      });
    return prover;
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

function taskError(failure: TaskFailure): AppError {
  return new AppError(failure.code, {
    message: failure.message,
    ...(failure.details === undefined ? {} : { details: failure.details }),
  });
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
