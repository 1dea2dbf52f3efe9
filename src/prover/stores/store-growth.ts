/** Appends a batch to one store: hashes it into the store's tree, and prepares what is written. */
import { assert } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { Store, StoreCommit, StorePut, StoreRecord } from "../../platform/store/store.js";
import type { NoteTreeState } from "../../engine/merkle/note-tree.js";
import { pathNodes } from "../../engine/merkle/sparse-tree.js";
import type {
  AppendNotesMessage,
  AppendNotesValue,
  InsertNullifiersMessage,
  InsertNullifiersValue,
} from "../../engine/protocol.js";
import type { PendingAppend, PendingNote, PendingSpend } from "./pending-append.js";
import { SparseNodes } from "./sparse-nodes.js";
import {
  keyIn,
  stateOf,
  type ProofStore,
  type StoredNote,
  type StoredNullifier,
  type StoreReference,
} from "./store-records.js";

/** How a store has grown by a batch. */
export interface Growth {
  readonly reference: StoreReference;
  readonly commit: StoreCommit;
  /** Of each note or spend that went into the store, from 0. */
  readonly places: ReadonlyMap<PendingNote | PendingSpend, number>;
  readonly sizeBefore: number;
  readonly size: number;
  readonly root: string;
}

interface GrowthInput {
  readonly store: Store;
  readonly appendNotes: (message: AppendNotesMessage, owner: Subject) => Promise<AppendNotesValue>;
  readonly insertNullifiers: (message: InsertNullifiersMessage, owner: Subject) => Promise<InsertNullifiersValue>;
  readonly reference: StoreReference;
  readonly record: StoreRecord<ProofStore>;
  readonly createdAt: string;
  /** Those that have nothing for the store are left out. */
  readonly pendings: readonly PendingAppend[];
}

/** Appends the notes of a batch that go into one store. */
export async function appendToNotes(input: GrowthInput, tree: NoteTreeState): Promise<Growth> {
  const { reference, record, createdAt } = input;
  const notes = input.pendings.flatMap(({ note }) => (note?.store.id === reference.id ? [note] : []));
  const digests = notes.map(({ digest }) => digest);
  const appended = await input.appendNotes({ curve: record.value.curve, state: tree, digests }, reference.owner);
  const records = notes.flatMap(({ statementHash, proofHash, record: given }, offset): StorePut[] => {
    const leaf = appended.leaves[offset];
    assert(leaf !== undefined, "every note has a leaf");
    const note: StoredNote = { ...given, created_at: createdAt, leaf };
    const index = tree.size + offset;
    return [
      { key: keyIn("note", reference, index), value: note },
      { key: keyIn("note_statement", reference, statementHash, index), value: proofHash },
    ];
  });
  // Leaves are part of the notes. Each inner node is written once, when it is complete.
  const nodes = appended.completed
    .filter(({ level }) => level > 0)
    .map(({ level, index, hash }): StorePut => ({ key: keyIn("note_node", reference, level, index), value: hash }));
  return grown(
    input,
    { ...record.value, tree: appended.state },
    { puts: [...records, ...nodes], places: new Map(notes.map((note, offset) => [note, tree.size + offset])) },
  );
}

/** Spends the keys of a batch that go into one store. */
export async function appendToNullifiers(input: GrowthInput): Promise<Growth> {
  const { store, reference, record, createdAt, pendings } = input;
  const { curve } = record.value;
  const before = stateOf(record.value);
  const spends = pendings.flatMap((pending) => pending.spends.filter((spend) => spend.store.id === reference.id));
  const entries = spends.map(({ key, value }) => ({ key, value }));
  const keys = spends.map(({ key }) => key);
  const kept = new SparseNodes(store, reference);
  const nodes = pathNodes(kept.read, { root: before.root, keys, curve });
  const message = { root: before.root, entries, curve, nodes };
  const { root, added } = await input.insertNullifiers(message, reference.owner);
  const records = spends.flatMap(({ key, value, proverId, note }, offset): StorePut[] => {
    const nullifier: StoredNullifier = {
      created_at: createdAt,
      prover_id: proverId,
      value,
      index: before.size + offset,
      ...(note === undefined ? {} : { note: note.ciphertext }),
    };
    const mark = note === undefined ? [] : [{ key: keyIn("note_spent", note.store, note.index), value: { key } }];
    return [{ key: keyIn("nullifier", reference, key), value: nullifier }, ...mark];
  });
  const spent = { size: before.size + spends.length, root };
  return grown(
    input,
    { ...record.value, spent },
    {
      puts: [...records, ...kept.puts(spent, added)],
      places: new Map(spends.map((spend, offset) => [spend, before.size + offset])),
      checks: spends.flatMap(({ key, note }) => [
        { key: keyIn("nullifier", reference, key), version: "absent" as const },
        ...(note === undefined
          ? []
          : [{ key: keyIn("note_spent", note.store, note.index), version: "absent" as const }]),
      ]),
    },
  );
}

function grown(
  { reference, record, createdAt }: GrowthInput,
  next: ProofStore,
  {
    puts,
    places,
    checks = [],
  }: Pick<StoreCommit, "checks"> & {
    readonly puts: readonly StorePut[];
    readonly places: Growth["places"];
  },
): Growth {
  const { size, root } = stateOf(next);
  return {
    ...{ reference, places, size, root },
    sizeBefore: stateOf(record.value).size,
    commit: {
      checks: [{ key: record.key, version: record.version }, ...checks],
      puts: [
        { key: record.key, value: next },
        ...puts,
        { key: keyIn("proof_store_root", reference, size), value: { root, created_at: createdAt } },
        { key: keyIn("proof_store_size", reference, root), value: size },
      ],
    },
  };
}
