/**
 * The stores of a prover: the tree of encrypted notes and the (for now empty) home of its nullifiers. Appends to one
 * store go through one queue in batches, so that concurrent proofs lose no leaf and share one commit. Knows no
 * plaintext and no key.
 */
import { AppError, assert } from "../../platform/errors.js";
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
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
import type { NoteTreeState } from "../../engine/merkle/note-tree.js";

export type StoreKind = "notes" | "nullifiers";

/** A store as it lies in the database. */
export type ProofStore = {
  readonly id: string;
  readonly created_at: string;
  readonly name: string;
  readonly kind: StoreKind;
  /** Curve whose scalar field the tree hashes in. */
  readonly curve: string;
  /** Tree of a note store; absent on a nullifier store, which has no entries yet. */
  readonly tree?: NoteTreeState;
};

/** A note as it lies in the database. */
export type StoredNote = {
  readonly created_at: string;
  readonly prover_id: string;
  /** Vault and key that open it. */
  readonly vault_id: string;
  readonly key_id: string;
  readonly ciphertext: string;
  readonly leaf: string;
};

/** One note that waits for its place. */
export interface PendingNote {
  /** 64 hex digits; becomes the leaf. */
  readonly digest: string;
  /**
   * Names what the proof proves. A store finds what it has about a statement by this: a proof's hash is no identity,
   * because anyone can re-randomise a Groth16 proof. 64 hex digits.
   */
  readonly statementHash: string;
  /** 64 hex digits; an attribute of the statement's entry. */
  readonly proofHash: string;
  readonly note: Omit<StoredNote, "created_at" | "leaf">;
  /** What else must hold at the commit; read anew for each try. Throws when the note is not wanted any more. */
  readonly checks: () => readonly StoreCheck[];
  /** What is written together with the note. */
  readonly records: (index: number) => StoreCommit;
}

export interface NoteStoresDependencies {
  readonly store: Store;
  readonly clock: Clock;
  /** Runs the tree's hashing away from the event loop. */
  readonly appendNotes: (message: AppendNotesMessage) => Promise<AppendNotesValue>;
}

/** 2^32 notes. */
const DEPTH = 32;
/**
 * What new note stores start with; `emptyNoteTree(32)`, kept as a constant because making it takes 33 hashes on the
 * event loop.
 */
export const EMPTY_TREE: NoteTreeState = {
  depth: DEPTH,
  size: 0,
  frontier: Array.from({ length: DEPTH }, () => ""),
  root: "2f68a1c58e257e42a17a6c61dff5551ed560b9922ab119d5ac8e184c9734ead9",
};
/** Notes of one batch: about 20 ms of hashing and one commit. */
const BATCH_LENGTH_MAX = 32;
/**
 * Notes that may wait for one store; each is a finished proof, so this many proofs would have to end within one batch.
 */
const QUEUE_LENGTH_MAX = 1024;
/**
 * Conflicts come from a deletion that runs beside the append, not from other appends; a handful settles all of them.
 */
const CONFLICT_RETRIES_MAX = 8;

interface Waiting {
  readonly pending: PendingNote;
  readonly resolve: (index: number) => void;
  readonly reject: (error: unknown) => void;
}

export class NoteStores {
  readonly #dependencies: NoteStoresDependencies;
  readonly #queues = new Map<string, Waiting[]>();

