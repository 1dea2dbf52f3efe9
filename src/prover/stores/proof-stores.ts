/**
 * The stores of provers: the trees of encrypted notes and those of nullifiers. Finds, makes and releases them; what is
 * appended goes through `StoreAppends`. Sees no plaintext and no key.
 */
import { invalidMember } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { newId } from "../../platform/ids.js";
import type { Page } from "../../platform/store/tables.js";
import type { Store, StoreCheck, StoreCommit, StorePut, StoreRecord } from "../../platform/store/store.js";
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import type { NoteTreeState } from "../../engine/merkle/note-tree.js";
import {
  HEAD_SIGNERS,
  NOTE_TREE_DEPTH,
  PARTS_OF_STORE,
  keyIn,
  stateOf,
  storesPrefix,
  type ProofStore,
  type SpentMark,
  type StoreKind,
  type StoredNote,
  type StoredNullifier,
  type StoredRoot,
  type StoreReference,
} from "./store-records.js";
import type { StoreRemovals } from "./store-removals.js";

interface ProofStoresDependencies {
  readonly store: Store;
  readonly removals: Pick<StoreRemovals, "prepare" | "wake">;
  readonly clock: Clock;
}

/** Stores that a new prover is to share; new ones are made for those that are not named. */
export interface WantedStores {
  readonly proverId: string;
  readonly curve: CurveName;
  readonly notes: string | undefined;
  readonly nullifiers: string | undefined;
}

/** Roots of `emptyNoteTree(32)` as constants, because computing one takes 33 hashes on the event loop. */
const EMPTY_ROOTS: Readonly<Record<CurveName, string>> = {
  BN254: "2f68a1c58e257e42a17a6c61dff5551ed560b9922ab119d5ac8e184c9734ead9",
  BLS12_381: "1a64cf4c4afda1eadf5b51841c4efa6f15c92b83bf46f8e95ccab9598702daf4",
};
/**
 * Entries of a store that is deleted with all its records in one commit. A nullifier whose key was chosen to share the
 * path of another writes up to 255 nodes, and a deletion may cover 100,000 records.
 */
const DELETED_AT_ONCE_MAX = 256;

export class ProofStores {
  readonly #with: ProofStoresDependencies;

  constructor(dependencies: ProofStoresDependencies) {
    this.#with = dependencies;
  }

