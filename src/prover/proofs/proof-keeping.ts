/**
 * What is kept of valid proofs: the encrypted note and the record, and what the proof spends, in one commit. Verifies
 * nothing.
 */
import { AppError, assert, notFound } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Events } from "../../platform/events/events.js";
import { newId } from "../../platform/ids.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type { Meta } from "../labels/label-schemas.js";
import { noteDeposited, noteNullified } from "../prover-events.js";
import type { ProverRepository } from "../repository.js";
import type { Note, ProofRecord } from "../schemas.js";
import type { Places } from "../sharing/places.js";
import type { Admission, ProverAccess } from "../sharing/prover-access.js";
import type { Appended, PendingAppend } from "../stores/pending-append.js";
import type { ProofStores } from "../stores/proof-stores.js";
import type { SpendPlan, SpendRequest, Spending } from "../stores/spending.js";
import type { StoreAppends } from "../stores/store-appends.js";
import type { StoredNote } from "../stores/store-records.js";
import type { ProverVault } from "../vault-port.js";
import type { NotePlace } from "./attestation.js";
import { CallerEncryption } from "./caller-encryption.js";
import type { KeptAlong, MadeProof } from "./kept-along.js";
import { hashProof, hashStatement, noteDigest, noteNullifier } from "./public-inputs.js";

export interface ProofKeepingDependencies {
  readonly repository: ProverRepository;
  readonly access: ProverAccess;
  readonly places: Places;
  readonly stores: ProofStores;
  readonly appends: StoreAppends;
  readonly spending: Spending;
  readonly vault: ProverVault;
  readonly events: Pick<Events, "commitOf">;
  readonly clock: Clock;
}

/** A valid proof, of which something is to be kept or spent. */
export interface Proven {
  readonly proof: string;
  readonly publicSignals: readonly string[];
  readonly verifyingKeySha256: string;
  readonly plan: SpendPlan | undefined;
  readonly onSpent: SpendRequest["onSpent"];
}

/** A proof whose note and record are kept. */
export interface KeptProof extends Proven {
  readonly meta: Meta;
  readonly origin: ProofRecord["origin"];
  readonly timings: ProofRecord["timings"];
  /** Further forms of the proof, for what is kept along. */
  readonly forms?: Pick<MadeProof, "snarkjs" | "solidity" | "checked_by">;
  readonly along?: KeptAlong | undefined;
}

/** The content of a note, encrypted as JSON. */
interface NoteContent {
  readonly prover_id: string;
  readonly proof: string;
  readonly public_signals: readonly string[];
}

export class ProofKeeping {
  readonly #with: ProofKeepingDependencies;
  readonly #encryption: CallerEncryption;

  constructor(dependencies: ProofKeepingDependencies) {
    this.#with = dependencies;
    this.#encryption = new CallerEncryption(dependencies);
  }

  /**
   * Writes the note and the record of a proof, which are the caller's, whoever owns the prover, and spends what it
   * spends.
   * @throws AppError `note_double_spend`, and what vault, stores and places throw
   */
  async store(
    caller: Subject,
    admission: Admission,
    proven: KeptProof,
  ): Promise<Pick<Appended, "spent"> & { readonly record: ProofRecord }> {
    const { prover } = admission;
    const proofHash = hashProof(proven.proof);
    const statementHash = hashStatement(prover.id, proven.verifyingKeySha256, proven.publicSignals);
    const content: NoteContent = { prover_id: prover.id, proof: proven.proof, public_signals: proven.publicSignals };
    const { place, ciphertexts } = await this.#encryption.encrypt(
      caller,
      admission,
      [Buffer.from(JSON.stringify(content))],
      ({ note_store_id }) => noteContext(note_store_id, prover.id),
    );
    const [ciphertext = ""] = ciphertexts;
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
    await proven.along?.prepare({ proof: proven.proof, ...record, ...proven.forms });
    const { noteIndex, spent } = await this.#append(caller, admission, proven, {
      along: proven.along,
      note: {
        store: { owner: caller, id: place.note_store_id },
        digest: noteDigest(statementHash, proofHash),
        ...{ statementHash, proofHash },
        record: { prover_id: prover.id, vault_id: place.vault_id, key_id: place.note_key_id, ciphertext },
      },
      records: ({ noteIndex: index = 0, spent: keys }) => {
        const kept = { ...record, note_index: index };
        return mergeCommits(
          this.#with.repository.insertProof(caller, kept),
          this.#with.events.commitOf([noteDeposited(caller, kept)]),
          proven.along?.commit({ noteIndex: index, spent: keys }) ?? {},
        );
      },
    });
    assert(noteIndex !== undefined, "a note has a place");
    return { record: { ...record, note_index: noteIndex }, spent };
  }

  /**
   * Spends what a valid proof spends, without keeping the proof.
   * @throws AppError `note_double_spend`, and what stores throw
   */
  async spend(caller: Subject, admission: Admission, proven: Proven): Promise<Appended> {
    return await this.#append(caller, admission, proven, { records: () => ({}) });
  }

  /** Appends what is kept of a proof, and spends what it spends, in one commit. */
  async #append(
    caller: Subject,
    admission: Admission,
    { plan, onSpent, publicSignals, verifyingKeySha256 }: Proven,
    { records, along, ...kept }: Pick<PendingAppend, "note" | "records"> & { readonly along?: KeptAlong | undefined },
  ): Promise<Appended> {
    const { prover, checks } = admission;
    const statementHash = hashStatement(prover.id, verifyingKeySha256, publicSignals);
    const spends = this.#with.spending.spendsOf(plan, caller, { admission, publicSignals, statementHash });
    const nullified = this.#with.events.commitOf(spends.map(({ store }) => noteNullified(store.owner, prover.id)));
    const appended = await this.#with.appends.append({
      ...kept,
      spends,
      // Nothing is written for a prover that was deleted meanwhile, nor for one whose right has ended.
      checks: () => {
        along?.read();
        return checks();
      },
      records: (places) => mergeCommits(records(places), spends.length === 0 ? {} : nullified),
    });
    if (spends.length > 0) onSpent?.(appended.spent);
    return appended;
  }

  /** Returns where a note is that was just written; undefined once its store is deleted. */
  noteAt(caller: Subject, id: string, index: number): NotePlace | undefined {
    const storeId = this.#noteStoreOf(caller, id);
    const tree = storeId === undefined ? undefined : this.#with.stores.read(caller, storeId)?.tree;
    if (storeId === undefined || tree === undefined) return undefined;
    return { store_id: storeId, index, root: tree.root, size: tree.size };
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
}

/** Binds a note to its store and prover: elsewhere it does not decrypt. */
function noteContext(storeId: string, proverId: string): string {
  return `pv/v1/note:${storeId}:${proverId}`;
}
