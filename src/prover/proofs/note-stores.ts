/**
 * The stores of a prover: the tree of encrypted notes, and a nullifier store that is reserved but not written yet.
 * Appends to one store go through one queue in batches, so that concurrent proofs lose no leaf and share one commit.
 * Sees no plaintext and no key.
 */
import { AppError, assert, invalidMember, notFound } from "../../platform/errors.js";
import { formatSubject, ownerKey, type Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { newId } from "../../platform/ids.js";
import {
  StoreConflict,
  type Store,
  type StoreCheck,
  type StoreCommit,
  type StoreKey,
  type StorePut,
  type StoreRecord,
} from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import type { AppendNotesMessage, AppendNotesValue } from "../../engine/protocol.js";
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import type { NoteTreeState } from "../../engine/merkle/note-tree.js";

type StoreKind = "notes" | "nullifiers";

/** The stored record of a store. */
type ProofStore = {
  readonly id: string;
  readonly created_at: string;
  readonly name: string;
  readonly kind: StoreKind;
  /** Curve whose scalar field the tree hashes in. */
  readonly curve: CurveName;
  /** Tree of a note store; absent on a nullifier store, which has no entries. */
  readonly tree?: NoteTreeState;
};

/** The stored record of a note. */
export type StoredNote = {
  readonly created_at: string;
  readonly prover_id: string;
  /** Vault and key that decrypt it. */
  readonly vault_id: string;
  readonly key_id: string;
  readonly ciphertext: string;
  readonly leaf: string;
};

/** A note to be appended. */
export interface PendingNote {
  /** 64 hex digits; becomes the leaf. */
  readonly digest: string;
  /**
   * Identifies what the proof proves; 64 hex digits. The store finds the notes of a statement by this hash: the hash of
   * a proof is no identity, because anyone can re-randomise a Groth16 proof.
   */
  readonly statementHash: string;
  /** 64 hex digits; the value of the statement's entry. */
  readonly proofHash: string;
  readonly note: Omit<StoredNote, "created_at" | "leaf">;
  /** Returns further checks of the commit; called for each try. Throws when the note must not be appended any more. */
  readonly checks: () => readonly StoreCheck[];
  /** Returns what is written in the same commit. */
  readonly records: (index: number) => StoreCommit;
}

interface NoteStoresDependencies {
  readonly store: Store;
  readonly clock: Clock;
  /** Hashes notes into the tree, outside of the event loop. */
  readonly appendNotes: (message: AppendNotesMessage, owner: string) => Promise<AppendNotesValue>;
}

/** 2^32 notes. */
const DEPTH = 32;
/** Roots of `emptyNoteTree(32)` as constants, because computing one takes 33 hashes on the event loop. */
const EMPTY_ROOTS: Readonly<Record<CurveName, string>> = {
  BN254: "2f68a1c58e257e42a17a6c61dff5551ed560b9922ab119d5ac8e184c9734ead9",
  BLS12_381: "1a64cf4c4afda1eadf5b51841c4efa6f15c92b83bf46f8e95ccab9598702daf4",
};
/** Notes of one batch: about 20 ms of hashing and one commit. */
const BATCH_LENGTH_MAX = 32;
/** Notes that may wait for one store: each is a finished proof, so this many would have to end within one batch. */
const QUEUE_LENGTH_MAX = 1024;
/** Conflicts come from a deletion at the same time, not from other appends, so a few tries are enough. */
const CONFLICT_RETRIES_MAX = 8;

interface WaitingNote {
  readonly pending: PendingNote;
  readonly resolve: (index: number) => void;
  readonly reject: (error: unknown) => void;
}

export class NoteStores {
  readonly #dependencies: NoteStoresDependencies;
  readonly #queues = new Map<string, WaitingNote[]>();

  constructor(dependencies: NoteStoresDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Finds or makes the two stores of a new prover; the caller merges the commit into its own.
   * @param prover.notes,prover.nullifiers ids of existing stores to share
   * @throws AppError `store_unsuitable` when the owner has no such store, or it is of another kind or curve
   */
  prepare(
    owner: Subject,
    {
      proverId,
      curve,
      notes,
      nullifiers,
    }: {
      readonly proverId: string;
      readonly curve: CurveName;
      readonly notes: string | undefined;
      readonly nullifiers: string | undefined;
    },
  ): { readonly noteStoreId: string; readonly nullifierStoreId: string; readonly commit: StoreCommit } {
    const checks: StoreCheck[] = [];
    const puts: StorePut[] = [];
    const use = (kind: StoreKind, id: string | undefined): string => {
      const storeId = id ?? newId();
      if (id === undefined)
        puts.push({ key: storeKey(owner, storeId), value: this.#newStore(storeId, kind, curve, proverId) });
      else {
        const found = this.#findSuitable(owner, storeId, kind, curve);
        checks.push({ key: found.key, version: found.version });
        // Written again unchanged: the new version makes a deletion at the same time conflict.
        puts.push({ key: found.key, value: found.value });
      }
      puts.push({ key: userKey(owner, storeId, proverId), value: true });
      return storeId;
    };
    const noteStoreId = use("notes", notes);
    const nullifierStoreId = use("nullifiers", nullifiers);
    return { noteStoreId, nullifierStoreId, commit: { checks, puts } };
  }

  /** Prepares the deletion of a prover's use of its stores, and of the stores that no other prover uses. */
  prepareRelease(owner: Subject, proverId: string, storeIds: readonly string[]): StoreCommit {
    const parts = storeIds.map((storeId): Required<Pick<StoreCommit, "checks" | "deletes" | "deletePrefixes">> => {
      const users = this.#dependencies.store.range(usersPrefix(owner, storeId), { limit: 2 });
      const shared = users.some((user) => user.key.at(-1) !== proverId);
      const own = userKey(owner, storeId, proverId);
      if (shared) return { checks: [], deletes: [own], deletePrefixes: [] };
      const record = this.#dependencies.store.get(storeKey(owner, storeId));
      return {
        // A prover that begins to share the store at the same time writes its record, and this check fails.
        checks: [{ key: storeKey(owner, storeId), version: record?.version ?? "absent" }],
        deletes: [own, storeKey(owner, storeId)],
        deletePrefixes: [notesPrefix(owner, storeId), nodesPrefix(owner, storeId), statementsPrefix(owner, storeId)],
      };
    });
    return {
      checks: parts.flatMap((part) => part.checks),
      deletes: parts.flatMap((part) => part.deletes),
      deletePrefixes: parts.flatMap((part) => part.deletePrefixes),
    };
  }

  /** Returns a store of the owner. */
  read(owner: Subject, storeId: string): ProofStore | undefined {
    return this.#dependencies.store.get<ProofStore>(storeKey(owner, storeId))?.value;
  }

  /**
   * Returns the note at an index of a store, still encrypted.
   * @param index from 0
   */
  readNote(owner: Subject, storeId: string, index: number): StoredNote | undefined {
    return this.#dependencies.store.get<StoredNote>(noteKey(owner, storeId, index))?.value;
  }

  /**
   * Appends a note durably and returns its index, from 0.
   * @throws AppError `note_store_full`, `overloaded` when too many notes wait, `not_found` when the store was deleted
   */
  async append(owner: Subject, storeId: string, pending: PendingNote): Promise<number> {
    const running = this.#queues.get(storeId);
    if (running !== undefined && running.length >= QUEUE_LENGTH_MAX) {
      throw new AppError("overloaded", { message: "too many notes wait for this store; try again", retryAfterSec: 1 });
    }
    return await new Promise<number>((resolve, reject) => {
      const waiting: WaitingNote = { pending, resolve, reject };
      if (running !== undefined) {
        running.push(waiting);
        return;
      }
      const queue = [waiting];
      this.#queues.set(storeId, queue);
      void this.#drain(owner, storeId, queue);
    });
  }

  async #drain(owner: Subject, storeId: string, queue: WaitingNote[]): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.splice(0, BATCH_LENGTH_MAX);
      try {
        await this.#appendBatch(owner, storeId, batch);
      } catch (error) {
        for (const waiting of batch) waiting.reject(error);
      }
    }
    this.#queues.delete(storeId);
  }

  async #appendBatch(owner: Subject, storeId: string, batch: readonly WaitingNote[]): Promise<void> {
    for (let attempt = 0; attempt <= CONFLICT_RETRIES_MAX; attempt += 1) {
      const checked = batch.flatMap((waiting) => withChecks(waiting));
      if (checked.length === 0) return;
      const record = this.#dependencies.store.get<ProofStore>(storeKey(owner, storeId));
      const tree = record?.value.tree;
      if (record === undefined || tree === undefined) throw notFound("note store");
      if (tree.size + checked.length > 2 ** tree.depth)
        throw new AppError("note_store_full", { message: "the note store is full; name another one for new provers" });
      const appended = await this.#dependencies.appendNotes(
        { curve: record.value.curve, state: tree, digests: checked.map(({ waiting }) => waiting.pending.digest) },
        formatSubject(owner),
      );
      try {
        await this.#dependencies.store.commit(
          mergeCommits(
            {
              checks: [{ key: record.key, version: record.version }],
              puts: this.#puts(owner, record.value, {
                notes: checked.map(({ waiting }) => waiting.pending),
                appended,
              }),
            },
            ...checked.map(({ waiting, checks }, offset) =>
              mergeCommits({ checks }, waiting.pending.records(tree.size + offset)),
            ),
          ),
        );
      } catch (error) {
        if (error instanceof StoreConflict) continue;
        throw error;
      }
      checked.forEach(({ waiting }, offset) => {
        waiting.resolve(tree.size + offset);
      });
      return;
    }
    throw new AppError("overloaded", { message: "the note store is busy; try again", retryAfterSec: 1 });
  }

  /** The records of new notes behind those that the store has, and the store's new state. */
  #puts(
    owner: Subject,
    record: ProofStore,
    { notes, appended }: { readonly notes: readonly PendingNote[]; readonly appended: AppendNotesValue },
  ): StorePut[] {
    const size = appended.state.size - notes.length;
    const createdAt = isoTimestamp(this.#dependencies.clock.nowMs());
    const records = notes.flatMap((pending, offset): StorePut[] => {
      const leaf = appended.leaves[offset];
      assert(leaf !== undefined, "every note has a leaf");
      const note: StoredNote = { ...pending.note, created_at: createdAt, leaf };
      const index = size + offset;
      return [
        { key: noteKey(owner, record.id, index), value: note },
        { key: [...statementsPrefix(owner, record.id), pending.statementHash, index], value: pending.proofHash },
      ];
    });
    // Leaves are part of the notes. Each inner node is written once, when it is complete; inclusion proofs can be built
    // from them.
    const nodes = appended.completed
      .filter((node) => node.level > 0)
      .map((node): StorePut => ({ key: [...nodesPrefix(owner, record.id), node.level, node.index], value: node.hash }));
    const state: ProofStore = { ...record, tree: appended.state };
    return [{ key: storeKey(owner, record.id), value: state }, ...records, ...nodes];
  }

  #newStore(id: string, kind: StoreKind, curve: CurveName, proverId: string): ProofStore {
    const base = {
      id,
      created_at: isoTimestamp(this.#dependencies.clock.nowMs()),
      name: `${kind} of prover ${proverId}`,
      kind,
      curve,
    };
    return kind === "notes" ? { ...base, tree: emptyTree(curve) } : base;
  }

  #findSuitable(owner: Subject, storeId: string, kind: StoreKind, curve: CurveName): StoreRecord<ProofStore> {
    const record = this.#dependencies.store.get<ProofStore>(storeKey(owner, storeId));
    const member = kind === "notes" ? "note_store_id" : "nullifier_store_id";
    if (record === undefined || record.value.kind !== kind || record.value.curve !== curve) {
      const message = `${member}: there is no store of ${kind} for ${curve} with this id`;
      throw invalidMember(member, message, "store_unsuitable");
    }
    return record;
  }
}

