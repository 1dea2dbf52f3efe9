/**
 * The trees of notes and nullifiers: Poseidon beside circomlibjs and noble, appends beside zk-kit's tree on
 * circomlibjs' hash, and proofs of absence out of the store. Hashing runs on this thread, as it does on one of the
 * server's workers; the disk's part of an append is in the subject `store`.
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { IMT } from "@zk-kit/imt";
import { buildPoseidon } from "circomlibjs";
import type { Poseidon } from "circomlibjs";
import { poseidonPair } from "../../src/crypto/hashes/poseidon.js";
import { BN254 } from "../../src/engine/curves/bn254.js";
import { randomNonZero, writeBigIntLE } from "../../src/engine/field/bytes.js";
import { readProvingKey } from "../../src/engine/groth16/proving-key.js";
import { ResidentProver } from "../../src/engine/kernels/groth16/resident-prover.js";
import { makeKeyResident, proveResident } from "../../src/engine/kernels/groth16/resident-proving.js";
import { poseidonKernel } from "../../src/engine/kernels/poseidon/poseidon-kernel.js";
import { appendNotes, emptyNoteTree } from "../../src/engine/merkle/note-tree.js";
import { insertAll, proveKey, verifySparseProof } from "../../src/engine/merkle/sparse-tree.js";
import { EMPTY_NODE, elementToHex } from "../../src/engine/merkle/tree-hasher.js";
import { insertNullifiers } from "../../src/engine/merkle/tree-tasks.js";
import { systemClock } from "../../src/platform/clock.js";
import { createLog } from "../../src/platform/log.js";
import { openStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import type { DurableStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import { ProofStores } from "../../src/prover/stores/proof-stores.js";
import { SparseNodes } from "../../src/prover/stores/sparse-nodes.js";
import { StoreAppends } from "../../src/prover/stores/store-appends.js";
import { keyIn, type StoreReference } from "../../src/prover/stores/store-records.js";
import { loadCircuit } from "../circuits.js";
import { loadKey } from "../keys.js";
import { sampleMs, summarize } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";

/** Entries of the nullifier tree; the quick run says its number in the note. */
const ENTRIES = { quick: 20_000, full: 1_000_000 } as const;
/** Entries inserted at once: what is read and new of the tree takes some 250 MB. */
const ENTRIES_AT_ONCE = 20_000;
const PUTS_PER_COMMIT = 2_000;
const COMMITS_AT_ONCE = 8;
/** Notes of one append, as many as the server takes together, and hashes of one call. */
const NOTES = 32;
const SPENDING_ROUNDS = 50;
/** A proof of 160 ms: a smaller one takes less than any server spends around it. */
const PROVED = "merkle_membership";
const HASHES = 256;

export const subject: BenchSubject = {
  name: "trees",
  title: "Trees of notes and nullifiers, one thread",
  run: async (report, { quick }) => {
    const peer = await buildPoseidon();
    const samples = quick ? 20 : 200;
    await hashes(report, peer, samples);
    await appends(report, peer, samples);
    await proofsBeside(report, quick ? 15 : 50);
    await absences(report, quick ? ENTRIES.quick : ENTRIES.full);
  },
};

async function hashes(report: Report, peer: Poseidon, samples: number): Promise<void> {
  const kernel = poseidonKernel("BN254");
  const inputs = Array.from({ length: 2 * HASHES }, (_, i) => elementOf(`input ${String(i)}`));
  for (const [i, input] of inputs.entries()) writeBigIntLE(input, kernel.inputs, 32 * i);
  const [left = 0n, right = 0n] = inputs;
  const options = { samples, warmups: 20 };
  const measure = async (id: string, who: string, count: number, action: () => unknown): Promise<void> => {
    const { median, p95, samples: taken } = await sampleMs(action, options);
    const each = { median: (1000 * median) / count, p95: (1000 * p95) / count };
    report({ subject: "trees", id, peer: who, unit: "us", ...each, samples: taken });
  };
  const one = (hash: () => unknown) => () => {
    for (let i = 0; i < 16; i += 1) hash();
  };
  const batch = `poseidon of two, each of ${String(HASHES)} at once`;
  await measure(
    "poseidon of two, one by one",
    "proofwright",
    16,
    one(() => kernel.hash(2, 1)),
  );
  await measure(
    "poseidon of two, one by one",
    "circomlibjs",
    16,
    one(() => peer([left, right])),
  );
  await measure(
    "poseidon of two, one by one",
    "noble",
    16,
    one(() => poseidonPair(left, right)),
  );
  await measure(batch, "proofwright", HASHES, () => kernel.hash(2, HASHES));
  await measure(
    batch,
    "circomlibjs",
    16,
    one(() => peer([left, right])),
  );
}

