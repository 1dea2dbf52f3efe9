/** The stores themselves: appends in batches, conflicts, what is spent once, sharing and deletion. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CurveName } from "../../../src/engine/curves/curve-parameters.js";
import { appendNotes, emptyNoteTree } from "../../../src/engine/merkle/note-tree.js";
import { insertAll, verifySparseProof } from "../../../src/engine/merkle/sparse-tree.js";
import { insertNullifiers, proveNotes } from "../../../src/engine/merkle/tree-tasks.js";
import { verifyConsistency, verifyInclusion } from "../../../src/engine/merkle/dense-proofs.js";
import { AppError } from "../../../src/platform/errors.js";
import { newId } from "../../../src/platform/ids.js";
import { Jobs } from "../../../src/platform/jobs/jobs.js";
import { openStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import type { DurableStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { StoreConflict } from "../../../src/platform/store/store.js";
import type { PendingAppend, PendingSpend } from "../../../src/prover/stores/pending-append.js";
import { ProofStores, emptyTree } from "../../../src/prover/stores/proof-stores.js";
import { StoreAppends } from "../../../src/prover/stores/store-appends.js";
import { StoreProofs } from "../../../src/prover/stores/store-proofs.js";
import { EMPTY_SPARSE_ROOT, PARTS_OF_STORE, keyIn, stateOf } from "../../../src/prover/stores/store-records.js";
import { StoreRemovals } from "../../../src/prover/stores/store-removals.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { eventually } from "../../support/eventually.js";
import { recordedLog } from "../../support/silent-log.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { TestClock, codeOf, subject } from "../../vault/support.js";

const folder = newFolder("stores");
let store: DurableStore;
let stores: ProofStores;
let appends: StoreAppends;
let proofs: StoreProofs;
let batches: number[] = [];

beforeAll(async () => {
  store = await openStore({ path: folder, mapBytes: 64 * 2 ** 20, reserveBytes: 2 ** 20 }, { log: recordedLog() });
  stores = new ProofStores({ store, removals: new StoreRemovals({ store, jobs: jobsOf() }), clock: new TestClock() });
  appends = appendsOf();
  proofs = new StoreProofs({ store, stores, proveNotes: async (message) => proveNotes(message) });
});
afterAll(async () => {
  await store.close();
  removeFolder(folder);
});

/** Jobs of one start of a server. */
function jobsOf(): Jobs {
  return new Jobs({ retryDelayMs: 1, settleDelayMs: 1 }, { store, clock: new TestClock(), log: recordedLog() });
}

/** Starts a server as far as removals go. */
async function startRemovals(by: Pick<DurableStore, "range" | "commit"> = store): Promise<Jobs> {
  const jobs = jobsOf();
  const removals = new StoreRemovals({ store: by, jobs });
  removals.register((of) => of.id);
  await removals.resume();
  await jobs.start();
  return jobs;
}

/** A writer of its own, such as another process would be. */
function appendsOf(before: () => Promise<void> = async () => undefined): StoreAppends {
  return new StoreAppends({
    ...{ store, stores, clock: new TestClock() },
    appendNotes: async (message) => {
      batches.push(message.digests.length);
      await before();
      return appendNotes(message);
    },
    insertNullifiers: async (message) => {
      batches.push(message.entries.length);
      await before();
      return insertNullifiers(message);
    },
  });
}

const hexOf = (seed: number): string => seed.toString(16).padStart(64, "0");

function note(owner: Subject, id: string, seed: number, overrides: Partial<PendingAppend> = {}): PendingAppend {
  const hex = hexOf(seed);
  return {
    note: {
      store: { owner, id },
      ...{ digest: hex, statementHash: hex, proofHash: hex },
      record: { prover_id: newId(), vault_id: newId(), key_id: newId(), ciphertext: `note ${seed}` },
    },
    spends: [],
    checks: () => [],
    records: ({ noteIndex = -1 }) => ({ puts: [{ key: ["test", id, hex], value: noteIndex }] }),
    ...overrides,
  };
}

