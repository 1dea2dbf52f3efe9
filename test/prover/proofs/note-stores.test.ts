import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CurveName } from "../../../src/engine/curves/curve-parameters.js";
import { appendNotes, emptyNoteTree } from "../../../src/engine/merkle/note-tree.js";
import { AppError } from "../../../src/platform/errors.js";
import { newId } from "../../../src/platform/ids.js";
import { openStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import type { DurableStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { StoreConflict } from "../../../src/platform/store/store.js";
import { NoteStores, emptyTree, type PendingNote } from "../../../src/prover/proofs/note-stores.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { recordedLog } from "../../support/silent-log.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { TestClock, codeOf, subject } from "../../vault/support.js";

const folder = newFolder("notes");
let store: DurableStore;
let notes: NoteStores;
let batches: number[] = [];

beforeAll(async () => {
  store = await openStore({ path: folder, mapBytes: 64 * 2 ** 20, reserveBytes: 2 ** 20 }, { log: recordedLog() });
  notes = new NoteStores({
    store,
    clock: new TestClock(),
    appendNotes: async (message) => {
      batches.push(message.digests.length);
      return appendNotes(message);
    },
  });
});
afterAll(async () => {
  await store.close();
  removeFolder(folder);
});

function pending(seed: number, overrides: Partial<PendingNote> = {}): PendingNote {
  const hex = seed.toString(16).padStart(64, "0");
  return {
    digest: hex,
    statementHash: hex,
    proofHash: hex,
    note: { prover_id: newId(), vault_id: newId(), key_id: newId(), ciphertext: `note ${seed}` },
    checks: () => [],
    records: (index) => ({ puts: [{ key: ["test", hex], value: index }] }),
    ...overrides,
  };
}

async function newStores(
  owner: Subject,
  wanted: { notes?: string; nullifiers?: string } = {},
): Promise<{ noteStoreId: string; nullifierStoreId: string; proverId: string }> {
  const proverId = newId();
  const { commit, ...ids } = notes.prepare(owner, {
    proverId,
    curve: "BN254",
    notes: wanted.notes,
    nullifiers: wanted.nullifiers,
  });
  await store.commit(commit);
  return { ...ids, proverId };
}

describe("note stores", () => {
  it("start with the empty tree of their depth", () => {
    for (const curve of ["BN254", "BLS12_381"] as const) expect(emptyTree(curve)).toEqual(emptyNoteTree(32, curve));
  });

  it("lose no leaf when many notes arrive at once, and hash them in batches", async () => {
    const owner = subject();
    const { noteStoreId } = await newStores(owner);
    batches = [];
    const indices = await Promise.all(
      Array.from({ length: 100 }, (_, seed) => notes.append(owner, noteStoreId, pending(seed))),
    );
    expect([...indices].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, index) => index));
    expect(batches.length).toBeLessThan(10);
    const stored = Array.from({ length: 100 }, (_, index) => notes.readNote(owner, noteStoreId, index)!);
    indices.forEach((index, seed) => {
      expect(stored[index]!.ciphertext, `seed ${seed}`).toBe(`note ${seed}`);
    });
    const digests = stored.map((note) => Number(note.ciphertext.slice(5)).toString(16).padStart(64, "0"));
    const expected = appendNotes({ curve: "BN254", state: emptyNoteTree(32), digests });
    expect(notes.read(owner, noteStoreId)!.tree).toEqual(expected.state);
    expect(stored.map((note) => note.leaf)).toEqual(expected.leaves);
  });

  it("keep their tree over a restart", async () => {
    const owner = subject();
    const { noteStoreId } = await newStores(owner);
    await notes.append(owner, noteStoreId, pending(1));
    const again = new NoteStores({
      store,
      clock: new TestClock(),
      appendNotes: async (message) => appendNotes(message),
    });
    expect(await again.append(owner, noteStoreId, pending(2))).toBe(1);
    const digests = [1, 2].map((seed) => seed.toString(16).padStart(64, "0"));
    expect(again.read(owner, noteStoreId)!.tree).toEqual(
      appendNotes({ curve: "BN254", state: emptyNoteTree(32), digests }).state,
    );
  });

  it("append again when another writer was first", async () => {
    const owner = subject();
    const { noteStoreId } = await newStores(owner);
    let raced = false;
    const slow = new NoteStores({
      store,
      clock: new TestClock(),
      appendNotes: async (message) => {
        if (!raced) {
          raced = true;
          await notes.append(owner, noteStoreId, pending(7));
        }
        return appendNotes(message);
      },
    });
    expect(await slow.append(owner, noteStoreId, pending(8))).toBe(1);
    expect(notes.readNote(owner, noteStoreId, 0)!.ciphertext).toBe("note 7");
  });

  it("refuse a note that is not wanted any more and take its neighbours", async () => {
    const owner = subject();
    const { noteStoreId } = await newStores(owner);
    const gone = pending(2, {
      checks: () => {
        throw new AppError("not_found", { message: "prover not found" });
      },
    });
    const outcomes = await Promise.allSettled([
      notes.append(owner, noteStoreId, pending(1)),
      notes.append(owner, noteStoreId, gone),
      notes.append(owner, noteStoreId, pending(3)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(notes.read(owner, noteStoreId)!.tree!.size).toBe(2);
  });

  it("tell when the store is gone", async () => {
    expect(await codeOf(() => notes.append(subject(), newId(), pending(1)))).toBe("not_found");
  });

  it("are shared only within an owner, a kind and a curve", async () => {
    const owner = subject();
    const first = await newStores(owner);
    const second = await newStores(owner, { notes: first.noteStoreId, nullifiers: first.nullifierStoreId });
    expect(second).toMatchObject({ noteStoreId: first.noteStoreId, nullifierStoreId: first.nullifierStoreId });
    const prepare = (who: Subject, curve: CurveName, wanted: { notes?: string; nullifiers?: string }) => () =>
      notes.prepare(who, { proverId: newId(), curve, notes: wanted.notes, nullifiers: wanted.nullifiers });
    expect(await codeOf(prepare(subject(), "BN254", { notes: first.noteStoreId }))).toBe("store_unsuitable");
    expect(await codeOf(prepare(owner, "BN254", { notes: first.nullifierStoreId }))).toBe("store_unsuitable");
    expect(await codeOf(prepare(owner, "BN254", { nullifiers: first.noteStoreId }))).toBe("store_unsuitable");
    expect(await codeOf(prepare(owner, "BLS12_381", { notes: first.noteStoreId }))).toBe("store_unsuitable");
    expect(await codeOf(prepare(owner, "BN254", { notes: newId() }))).toBe("store_unsuitable");
  });

  it("go with the last prover that uses them, with everything in them", async () => {
    const owner = subject();
    const first = await newStores(owner);
    const second = await newStores(owner, { notes: first.noteStoreId });
    await notes.append(owner, first.noteStoreId, pending(1));
    await store.commit(notes.prepareRelease(owner, first.proverId, [first.noteStoreId, first.nullifierStoreId]));
    expect(notes.readNote(owner, first.noteStoreId, 0)).toBeDefined();
    expect(notes.read(owner, first.nullifierStoreId)).toBeUndefined();
    await store.commit(notes.prepareRelease(owner, second.proverId, [second.noteStoreId, second.nullifierStoreId]));
    expect(notes.readNote(owner, first.noteStoreId, 0)).toBeUndefined();
    expect(notes.read(owner, first.noteStoreId)).toBeUndefined();
  });

  it("are not deleted under a prover that begins to share them meanwhile", async () => {
    const owner = subject();
    const first = await newStores(owner);
    const release = notes.prepareRelease(owner, first.proverId, [first.noteStoreId]);
    await newStores(owner, { notes: first.noteStoreId });
    await expect(store.commit(release)).rejects.toThrow(StoreConflict);
    expect(notes.read(owner, first.noteStoreId)).toBeDefined();
  });
});