  constructor(dependencies: NoteStoresDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Finds or makes the two stores of a new prover; the commit is for the caller to merge into its own.
   * @throws AppError `store_unsuitable` when a named store is not there for this owner, of the other kind or of another
   *   curve.
   */
  prepare(
    owner: Subject,
    proverId: string,
    curve: string,
    wanted: { readonly notes: string | undefined; readonly nullifiers: string | undefined },
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
        // Written again unchanged: its new version makes a deletion that runs beside this notice the new user.
        puts.push({ key: found.key, value: found.value });
      }
      puts.push({ key: userKey(owner, storeId, proverId), value: true });
      return storeId;
    };
    const noteStoreId = use("notes", wanted.notes);
    const nullifierStoreId = use("nullifiers", wanted.nullifiers);
    return { noteStoreId, nullifierStoreId, commit: { checks, puts } };
  }

  /** What a prover's deletion takes with it: its use of the stores, and those stores that nobody else uses. */
  prepareRelease(owner: Subject, proverId: string, storeIds: readonly string[]): StoreCommit {
    const parts = storeIds.map((storeId): Required<Pick<StoreCommit, "checks" | "deletes" | "deletePrefixes">> => {
      const users = this.#dependencies.store.range(usersPrefix(owner, storeId), { limit: 2 });
      const shared = users.some((user) => user.key.at(-1) !== proverId);
      const own = userKey(owner, storeId, proverId);
      if (shared) return { checks: [], deletes: [own], deletePrefixes: [] };
      const record = this.#dependencies.store.get(storeKey(owner, storeId));
      return {
        // A prover that begins to share the store meanwhile touches its record and so makes this fail.
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

  read(owner: Subject, storeId: string): ProofStore | undefined {
    return this.#dependencies.store.get<ProofStore>(storeKey(owner, storeId))?.value;
  }

  readNote(owner: Subject, storeId: string, index: number): StoredNote | undefined {
    return this.#dependencies.store.get<StoredNote>(noteKey(owner, storeId, index))?.value;
  }

  /**
   * Appends a note durably and answers its index, from 0.
   * @throws AppError `note_store_full`, `overloaded` when too many wait, `not_found` when the store is gone.
   */
  async append(owner: Subject, storeId: string, pending: PendingNote): Promise<number> {
    const running = this.#queues.get(storeId);
    if (running !== undefined && running.length >= QUEUE_LENGTH_MAX) {
      throw new AppError("overloaded", { message: "too many notes wait for this store", retryAfterSec: 1 });
    }
    return await new Promise<number>((resolve, reject) => {
      const waiting: Waiting = { pending, resolve, reject };
      if (running !== undefined) {
        running.push(waiting);
        return;
      }
      const queue = [waiting];
      this.#queues.set(storeId, queue);
      void this.#drain(owner, storeId, queue);
    });
  }

  async #drain(owner: Subject, storeId: string, queue: Waiting[]): Promise<void> {
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

  async #appendBatch(owner: Subject, storeId: string, batch: readonly Waiting[]): Promise<void> {
    for (let attempt = 0; attempt <= CONFLICT_RETRIES_MAX; attempt += 1) {
      const wanted = batch.flatMap((waiting) => withChecks(waiting));
      if (wanted.length === 0) return;
      const record = this.#dependencies.store.get<ProofStore>(storeKey(owner, storeId));
      const tree = record?.value.tree;
      if (record === undefined || tree === undefined)
        throw new AppError("not_found", { message: "note store not found" });
      if (tree.size + wanted.length > 2 ** tree.depth)
        throw new AppError("note_store_full", { message: "the note store is full; name another one for new provers" });
      const appended = await this.#dependencies.appendNotes({
        state: tree,
        digests: wanted.map(({ waiting }) => waiting.pending.digest),
      });
      try {
        await this.#dependencies.store.commit(
          mergeCommits(
            {
              checks: [{ key: record.key, version: record.version }],
              puts: this.#puts(
                owner,
                record.value,
                tree.size,
                wanted.map(({ waiting }) => waiting.pending),
                appended,
              ),
            },
            ...wanted.map(({ waiting, checks }, offset) =>
              mergeCommits({ checks }, waiting.pending.records(tree.size + offset)),
            ),
          ),
        );
      } catch (error) {
        if (error instanceof StoreConflict) continue;
        throw error;
      }
      wanted.forEach(({ waiting }, offset) => {
        waiting.resolve(tree.size + offset);
      });
      return;
    }
    throw new AppError("overloaded", { message: "the note store is busy, try again", retryAfterSec: 1 });
  }

  #puts(
    owner: Subject,
    record: ProofStore,
    size: number,
    notes: readonly PendingNote[],
    appended: AppendNotesValue,
  ): StorePut[] {
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
    // Leaves are in the notes; of the inner nodes each is written once, when it is complete. Inclusion proofs come from
    // them.
    const nodes = appended.completed
      .filter((node) => node.level > 0)
      .map((node): StorePut => ({ key: [...nodesPrefix(owner, record.id), node.level, node.index], value: node.hash }));
    const state: ProofStore = { ...record, tree: appended.state };
    return [{ key: storeKey(owner, record.id), value: state }, ...records, ...nodes];
  }

  #newStore(id: string, kind: StoreKind, curve: string, proverId: string): ProofStore {
    const base = {
      id,
      created_at: isoTimestamp(this.#dependencies.clock.nowMs()),
      name: `${kind} of prover ${proverId}`,
      kind,
      curve,
    };
    return kind === "notes" ? { ...base, tree: EMPTY_TREE } : base;
  }

  #findSuitable(owner: Subject, storeId: string, kind: StoreKind, curve: string): StoreRecord<ProofStore> {
    const record = this.#dependencies.store.get<ProofStore>(storeKey(owner, storeId));
    const member = kind === "notes" ? "note_store_id" : "nullifier_store_id";
    const message = `${member}: there is no store of ${kind} for ${curve} with this id`;
    if (record === undefined || record.value.kind !== kind || record.value.curve !== curve) {
      throw new AppError("store_unsuitable", {
        message,
        details: [{ message, code: "store_unsuitable", path: member }],
      });
    }
    return record;
  }
}

/** Pairs a waiting note with its present checks; one whose checks throw is refused by itself and leaves the batch. */
function withChecks(waiting: Waiting): { readonly waiting: Waiting; readonly checks: readonly StoreCheck[] }[] {
  try {
    return [{ waiting, checks: waiting.pending.checks() }];
  } catch (error) {
    waiting.reject(error);
    return [];
  }
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