/** Pairs a waiting note with its present checks; a note whose checks throw is rejected and leaves the batch. */
function withChecks(waiting: WaitingNote): { readonly waiting: WaitingNote; readonly checks: readonly StoreCheck[] }[] {
  try {
    return [{ waiting, checks: waiting.pending.checks() }];
  } catch (error) {
    waiting.reject(error);
    return [];
  }
}

/** Returns `emptyNoteTree(32)` without computing it. */
export function emptyTree(curve: CurveName): NoteTreeState {
  return { depth: DEPTH, size: 0, frontier: Array.from({ length: DEPTH }, () => ""), root: EMPTY_ROOTS[curve] };
}

function storeKey(owner: Subject, storeId: string): StoreKey {
  return ["proof_store", ...ownerKey(owner), storeId];
}
function usersPrefix(owner: Subject, storeId: string): StoreKey {
  return ["proof_store_user", ...ownerKey(owner), storeId];
}
function userKey(owner: Subject, storeId: string, proverId: string): StoreKey {
  return [...usersPrefix(owner, storeId), proverId];
}
function notesPrefix(owner: Subject, storeId: string): StoreKey {
  return ["note", ...ownerKey(owner), storeId];
}
function noteKey(owner: Subject, storeId: string, index: number): StoreKey {
  return [...notesPrefix(owner, storeId), index];
}
function statementsPrefix(owner: Subject, storeId: string): StoreKey {
  return ["note_statement", ...ownerKey(owner), storeId];
}
function nodesPrefix(owner: Subject, storeId: string): StoreKey {
  return ["note_node", ...ownerKey(owner), storeId];
}
