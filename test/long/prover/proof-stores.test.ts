/**
 * The stores under load: 10,000 notes and nullifiers by 20 writers, whose roots are those of @zk-kit's trees, and 5,000
 * races for one key each.
 */
import { IMT } from "@zk-kit/imt";
import { SparseMerkleTree } from "@zk-kit/sparse-merkle-tree";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verifyConsistency, verifyInclusion } from "../../../src/engine/merkle/dense-proofs.js";
import { appendNotes } from "../../../src/engine/merkle/note-tree.js";
import { verifySparseProof } from "../../../src/engine/merkle/sparse-tree.js";
import { treeHasher } from "../../../src/engine/merkle/tree-hasher.js";
import { insertNullifiers, proveNotes } from "../../../src/engine/merkle/tree-tasks.js";
import { systemClock } from "../../../src/platform/clock.js";
import { AppError } from "../../../src/platform/errors.js";
import { newId } from "../../../src/platform/ids.js";
import { openStore, type DurableStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { ProofStores } from "../../../src/prover/stores/proof-stores.js";
import { StoreRemovals } from "../../../src/prover/stores/store-removals.js";
import { Jobs } from "../../../src/platform/jobs/jobs.js";
import { StoreAppends } from "../../../src/prover/stores/store-appends.js";
import { StoreProofs } from "../../../src/prover/stores/store-proofs.js";
import { seededRandom } from "../../support/seeded.js";
import { recordedLog } from "../../support/silent-log.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { subject } from "../../vault/support.js";

const ENTRIES = 10_000;
const WRITERS = 20;
const RACES = 5_000;
/** Every how many entries a proof is made and checked. */
const CHECKED_EVERY = 7;

const folder = newFolder("stores-long");
const random = seededRandom();
const owner = subject();
let store: DurableStore;
let stores: ProofStores;
let proofs: StoreProofs;
let ids: { readonly noteStoreId: string; readonly nullifierStoreId: string };

beforeAll(async () => {
  console.log(`stores: PROOFWRIGHT_TEST_SEED=${String(random.seed)}`);
  store = await openStore({ path: folder }, { log: recordedLog() });
  const jobs = new Jobs({}, { store, clock: systemClock, log: recordedLog() });
  stores = new ProofStores({ store, removals: new StoreRemovals({ store, jobs }), clock: systemClock });
  proofs = new StoreProofs({ store, stores, proveNotes: async (message) => proveNotes(message) });
  const wanted = { proverId: newId(), curve: "BN254", notes: undefined, nullifiers: undefined } as const;
  const { commit, ...made } = stores.prepare(owner, wanted);
  await store.commit(commit);
  ids = made;
});
afterAll(async () => {
  await store.close();
  removeFolder(folder);
});

/** Writers that know nothing of each other's locks, as those of several processes. */
const writer = (): StoreAppends =>
  new StoreAppends({
    ...{ store, stores, clock: systemClock },
    appendNotes: async (message) => appendNotes(message),
    insertNullifiers: async (message) => insertNullifiers(message),
  });
const element = (): string => {
  const hex = Array.from({ length: 62 }, () => random.below(16).toString(16)).join("");
  return hex.padStart(64, "0");
};
const hexOf = (value: bigint | number | string): string => BigInt(value).toString(16).padStart(64, "0");
const hasher = treeHasher("BN254");
/** The kernel's hashes, which have tests of their own: the trees are what is compared here. */
const hash = ([left = 0n, right = 0n, ...more]: readonly (bigint | number | string)[]): bigint => {
  const columns = [[hexOf(left)], [hexOf(right)]] as const;
  const [made = ""] = more.length === 0 ? hasher.pairs(...columns) : hasher.leaves(...columns);
  return BigInt(`0x${made}`);
};

describe("10,000 notes and nullifiers by 20 writers", () => {
  it("have the roots of @zk-kit's trees, and every proof of them holds", async () => {
    const { noteStoreId, nullifierStoreId } = ids;
    const [notes, nullifiers] = [noteStoreId, nullifierStoreId].map((id) => ({ owner, id }));
    const keys = Array.from({ length: ENTRIES }, element);
    const appends = writer();
    let next = 0;
    await Promise.all(
      Array.from({ length: WRITERS }, async () => {
        while (next < keys.length) {
          const key = keys[next]!;
          next += 1;
          const record = { prover_id: newId(), vault_id: newId(), key_id: newId(), ciphertext: key };
          await appends.append({
            note: { store: notes!, digest: key, statementHash: key, proofHash: key, record },
            spends: [{ store: nullifiers!, proverId: newId(), key, value: key }],
            checks: () => [],
            records: () => ({}),
          });
        }
      }),
    );
    const tree = stores.read(owner, noteStoreId)!.tree!;
    const spent = stores.read(owner, nullifierStoreId)!.spent!;
    expect([tree.size, spent.size]).toEqual([ENTRIES, ENTRIES]);

    const leaves = Array.from({ length: ENTRIES }, (_, i) =>
      BigInt(`0x${stores.readNote(owner, noteStoreId, i)!.leaf}`),
    );
    const dense = new IMT(hash, 32, 0n, 2, leaves);
    expect(tree.root).toBe(hexOf(dense.root));
    const sparse = new SparseMerkleTree((values) => hash(values), true);
    for (const key of keys) sparse.add(BigInt(`0x${key}`), BigInt(`0x${key}`));
    expect(spent.root).toBe(hexOf(sparse.root));

    for (let i = 0; i < ENTRIES; i += CHECKED_EVERY) {
      const past = i + 1 + random.below(ENTRIES - i);
      expect(verifyInclusion(await proofs.note(notes!, i, past)), `note ${String(i)} of ${String(past)}`).toBe(true);
      expect(verifyConsistency(await proofs.consistency(notes!, i, past))).toBe(true);
      const there = proofs.nullifier(nullifiers!, keys[i]!).proof;
      const absent = proofs.nullifier(nullifiers!, element()).proof;
      expect([there.found, verifySparseProof(there), absent.found, verifySparseProof(absent)]).toEqual([
        ...[true, true, false, true],
      ]);
    }
  }, 600_000);

  it("lose no race for a key: one of each wins", async () => {
    const reference = { owner, id: ids.nullifierStoreId };
    const writers = [writer(), writer()];
    const before = stores.read(owner, ids.nullifierStoreId)!.spent!.size;
    let won = 0;
    const lost: unknown[] = [];
    let next = 0;
    const race = async (): Promise<void> => {
      while (next < RACES) {
        next += 1;
        const [key, value] = [element(), element()];
        const outcomes = await Promise.allSettled(
          writers.map(
            async (each) =>
              await each.append({
                ...{ spends: [{ store: reference, proverId: newId(), key, value }] },
                ...{ checks: () => [], records: () => ({}) },
              }),
          ),
        );
        won += outcomes.filter(({ status }) => status === "fulfilled").length;
        lost.push(...outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : [])));
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, race));
    expect(won).toBe(RACES);
    expect(lost).toHaveLength(RACES);
    expect(lost.every((error) => error instanceof AppError && error.code === "note_double_spend")).toBe(true);
    expect(stores.read(owner, ids.nullifierStoreId)!.spent!.size).toBe(before + RACES);
  }, 600_000);
});
