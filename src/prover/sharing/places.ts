/**
 * Where a subject keeps what it makes with another's prover: a vault whose key encrypts its notes, and stores, all of
 * its own. Made with the first proof, and kept when the right to the prover ends.
 */
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/commits.js";
import type { Store, StoreCheck, StoreCommit, StoreKey, StoreRecord } from "../../platform/store/store.js";
import type { Catalog } from "../catalog.js";
import type { ProofRemovals } from "../proofs/proof-removals.js";
import type { ProofStores } from "../stores/proof-stores.js";
import type { StoredProver } from "../repository.js";
import type { ProverVault } from "../vault-port.js";

/** A subject's own things for one prover of another. */
export type Place = {
  readonly created_at: string;
  readonly vault_id: string;
  readonly note_key_id: string;
  readonly note_store_id: string;
  readonly nullifier_store_id: string;
};

interface PlacesDependencies {
  readonly store: Store;
  readonly vault: ProverVault;
  readonly stores: ProofStores;
  readonly proofRemovals: Pick<ProofRemovals, "isPending" | "notPending">;
  readonly catalog: Pick<Catalog, "systemOf">;
  readonly clock: Clock;
}

const TABLE = "prover_place";
const NAME_LENGTH_MAX = 200;
const NOTE_KEY = "notes";

export class Places {
  readonly #with: PlacesDependencies;

  constructor(dependencies: PlacesDependencies) {
    this.#with = dependencies;
  }

  /** Finds the subject's place for a prover. */
  find(subject: Subject, proverId: string): StoreRecord<Place> | undefined {
    return this.#with.store.get<Place>(placeKey(subject, proverId));
  }

  /** Returns the provers for which the subject has a place. */
  proversOf(subject: Subject): string[] {
    return this.#with.store.range([TABLE, ...ownerKey(subject)]).map(({ key }) => String(key.at(-1)));
  }

  /**
   * Returns the subject's place for a prover; makes it when there is none. In place of a deleted key it makes another
   * in the same vault, which may hold other things of the subject's, and with a new vault where that is gone, too.
   * @param options.checks of the subject's right to the prover, as `Admission.checks`
   * @param options.lostKey the note key that turned out to be deleted, or its vault
   * @throws AppError `not_found` when the right has ended, `prover_busy` while proofs that the subject has given up are
   *   still being removed, which would take new ones with them, `vault_sealed`, and what vault and store throw
   */
  async open(
    subject: Subject,
    prover: StoredProver,
    { checks, lostKey }: { readonly checks: () => readonly StoreCheck[]; readonly lostKey?: string },
  ): Promise<Place> {
    const { id } = prover;
    return await retryOnConflict(async () => {
      const found = this.find(subject, id);
      if (found !== undefined && found.value.note_key_id !== lostKey) return found.value;
      this.#requireRemoved(subject, id);
      const { vaultId, noteKeyId, commit } = await this.#prepareKey(subject, prover, found?.value.vault_id);
      const curve = this.#with.catalog.systemOf(prover).noteCurve;
      const stores = this.#with.stores.prepare(subject, {
        ...{ proverId: id, curve },
        notes: found?.value.note_store_id,
        nullifiers: found?.value.nullifier_store_id,
      });
      const place: Place = {
        created_at: found?.value.created_at ?? isoTimestamp(this.#with.clock.nowMs()),
        vault_id: vaultId,
        note_key_id: noteKeyId,
        note_store_id: stores.noteStoreId,
        nullifier_store_id: stores.nullifierStoreId,
      };
      const key = placeKey(subject, id);
      await this.#with.store.commit(
        mergeCommits(commit, stores.commit, {
          checks: [
            { key, version: found?.version ?? "absent" },
            this.#with.proofRemovals.notPending({ owner: subject, id }),
            ...checks(),
          ],
          puts: [{ key, value: place }],
        }),
      );
      return place;
    });
  }

  #requireRemoved(owner: Subject, id: string): void {
    if (this.#with.proofRemovals.isPending({ owner, id }))
      throw new AppError("prover_busy", {
        message: "the proofs that were made before this prover was given up are still being removed; try again",
      });
  }

  /** Prepares a note key: in the vault that the place has, if it is there, else with a vault. */
  async #prepareKey(
    subject: Subject,
    { name }: StoredProver,
    vaultId: string | undefined,
  ): ReturnType<ProverVault["prepareProverVault"]> {
    const { vault } = this.#with;
    if (vaultId !== undefined) {
      try {
        return { vaultId, ...(await vault.prepareNoteKey(subject, vaultId, NOTE_KEY)) };
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "not_found") throw error;
      }
    }
    const names = { vault: `shared prover ${name}`.slice(0, NAME_LENGTH_MAX), noteKey: NOTE_KEY };
    return await vault.prepareProverVault(subject, names);
  }

  /**
   * Prepares the deletion of a place with its vault, its notes and its stores; see `ProofStores.prepareRelease` for
   * what is left to do.
   */
  deletion(subject: Subject, proverId: string, { key, version, value }: StoreRecord<Place>): StoreCommit {
    return mergeCommits(
      { checks: [{ key, version }], deletes: [key] },
      this.#with.vault.prepareDeletion(subject, value.vault_id),
      this.#with.stores.prepareRelease(subject, proverId, [value.note_store_id, value.nullifier_store_id]),
    );
  }
}

function placeKey(subject: Subject, proverId: string): StoreKey {
  return [TABLE, ...ownerKey(subject), proverId];
}