/** From digests to the new root, with the nodes that are kept. */
async function appends(report: Report, peer: Poseidon, samples: number): Promise<void> {
  const digests = Array.from({ length: NOTES }, (_, i) => createHash("sha256").update(String(i)).digest("hex"));
  let state = emptyNoteTree(32);
  const id = "append to the note tree";
  const options = { samples, warmups: 5 };
  const amortised = await sampleMs(() => {
    state = appendNotes({ state, digests, curve: "BN254" }).state;
  }, options);
  const each = { median: amortised.median / NOTES, p95: amortised.p95 / NOTES, samples: amortised.samples };
  report({ subject: "trees", id, peer: "proofwright", unit: "ms", ...each, note: `each of ${String(NOTES)}` });
  const hash = (nodes: readonly unknown[]): bigint => peer.F.toObject(peer(nodes.map((node) => node as bigint)));
  const theirs = new IMT(hash, 32, 0n);
  let next = 1n;
  const single = await sampleMs(() => {
    theirs.insert(hash([next, next]));
    next += 1n;
  }, options);
  report({ subject: "trees", id, peer: "zk-kit", unit: "ms", ...single, note: "one by one, circomlibjs' hash" });
}

async function absences(report: Report, entries: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-trees-"));
  const store = await openStore(
    { path: join(folder, "store"), chainKey: randomBytes(32) },
    { log: createLog("error") },
  );
  try {
    const note = `${entries.toLocaleString("en")} entries in the store`;
    const tree = new StoredTree(store);
    const started = performance.now();
    await tree.fill(entries);
    const perEntry = (performance.now() - started) / entries;
    const filled = { unit: "ms", median: perEntry, samples: entries, note: `${note}, on disk` } as const;
    report({ subject: "trees", id: "insert into the nullifier tree", peer: "proofwright", ...filled });
    const times: number[] = [];
    for (let i = 0; i < 2_000; i += 1) {
      const key = elementToHex(elementOf(`absent ${String(i)}`));
      const begun = performance.now();
      const proof = proveKey(tree.nodes().read, { root: tree.root, key, curve: "BN254" });
      times.push(performance.now() - begun);
      if (proof.found || (i % 100 === 0 && !verifySparseProof(proof))) throw new Error("a proof of absence is wrong");
    }
    const taken = { unit: "ms", ...summarize(times), note } as const;
    report({ subject: "trees", id: "proof of absence", peer: "proofwright", ...taken });
    await spends(report, tree, note);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Keys of 32 callers at once, as the server spends them: checked, hashed in batches, synced. Processor time beside it. */
async function spends(report: Report, tree: StoredTree, note: string): Promise<void> {
  const appends = await tree.appends();
  const walls: number[] = [];
  const costs: number[] = [];
  for (let round = 0; round < SPENDING_ROUNDS; round += 1) {
    const before = process.cpuUsage();
    const started = performance.now();
    await Promise.all(
      Array.from({ length: NOTES }, (_, i) => spend(appends, tree, `spend ${String(round)}/${String(i)}`)),
    );
    walls.push((performance.now() - started) / NOTES);
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / 1000 / NOTES);
  }
  const id = "spend a nullifier";
  const each = {
    subject: "trees",
    peer: "proofwright",
    unit: "ms",
    note: `${note}, each of ${String(NOTES)}`,
  } as const;
  report({ ...each, id, ...summarize(walls) });
  report({ ...each, id: `${id}, processor time`, ...summarize(costs) });
}

async function spend(appends: StoreAppends, tree: StoredTree, name: string): Promise<void> {
  const key = elementToHex(elementOf(name));
  await appends.append({
    spends: [{ store: tree.reference, proverId: tree.reference.id, key, value: key }],
    checks: () => [],
    records: () => ({}),
  });
}

/** A nullifier tree in a store, as the server keeps it. */
class StoredTree {
  readonly reference: StoreReference = { owner: { kind: "user", id: "bench" }, id: "nullifiers" };
  root = EMPTY_NODE;
  #size = 0;
  readonly #store: DurableStore;

  constructor(store: DurableStore) {
    this.#store = store;
  }

  nodes(): SparseNodes {
    return new SparseNodes(this.#store, this.reference);
  }

  /** Inserts entries in large batches, each on disk before the next. */
  async fill(entries: number): Promise<void> {
    for (let from = 0; from < entries; from += ENTRIES_AT_ONCE) {
      const part = Array.from({ length: Math.min(ENTRIES_AT_ONCE, entries - from) }, (_, i) => ({
        key: elementToHex(elementOf(`spent ${String(from + i)}`)),
        value: elementToHex(BigInt(from + i)),
      }));
      const nodes = this.nodes();
      const { root, added } = insertAll(nodes.read, { root: this.root, entries: part, curve: "BN254" });
      this.#size += part.length;
      this.root = root;
      const puts = [
        ...nodes.puts({ root, size: this.#size }, added),
        { key: keyIn("proof_store_size", this.reference, root), value: this.#size },
      ];
      for (let at = 0; at < puts.length; at += PUTS_PER_COMMIT * COMMITS_AT_ONCE)
        await Promise.all(
          Array.from({ length: COMMITS_AT_ONCE }, (_, i) => at + i * PUTS_PER_COMMIT)
            .filter((start) => start < puts.length)
            .map((start) => this.#store.commit({ puts: puts.slice(start, start + PUTS_PER_COMMIT) })),
        );
    }
  }

  /** What appends to it, with the hashing on this thread. */
  async appends(): Promise<StoreAppends> {
    const created_at = new Date(0).toISOString();
    const value = { id: this.reference.id, created_at, name: "bench", kind: "nullifiers", curve: "BN254" } as const;
    const spent = { size: this.#size, root: this.root };
    await this.#store.commit({ puts: [{ key: keyIn("proof_store", this.reference), value: { ...value, spent } }] });
    return storeAppends(this.#store);
  }
}

function storeAppends(store: DurableStore): StoreAppends {
  const removals = { prepare: () => ({}), wake: () => undefined };
  return new StoreAppends({
    ...{ store, clock: systemClock, stores: new ProofStores({ store, removals, clock: systemClock }) },
    appendNotes: async (message) => await Promise.resolve(appendNotes(message)),
    insertNullifiers: async (message) => await Promise.resolve(insertNullifiers(message)),
  });
}

/**
 * Proofs of one thread, each followed by its note and its nullifier in the trees, beside proofs alone, in turns: what
 * the trees take of the same thread is in the figure, though the server hashes on whichever thread is free.
 */
async function proofsBeside(report: Report, samples: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-trees-"));
  const store = await openStore(
    { path: join(folder, "store"), chainKey: randomBytes(32) },
    { log: createLog("error") },
  );
  try {
    const owner = { kind: "user", id: "bench" } as const;
    const removals = { prepare: () => ({}), wake: () => undefined };
    const stores = new ProofStores({ store, removals, clock: systemClock });
    const wanted = { proverId: "bench", curve: "BN254", notes: undefined, nullifiers: undefined } as const;
    const { commit, noteStoreId, nullifierStoreId } = stores.prepare(owner, wanted);
    await store.commit(commit);
    const appends = storeAppends(store);
    const circuit = await loadCircuit(PROVED);
    const resident = makeKeyResident(readProvingKey((await loadKey(circuit)).zkey), { workspaces: 1 });
    const prover = new ResidentProver(resident);
    const times: Record<"alone" | "beside", number[]> = { alone: [], beside: [] };
    const costs: typeof times = { alone: [], beside: [] };
    let waiting: Promise<unknown> = Promise.resolve();
    for (let i = 0; i < 2 * (samples + 1); i += 1) {
      const isBeside = i % 2 === 1;
      const before = process.cpuUsage();
      const begun = performance.now();
      proveResident(prover, circuit.witness, { r: randomNonZero(BN254.r), s: randomNonZero(BN254.r) });
      if (isBeside) {
        const key = elementToHex(elementOf(`proof ${String(i)}`));
        const record = { prover_id: "bench", vault_id: "bench", key_id: "bench", ciphertext: key };
        waiting = appends.append({
          note: { store: { owner, id: noteStoreId }, digest: key, statementHash: key, proofHash: key, record },
          spends: [{ store: { owner, id: nullifierStoreId }, proverId: "bench", key, value: key }],
          checks: () => [],
          records: () => ({}),
        });
      }
      await waiting;
      if (i < 2) continue;
      times[isBeside ? "beside" : "alone"].push(performance.now() - begun);
      const { user, system } = process.cpuUsage(before);
      costs[isBeside ? "beside" : "alone"].push((user + system) / 1000);
    }
    const id = "prove beside the trees";
    for (const [name, all] of [[id, times] as const, [`${id}, processor time`, costs] as const]) {
      const row = { subject: "trees", id: name, circuit: PROVED, unit: "ms" } as const;
      report({
        ...row,
        peer: "proofwright",
        ...summarize(all.beside),
        note: "note and nullifier on disk before the next",
      });
      report({ ...row, peer: "without trees", ...summarize(all.alone) });
    }
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A field element that looks random and is the same in every run. */
function elementOf(name: string): bigint {
  return BigInt(`0x${createHash("sha256").update(name).digest("hex")}`) % BN254.r;
}