function spend(owner: Subject, id: string, seed: number, more: Partial<PendingSpend> = {}): PendingSpend {
  return { store: { owner, id }, proverId: newId(), key: hexOf(seed), value: hexOf(seed + 1), ...more };
}

const only = (...spends: readonly PendingSpend[]): PendingAppend => ({
  ...{ spends, checks: () => [], records: () => ({}) },
});

async function append(pending: PendingAppend, by = appends): Promise<number> {
  return (await by.append(pending)).noteIndex ?? -1;
}

async function newStores(
  owner: Subject,
  wanted: { notes?: string; nullifiers?: string; curve?: CurveName } = {},
): Promise<{ noteStoreId: string; nullifierStoreId: string; proverId: string }> {
  const proverId = newId();
  const { commit, ...ids } = stores.prepare(owner, {
    proverId,
    curve: wanted.curve ?? "BN254",
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
    const indices = await Promise.all(Array.from({ length: 100 }, (_, seed) => append(note(owner, noteStoreId, seed))));
    expect([...indices].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, index) => index));
    expect(batches.length).toBeLessThan(10);
    const stored = Array.from({ length: 100 }, (_, index) => stores.readNote(owner, noteStoreId, index)!);
    indices.forEach((index, seed) => {
      expect(stored[index]!.ciphertext, `seed ${seed}`).toBe(`note ${seed}`);
    });
    const digests = stored.map((note) => Number(note.ciphertext.slice(5)).toString(16).padStart(64, "0"));
    const expected = appendNotes({ curve: "BN254", state: emptyNoteTree(32), digests });
    expect(stores.read(owner, noteStoreId)!.tree).toEqual(expected.state);
    expect(stored.map((note) => note.leaf)).toEqual(expected.leaves);
  });

  it("keep their tree over a restart", async () => {
    const owner = subject();
    const { noteStoreId } = await newStores(owner);
    await append(note(owner, noteStoreId, 1));
    expect(await append(note(owner, noteStoreId, 2), appendsOf())).toBe(1);
    const digests = [1, 2].map((seed) => seed.toString(16).padStart(64, "0"));
    expect(stores.read(owner, noteStoreId)!.tree).toEqual(
      appendNotes({ curve: "BN254", state: emptyNoteTree(32), digests }).state,
    );
  });

  it("append again when another writer was first", async () => {
    const owner = subject();
    const { noteStoreId } = await newStores(owner);
    let raced = false;
    const slow = appendsOf(async () => {
      if (raced) return;
      raced = true;
      await append(note(owner, noteStoreId, 7));
    });
    expect(await append(note(owner, noteStoreId, 8), slow)).toBe(1);
    expect(stores.readNote(owner, noteStoreId, 0)!.ciphertext).toBe("note 7");
  });

  it("refuse a note that is not wanted any more and take its neighbours", async () => {
    const owner = subject();
    const { noteStoreId } = await newStores(owner);
    const gone = note(owner, noteStoreId, 2, {
      checks: () => {
        throw new AppError("not_found", { message: "prover not found" });
      },
    });
    const outcomes = await Promise.allSettled([
      append(note(owner, noteStoreId, 1)),
      append(gone),
      append(note(owner, noteStoreId, 3)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(stores.read(owner, noteStoreId)!.tree!.size).toBe(2);
  });

  it("tell when the store is gone", async () => {
    expect(await codeOf(() => append(note(subject(), newId(), 1)))).toBe("not_found");
  });

  it("are shared only within an owner, a kind and a curve", async () => {
    const owner = subject();
    const first = await newStores(owner);
    const second = await newStores(owner, { notes: first.noteStoreId, nullifiers: first.nullifierStoreId });
    expect(second).toMatchObject({ noteStoreId: first.noteStoreId, nullifierStoreId: first.nullifierStoreId });
    const prepare = (who: Subject, curve: CurveName, wanted: { notes?: string; nullifiers?: string }) => () =>
      stores.prepare(who, { proverId: newId(), curve, notes: wanted.notes, nullifiers: wanted.nullifiers });
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
    await append(note(owner, first.noteStoreId, 1));
    await store.commit(stores.prepareRelease(owner, first.proverId, [first.noteStoreId, first.nullifierStoreId]));
    expect(stores.readNote(owner, first.noteStoreId, 0)).toBeDefined();
    expect(stores.read(owner, first.nullifierStoreId)).toBeUndefined();
    await store.commit(stores.prepareRelease(owner, second.proverId, [second.noteStoreId, second.nullifierStoreId]));
    expect(stores.readNote(owner, first.noteStoreId, 0)).toBeUndefined();
    expect(stores.read(owner, first.noteStoreId)).toBeUndefined();
  });

  it("are not deleted under a prover that begins to share them meanwhile", async () => {
    const owner = subject();
    const first = await newStores(owner);
    const release = stores.prepareRelease(owner, first.proverId, [first.noteStoreId]);
    await newStores(owner, { notes: first.noteStoreId });
    await expect(store.commit(release)).rejects.toThrow(StoreConflict);
    expect(stores.read(owner, first.noteStoreId)).toBeDefined();
  });
});

describe("stores of nullifiers", () => {
  it("spend a key once, in one batch and in several, by one writer and by two", async () => {
    const owner = subject();
    const { nullifierStoreId: id } = await newStores(owner);
    const other = appendsOf();
    const tries = Array.from({ length: 20 }, (_, i) =>
      (i % 2 === 0 ? appends : other).append(only(spend(owner, id, 5))),
    );
    const outcomes = await Promise.allSettled(tries);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const failed = outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason as AppError] : []));
    expect(new Set(failed.map(({ code, status }) => `${code} ${String(status)}`))).toEqual(
      new Set(["note_double_spend 409"]),
    );
    expect(await codeOf(() => appends.append(only(spend(owner, id, 5, { value: hexOf(9) }))))).toBe(
      "note_double_spend",
    );
    expect(stores.read(owner, id)!.spent!.size).toBe(1);
    expect(stores.readNullifier({ owner, id }, hexOf(5))).toMatchObject({ value: hexOf(6), index: 0 });
  });

  it("have the tree of their keys, whatever the batches were", async () => {
    const owner = subject();
    const { nullifierStoreId: id } = await newStores(owner);
    batches = [];
    const spent = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => (await appends.append(only(spend(owner, id, 3 * i + 1)))).spent[0]!),
    );
    expect(batches.length).toBeLessThan(10);
    expect(spent.map(({ index }) => index).sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    const entries = spent.map(({ key }, i) => ({ key, value: hexOf(3 * i + 2) }));
    const { root } = insertAll(() => undefined, { root: EMPTY_SPARSE_ROOT, entries, curve: "BN254" });
    expect(stores.read(owner, id)!.spent).toEqual({ size: 100, root });
    for (const { size, root: then, key } of spent) {
      const { proof } = proofs.nullifier({ owner, id }, key, { size });
      expect([proof.found, proof.root, verifySparseProof(proof)]).toEqual([true, then, true]);
    }
  });

  it("prove what was absent at a root of the past, and refuse roots that never were", async () => {
    const owner = subject();
    const { nullifierStoreId: id } = await newStores(owner);
    const [first] = (await appends.append(only(spend(owner, id, 1)))).spent;
    const [second] = (await appends.append(only(spend(owner, id, 2)))).spent;
    const reference = { owner, id };
    const ask = (key: number, past: object = {}) => proofs.nullifier(reference, hexOf(key), past).proof;
    const asked = [ask(2), ask(2, { root: first!.root }), ask(2, { size: 0 }), ask(1, { size: 2 }), ask(3)];
    expect(asked.map(({ found }) => found)).toEqual([true, false, false, true, false]);
    expect(asked.every((proof) => verifySparseProof(proof))).toBe(true);
    expect(asked.map(({ root }) => root)).toEqual([
      ...[second!.root, first!.root, EMPTY_SPARSE_ROOT, second!.root, second!.root],
    ]);
    expect(await codeOf(() => ask(1, { size: 3 }))).toBe("not_found");
    expect(await codeOf(() => ask(1, { root: hexOf(77) }))).toBe("not_found");
    expect(await codeOf(() => ask(1, { root: first!.root, size: 1 }))).toBe("invalid_request");
    expect(await codeOf(() => proofs.nullifier(reference, "f".repeat(64)))).toBe("invalid_request");
    expect(stores.roots(reference, { page: 1, rpp: 25 })).toMatchObject({
      total: 2,
      roots: [
        { size: 2, root: second!.root },
        { size: 1, root: first!.root },
      ],
    });
  });

  it("take keys up to the order of their own curve", async () => {
    const owner = subject();
    const between = `5${"0".repeat(63)}`;
    for (const [curve, expected] of [
      ["BLS12_381", "fulfilled"],
      ["BN254", "invalid_request"],
    ] as const) {
      const { nullifierStoreId: id } = await newStores(owner, { curve });
      await appends.append(only(spend(owner, id, 1)));
      expect(await codeOf(() => proofs.nullifier({ owner, id }, between)), curve).toBe(expected);
      const { proof } = proofs.nullifier({ owner, id }, hexOf(1));
      expect([proof.found, proof.curve, verifySparseProof(proof)]).toEqual([true, curve, true]);
    }
  });

  it("take a note and what it spends together, or neither", async () => {
    const owner = subject();
    const { noteStoreId, nullifierStoreId } = await newStores(owner);
    const other = await newStores(owner, { notes: noteStoreId });
    await append(note(owner, noteStoreId, 1));
    const spent = { store: { owner, id: noteStoreId }, index: 0, ciphertext: "note 1" };
    const replace = (id: string, seed: number): PendingAppend =>
      note(owner, noteStoreId, seed, { spends: [spend(owner, id, 50 + seed, { note: spent })] });
    // Two stores of nullifiers: the note itself is spent once all the same.
    const outcomes = await Promise.allSettled([
      append(replace(nullifierStoreId, 2)),
      append(replace(other.nullifierStoreId, 3)),
      append(replace(nullifierStoreId, 4)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
    expect(stores.read(owner, noteStoreId)!.tree!.size).toBe(2);
    expect(stores.isNoteSpent({ owner, id: noteStoreId }, 0)).toBe(true);
    expect(stores.isNoteSpent({ owner, id: noteStoreId }, 1)).toBe(false);
    expect(stateOf(stores.read(owner, other.nullifierStoreId)!).size).toBe(0);
    expect(stores.readNullifier({ owner, id: nullifierStoreId }, hexOf(52))).toMatchObject({ note: "note 1" });
    const twice = spend(owner, nullifierStoreId, 60);
    expect(await codeOf(() => appends.append(only(twice, { ...twice })))).toBe("note_double_spend");
  });

  it("of large size go in pieces by a job, also after a kill between the pieces", async () => {
    const owner = subject();
    const { nullifierStoreId: id, noteStoreId, proverId } = await newStores(owner);
    await Promise.all(Array.from({ length: 300 }, (_, i) => appends.append(only(spend(owner, id, i + 1)))));
    await store.commit(stores.prepareRelease(owner, proverId, [noteStoreId, id]));
    expect(stores.read(owner, id)).toBeUndefined();
    expect(store.count(["nullifier", owner.kind, owner.id])).toBe(300);
    expect(await codeOf(() => appends.append(only(spend(owner, id, 1000))))).toBe("not_found");
    // The first server is killed when a piece is on disk, and never says so; the second one goes on with the rest.
    let isKilled = false;
    await startRemovals({
      range: (...of) => store.range(...of),
      commit: async (commit) => {
        await store.commit(commit);
        if ((commit.deletes?.length ?? 0) <= 1) return;
        isKilled = true;
        await new Promise(() => undefined);
      },
    });
    await eventually(() => {
      expect(isKilled).toBe(true);
    });
    expect(store.count(["nullifier", owner.kind, owner.id])).toBe(0);
    expect(store.count(["nullifier_nodes", owner.kind, owner.id])).toBeGreaterThan(0);
    const second = await startRemovals();
    await removed(owner);
    await second.stop();
  });

  it("that were to be removed without a job, or whose job has failed, are removed at the next start", async () => {
    const owner = subject();
    const { nullifierStoreId: id, noteStoreId, proverId } = await newStores(owner);
    await Promise.all(Array.from({ length: 300 }, (_, i) => appends.append(only(spend(owner, id, i + 1)))));
    const key = keyIn("proof_store_removal", { owner, id });
    await store.commit(stores.prepareRelease(owner, proverId, [noteStoreId, id]));
    for (const { id: job } of jobsOf().ofSubject(key)) await jobsOf().cancel(job);
    expect(store.get(key)?.value).toEqual({ owner: { kind: owner.kind, id: owner.id }, id });
    const jobs = await startRemovals();
    await removed(owner);
    await jobs.stop();
    expect(jobs.ofSubject(key)).toHaveLength(1);
  });

  it("of another owner, and of the same owner under another id, are left alone by a removal", async () => {
    const owner = subject();
    const stranger = subject();
    const gone = await newStores(owner);
    const kept = await newStores(owner);
    const others = await newStores(stranger);
    await Promise.all(
      Array.from({ length: 300 }, (_, i) => appends.append(only(spend(owner, gone.nullifierStoreId, i + 1)))),
    );
    await appends.append(only(spend(owner, kept.nullifierStoreId, 1)));
    await appends.append(only(spend(stranger, others.nullifierStoreId, 1)));
    await store.commit(stores.prepareRelease(owner, gone.proverId, [gone.noteStoreId, gone.nullifierStoreId]));
    const jobs = await startRemovals();
    await eventually(() => {
      expect(store.count(["proof_store_removal", owner.kind, owner.id])).toBe(0);
    });
    await jobs.stop();
    for (const [of, { nullifierStoreId: id }] of [
      [owner, kept],
      [stranger, others],
    ] as const) {
      expect(stores.readNullifier({ owner: of, id }, hexOf(1))).toBeDefined();
      expect(store.count(["nullifier", of.kind, of.id])).toBe(1);
    }
  });
});

/** Resolves when nothing is left of any store of an owner. */
async function removed(owner: Subject): Promise<void> {
  await eventually(() => {
    for (const table of [...PARTS_OF_STORE, "proof_store_removal"])
      expect(store.count([table, owner.kind, owner.id]), table).toBe(0);
  });
}

describe("proofs about notes", () => {
  it("hold at every size", async () => {
    const owner = subject();
    const { noteStoreId: id } = await newStores(owner);
    for (let seed = 1; seed <= 6; seed += 1) await append(note(owner, id, seed));
    const reference = { owner, id };
    const roots = new Map(stores.roots(reference, { page: 1, rpp: 25 }).roots.map(({ size, root }) => [size, root]));
    for (let size = 1; size <= 6; size += 1) {
      for (let index = 0; index < size; index += 1) {
        const proof = await proofs.note(reference, index, size);
        expect([verifyInclusion(proof), proof.root], `${String(index)} of ${String(size)}`).toEqual([
          true,
          roots.get(size),
        ]);
      }
      for (let from = 0; from <= size; from += 1) {
        const proof = await proofs.consistency(reference, from, size);
        expect([verifyConsistency(proof), proof.toRoot], `${String(from)} to ${String(size)}`).toEqual([
          true,
          roots.get(size),
        ]);
      }
    }
    expect(await codeOf(() => proofs.note(reference, 6))).toBe("not_found");
    expect(await codeOf(() => proofs.note(reference, 5, 5))).toBe("invalid_request");
    expect(await codeOf(() => proofs.note(reference, 5, 7))).toBe("invalid_request");
    expect(await codeOf(() => proofs.consistency(reference, 5, 4))).toBe("invalid_request");
    expect(await codeOf(() => proofs.consistency(reference, 5, 7))).toBe("invalid_request");
    expect(await codeOf(() => proofs.nullifier(reference, hexOf(1)))).toBe("not_found");
  });
});
