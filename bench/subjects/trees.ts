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
import { writeBigIntLE } from "../../src/engine/field/bytes.js";
import { poseidonKernel } from "../../src/engine/kernels/poseidon/poseidon-kernel.js";
import { appendNotes, emptyNoteTree } from "../../src/engine/merkle/note-tree.js";
import { insertAll, proveKey, verifySparseProof } from "../../src/engine/merkle/sparse-tree.js";
import type { ReadSparseNode } from "../../src/engine/merkle/sparse-tree.js";
import { EMPTY_NODE, elementToHex } from "../../src/engine/merkle/tree-hasher.js";
import { createLog } from "../../src/platform/log.js";
import { openStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import type { Store } from "../../src/platform/store/store.js";
import { sampleMs, summarize } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";

/** Entries of the nullifier tree; the quick run says its number in the note. */
const ENTRIES = { quick: 20_000, full: 1_000_000 } as const;
/** Entries inserted at once: their new nodes take some 250 MB. */
const ENTRIES_AT_ONCE = 100_000;
const PUTS_PER_COMMIT = 2_000;
const COMMITS_AT_ONCE = 8;
/** Notes of one append, as many as the server takes together, and hashes of one call. */
const NOTES = 32;
const HASHES = 256;

export const subject: BenchSubject = {
  name: "trees",
  title: "Trees of notes and nullifiers, one thread",
  run: async (report, { quick }) => {
    const peer = await buildPoseidon();
    const samples = quick ? 20 : 200;
    await hashes(report, peer, samples);
    await appends(report, peer, samples);
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
    const read = nodeReader(store);
    const note = `${entries.toLocaleString("en")} entries in the store`;
    const started = performance.now();
    const root = await fill(store, read, entries);
    const perEntry = (performance.now() - started) / entries;
    const filled = { unit: "ms", median: perEntry, samples: entries, note: `${note}, on disk` } as const;
    report({ subject: "trees", id: "insert into the nullifier tree", peer: "proofwright", ...filled });
    const times: number[] = [];
    for (let i = 0; i < 2_000; i += 1) {
      const key = elementToHex(elementOf(`absent ${String(i)}`));
      const begun = performance.now();
      const proof = proveKey(read, { root, key, curve: "BN254" });
      times.push(performance.now() - begun);
      if (proof.found || (i % 100 === 0 && !verifySparseProof(proof))) throw new Error("a proof of absence is wrong");
    }
    const taken = { unit: "ms", ...summarize(times), note } as const;
    report({ subject: "trees", id: "proof of absence", peer: "proofwright", ...taken });
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Inserts entries as the server does, and gives the root of them all. */
async function fill(store: Store, read: ReadSparseNode, entries: number): Promise<string> {
  let root = EMPTY_NODE;
  for (let from = 0; from < entries; from += ENTRIES_AT_ONCE) {
    const part = Array.from({ length: Math.min(ENTRIES_AT_ONCE, entries - from) }, (_, i) => ({
      key: elementToHex(elementOf(`spent ${String(from + i)}`)),
      value: elementToHex(BigInt(from + i)),
    }));
    const inserted = insertAll(read, { root, entries: part, curve: "BN254" });
    root = inserted.root;
    const puts = inserted.added.map(({ hash, node }) => ({
      key: ["node", hash],
      value: node.kind === "leaf" ? `L${node.key}${node.value}` : `B${node.left}${node.right}`,
    }));
    for (let at = 0; at < puts.length; at += PUTS_PER_COMMIT * COMMITS_AT_ONCE)
      await Promise.all(
        Array.from({ length: COMMITS_AT_ONCE }, (_, i) => at + i * PUTS_PER_COMMIT)
          .filter((start) => start < puts.length)
          .map((start) => store.commit({ puts: puts.slice(start, start + PUTS_PER_COMMIT) })),
      );
  }
  return root;
}

function nodeReader(store: Store): ReadSparseNode {
  return (hash) => {
    const text = store.get<string>(["node", hash])?.value;
    if (text === undefined) return undefined;
    const [first, second] = [text.slice(1, 65), text.slice(65)];
    return text.startsWith("L")
      ? { kind: "leaf", key: first, value: second }
      : { kind: "branch", left: first, right: second };
  };
}

/** A field element that looks random and is the same in every run. */
function elementOf(name: string): bigint {
  return BigInt(`0x${createHash("sha256").update(name).digest("hex")}`) % BN254.r;
}