  /**
   * Finds or makes the two stores of a new prover; the caller merges the commit into its own.
   * @throws AppError `store_unsuitable` when the owner has no such store, or it is of another kind or curve
   */
  prepare(
    owner: Subject,
    { proverId, curve, notes, nullifiers }: WantedStores,
  ): { readonly noteStoreId: string; readonly nullifierStoreId: string; readonly commit: StoreCommit } {
    const checks: StoreCheck[] = [];
    const puts: StorePut[] = [];
    const use = (kind: StoreKind, id: string | undefined): string => {
      const storeId = id ?? newId();
      const reference = { owner, id: storeId };
      if (id === undefined)
        puts.push({ key: keyIn("proof_store", reference), value: this.#newStore(storeId, kind, curve, proverId) });
      else {
        const found = this.#findSuitable(reference, kind, curve);
        checks.push({ key: found.key, version: found.version });
        // Written again unchanged: the new version makes a deletion at the same time conflict.
        puts.push({ key: found.key, value: found.value });
      }
      puts.push({ key: keyIn("proof_store_user", reference, proverId), value: true });
      return storeId;
    };
    const noteStoreId = use("notes", notes);
    const nullifierStoreId = use("nullifiers", nullifiers);
    return { noteStoreId, nullifierStoreId, commit: { checks, puts } };
  }

  /**
   * Prepares the deletion of a prover's use of its stores, and of the stores that no other prover uses. Call
   * `wakeRemovals` once it is committed: of a large store it leaves records that belong to nothing any more to a job.
   */
  prepareRelease(owner: Subject, proverId: string, storeIds: readonly string[]): StoreCommit {
    const parts = storeIds.map((id) => this.#release({ owner, id }, proverId));
    return {
      checks: parts.flatMap(({ checks }) => checks ?? []),
      deletes: parts.flatMap(({ deletes }) => deletes ?? []),
      puts: parts.flatMap(({ puts }) => puts ?? []),
      ...(parts.some(({ urgent }) => urgent === true) ? { urgent: true } : {}),
      deletePrefixes: parts.flatMap(({ deletePrefixes }) => deletePrefixes ?? []),
    };
  }

  /** Starts the removal of large stores whose release is committed. */
  wakeRemovals(): void {
    this.#with.removals.wake();
  }

  /** Returns a store of the owner. */
  read(owner: Subject, storeId: string): ProofStore | undefined {
    return this.find({ owner, id: storeId })?.value;
  }

  /** Returns the record of a store. */
  find(reference: StoreReference): StoreRecord<ProofStore> | undefined {
    return this.#with.store.get<ProofStore>(keyIn("proof_store", reference));
  }

  /** Returns one page of the owner's stores, and how many there are; in the order of their ids. */
  list(owner: Subject, { page, rpp }: Page): { readonly stores: ProofStore[]; readonly total: number } {
    const prefix = storesPrefix(owner);
    const found = this.#with.store.range<ProofStore>(prefix, { offset: (page - 1) * rpp, limit: rpp });
    return { stores: found.map(({ value }) => value), total: this.#with.store.count(prefix) };
  }

  /** Returns the ids of the provers that use a store, at most so many. */
  users(reference: StoreReference, limit: number): string[] {
    const found = this.#with.store.range(keyIn("proof_store_user", reference), { limit });
    return found.map(({ key }) => String(key.at(-1)));
  }

  /**
   * Returns the note at an index of a store, still encrypted.
   * @param index from 0
   */
  readNote(owner: Subject, storeId: string, index: number): StoredNote | undefined {
    return this.#with.store.get<StoredNote>(keyIn("note", { owner, id: storeId }, index))?.value;
  }

  /** Whether the note at an index was spent. */
  isNoteSpent(reference: StoreReference, index: number): boolean {
    return this.#with.store.get<SpentMark>(keyIn("note_spent", reference, index)) !== undefined;
  }

  /**
   * Returns what is known of a spent key.
   * @param key 64 hex digits
   */
  readNullifier(reference: StoreReference, key: string): StoredNullifier | undefined {
    return this.#with.store.get<StoredNullifier>(keyIn("nullifier", reference, key))?.value;
  }

  /** Returns the root that a store had at a size, if it was that after a commit. */
  rootAt(reference: StoreReference, size: number): StoredRoot | undefined {
    return this.#with.store.get<StoredRoot>(keyIn("proof_store_root", reference, size))?.value;
  }

  /** Returns the size at which a store had a root. */
  sizeAt(reference: StoreReference, root: string): number | undefined {
    return this.#with.store.get<number>(keyIn("proof_store_size", reference, root))?.value;
  }

  /** Returns one page of the roots that a store had after its commits, the latest first, and how many there are. */
  roots(
    reference: StoreReference,
    { page, rpp }: Page,
  ): { readonly roots: (StoredRoot & { readonly size: number })[]; readonly total: number } {
    const prefix = keyIn("proof_store_root", reference);
    const options = { offset: (page - 1) * rpp, limit: rpp, reverse: true };
    const found = this.#with.store.range<StoredRoot>(prefix, options);
    return {
      roots: found.map(({ key, value }) => ({ ...value, size: Number(key.at(-1)) })),
      total: this.#with.store.count(prefix),
    };
  }

  #release(reference: StoreReference, proverId: string): StoreCommit {
    const { store, removals } = this.#with;
    const users = store.range(keyIn("proof_store_user", reference), { limit: 2 });
    const own = keyIn("proof_store_user", reference, proverId);
    if (users.some(({ key }) => key.at(-1) !== proverId)) return { deletes: [own] };
    const record = this.find(reference);
    const key = keyIn("proof_store", reference);
    const isLarge = record !== undefined && stateOf(record.value).size > DELETED_AT_ONCE_MAX;
    return {
      // A prover that begins to share the store at the same time writes its record, and this check fails.
      ...(isLarge
        ? removals.prepare(reference)
        : { deletePrefixes: PARTS_OF_STORE.map((table) => keyIn(table, reference)) }),
      checks: [{ key, version: record?.version ?? "absent" }],
      deletes: [own, key, [HEAD_SIGNERS, reference.id]],
    };
  }

  #newStore(id: string, kind: StoreKind, curve: CurveName, proverId: string): ProofStore {
    const created_at = isoTimestamp(this.#with.clock.nowMs());
    const base = { id, created_at, name: `${kind} of prover ${proverId}`, kind, curve };
    return kind === "notes" ? { ...base, tree: emptyTree(curve) } : base;
  }

  #findSuitable(reference: StoreReference, kind: StoreKind, curve: CurveName): StoreRecord<ProofStore> {
    const record = this.find(reference);
    const member = kind === "notes" ? "note_store_id" : "nullifier_store_id";
    if (record === undefined || record.value.kind !== kind || record.value.curve !== curve) {
      const message = `${member}: there is no store of ${kind} for ${curve} with this id`;
      throw invalidMember(member, message, "store_unsuitable");
    }
    return record;
  }
}

/** Returns `emptyNoteTree(32)` without computing it. */
export function emptyTree(curve: CurveName): NoteTreeState {
  const frontier = Array.from({ length: NOTE_TREE_DEPTH }, () => "");
  return { depth: NOTE_TREE_DEPTH, size: 0, frontier, root: EMPTY_ROOTS[curve] };
}
