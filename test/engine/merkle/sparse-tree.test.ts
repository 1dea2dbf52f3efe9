import { SparseMerkleTree } from "@zk-kit/sparse-merkle-tree";
import { newMemEmptyTrie } from "circomlibjs";
import { describe, expect, it } from "vitest";
import { poseidonPair, poseidonTriple } from "../../../src/crypto/hashes/poseidon.js";
import { BLS12_381 } from "../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import {
  insertAll,
  pathNodes,
  SparseKeyTakenError,
  verifySparseProof,
} from "../../../src/engine/merkle/sparse-tree.js";
import type { SparseEntry, SparseProof } from "../../../src/engine/merkle/sparse-tree.js";
import { EMPTY_NODE } from "../../../src/engine/merkle/tree-hasher.js";
import { bigBelow } from "../../support/kernels.js";
import { seededRandom } from "../../support/seeded.js";
import { hex, MemorySparseTree, plainTreeHasher } from "../../support/trees.js";

const random = seededRandom();
const number = (text: string): bigint => BigInt(`0x${text}`);

/** Entries whose keys often share the beginning of their path. */
function randomEntries(count: number, order = BN254.r): SparseEntry[] {
  const keys = new Set<bigint>();
  while (keys.size < count) {
    const known = [...keys];
    const fresh = bigBelow(random, order);
    const shared = BigInt(random.below(16));
    const twin = known.length > 0 && random.chance(0.4) ? random.pick(known) % (1n << shared) : undefined;
    keys.add(twin === undefined ? fresh : ((fresh >> shared) << shared) | twin);
  }
  return [...keys].map((key) => ({ key: hex(key), value: hex(bigBelow(random, order)) }));
}

function treeOf(entries: readonly SparseEntry[]): MemorySparseTree {
  const tree = new MemorySparseTree();
  tree.insert(entries);
  return tree;
}

describe(`sparse tree beside other implementations, seed ${String(random.seed)}`, () => {
  const entries = randomEntries(40);
  const absent = [hex(bigBelow(random, BN254.r)), hex(number(entries[0]!.key) ^ 1n), hex(0n)].filter(
    (key) => entries.every((entry) => entry.key !== key) && number(key) < BN254.r,
  );

  it("has the root and the proofs of circomlib's own tree", async () => {
    const tree = treeOf(entries);
    const theirs = await newMemEmptyTrie();
    for (const { key, value } of entries) await theirs.insert(number(key), number(value));
    const text = (element: unknown): string => hex(theirs.F.toObject(element));
    expect(tree.root).toBe(text(theirs.root));
    for (const key of [...entries.slice(0, 10).map((entry) => entry.key), ...absent]) {
      const found = await theirs.find(number(key));
      const proof = tree.prove(key);
      expect(proof).toMatchObject({ found: found.found, siblings: found.siblings.map(text) });
      if (found.found) expect(proof.value).toBe(text(found.foundValue));
      else expect(proof.isOld0).toBe(found.isOld0);
      if (!found.found && !found.isOld0)
        expect([proof.oldKey, proof.oldValue]).toEqual([text(found.notFoundKey), text(found.notFoundValue)]);
    }
  });

  it("has the root and the proofs of zk-kit's tree", () => {
    const tree = treeOf(entries);
    const theirs = new SparseMerkleTree(
      (nodes) =>
        nodes.length === 2 ? poseidonPair(nodes[0]!, nodes[1]!) : poseidonTriple([nodes[0]!, nodes[1]!, nodes[2]!]),
      true,
    );
    for (const { key, value } of entries) theirs.add(number(key), number(value));
    expect(number(tree.root)).toBe(theirs.root);
    for (const key of [...entries.slice(0, 10).map((entry) => entry.key), ...absent]) {
      const found = theirs.createProof(number(key));
      const proof = tree.prove(key);
      expect(proof.found).toBe(found.membership);
      expect(proof.siblings.map(number)).toEqual(found.siblings);
      expect(proof.isOld0).toBe(!found.membership && found.matchingEntry === undefined);
    }
  });
});

describe(`sparse tree, seed ${String(random.seed)}`, () => {
  it("depends on its entries alone, not on their order or on the number of commits", () => {
    const entries = randomEntries(24);
    const whole = treeOf(entries);
    const parts = new MemorySparseTree();
    for (const entry of [...entries].reverse()) parts.insert([entry]);
    expect(parts.root).toBe(whole.root);
    const halves = treeOf(entries.slice(7));
    halves.insert(entries.slice(0, 7));
    expect(halves.root).toBe(whole.root);
  });

  it("adds each node once, and all that the new tree needs beside the old one's", () => {
    const entries = randomEntries(30);
    const { added } = insertAll(() => undefined, { root: EMPTY_NODE, entries, curve: "BN254" });
    expect(new Set(added.map(({ hash }) => hash)).size).toBe(added.length);
    const tree = treeOf(entries);
    for (const { key } of entries) expect(tree.prove(key).found).toBe(true);
    expect(tree.nodes.size).toBe(added.length);
  });

  it("keeps the trees of all its roots", () => {
    const tree = new MemorySparseTree();
    const entries = randomEntries(12);
    const roots = entries.map((entry) => {
      tree.insert([entry]);
      return tree.root;
    });
    for (const [at, root] of roots.entries())
      for (const [i, { key }] of entries.entries()) {
        const proof = tree.prove(key, root);
        expect(proof.found).toBe(i <= at);
        expect(verifySparseProof(proof)).toBe(true);
      }
  });

  it("inserts nothing without changing its root", () => {
    const tree = treeOf(randomEntries(3));
    const { root } = tree;
    expect(insertAll(tree.read, { root, entries: [], curve: "BN254" })).toEqual({ root, added: [] });
    expect(insertAll(tree.read, { root: EMPTY_NODE, entries: [], curve: "BN254" }).root).toBe(EMPTY_NODE);
  });

  it("refuses a key that it has, and one that is given twice, and names it", () => {
    const entries = randomEntries(9);
    const tree = treeOf(entries);
    const before = tree.root;
    for (const { key } of entries) {
      const taken = {
        root: tree.root,
        entries: [...randomEntries(2), { key, value: hex(1) }],
        curve: "BN254",
      } as const;
      expect(() => insertAll(tree.read, taken)).toThrow(new SparseKeyTakenError(key));
    }
    const twice = [
      { key: hex(7), value: hex(1) },
      { key: hex(7), value: hex(2) },
    ];
    expect(() => insertAll(() => undefined, { root: EMPTY_NODE, entries: twice, curve: "BN254" })).toThrow(hex(7));
    expect(tree.root).toBe(before);
  });

  it("tells two keys apart that differ in their highest bit alone", () => {
    const [low, high] = [hex(5n), hex(5n + (1n << 253n))];
    const tree = treeOf([
      { key: low, value: hex(1) },
      { key: high, value: hex(2) },
    ]);
    for (const key of [low, high]) {
      const proof = tree.prove(key);
      expect(proof.siblings).toHaveLength(254);
      expect(verifySparseProof(proof)).toBe(true);
    }
    expect(verifySparseProof(tree.prove(hex(5n + (1n << 252n))))).toBe(true);
  });

  it("takes keys of the whole field and none beyond it", () => {
    for (const { name, r } of [BN254, BLS12_381]) {
      const tree = new MemorySparseTree(name);
      tree.insert([0n, 1n, r - 1n].map((key) => ({ key: hex(key), value: hex(r - 1n) })));
      expect(verifySparseProof(tree.prove(hex(r - 1n)))).toBe(true);
      expect(verifySparseProof(tree.prove(hex(r - 2n)))).toBe(true);
      const insert = (entry: SparseEntry) => () =>
        insertAll(tree.read, { root: tree.root, entries: [entry], curve: name });
      expect(insert({ key: hex(r), value: hex(1) })).toThrow(RangeError);
      expect(insert({ key: hex(2), value: hex(r) })).toThrow(RangeError);
      expect(insert({ key: "2", value: hex(1) })).toThrow(RangeError);
      expect(() => tree.prove(hex(r))).toThrow(RangeError);
    }
    const tree = new MemorySparseTree("BLS12_381");
    const deep = [0n, 1n << 254n].map((key) => ({ key: hex(key), value: hex(1) }));
    tree.insert(deep);
    expect(tree.prove(hex(0n)).siblings).toHaveLength(255);
    expect(verifySparseProof(tree.prove(hex(1n << 254n)))).toBe(true);
  });

  it("inserts in a place that sees the nodes of the paths alone", () => {
    const tree = treeOf(randomEntries(50));
    const entries = randomEntries(5);
    const keys = entries.map(({ key }) => key);
    const sent = pathNodes(tree.read, { root: tree.root, keys, curve: "BN254" });
    expect(new Set(sent.map(({ hash }) => hash)).size).toBe(sent.length);
    const known = new Map(sent.map(({ hash, node }) => [hash, node]));
    const insertion = { root: tree.root, entries, curve: "BN254" } as const;
    expect(insertAll((hash) => known.get(hash), insertion)).toEqual(insertAll(tree.read, insertion));
  });

  it("names a node that is missing, and writes nothing over it", () => {
    const tree = treeOf(randomEntries(8));
    tree.nodes.delete(tree.root);
    expect(() => tree.prove(hex(1))).toThrow(tree.root);
    expect(() => tree.insert([{ key: hex(1), value: hex(1) }])).toThrow("missing");
  });
});

describe(`proofs of the sparse tree, seed ${String(random.seed)}`, () => {
  const entries = randomEntries(20);
  const tree = treeOf(entries);
  const present = tree.prove(entries[3]!.key);
  const absentKeys = Array.from({ length: 40 }, () => hex(bigBelow(random, BN254.r)));
  const absences = absentKeys.map((key) => tree.prove(key));
  const empty = absences.find(({ isOld0 }) => isOld0);
  const other = absences.find(({ isOld0 }) => !isOld0)!;

  it("check on the hash as it is defined", () => {
    const hasher = plainTreeHasher("BN254");
    for (const proof of [present, other]) expect(verifySparseProof(proof, hasher)).toBe(true);
  });

  it("hold in the empty tree and in the tree of one leaf", () => {
    const none = new MemorySparseTree();
    expect(none.prove(hex(1))).toMatchObject({ found: false, isOld0: true, siblings: [] });
    expect(verifySparseProof(none.prove(hex(1)))).toBe(true);
    none.insert([{ key: hex(1), value: hex(0) }]);
    expect(none.prove(hex(1))).toMatchObject({ found: true, siblings: [] });
    expect(none.prove(hex(2))).toMatchObject({ found: false, isOld0: false, oldKey: hex(1) });
    for (const key of [1, 2]) expect(verifySparseProof(none.prove(hex(key)))).toBe(true);
  });

  it("hold for no other value, key, root or sibling", () => {
    const changes: readonly Partial<SparseProof>[] = [
      { value: hex(1) },
      { key: hex(1) },
      { root: hex(1) },
      { siblings: present.siblings.slice(1) },
      { siblings: [...present.siblings.slice(0, -1), hex(1)] },
      { siblings: [...present.siblings, EMPTY_NODE] },
      { curve: "BLS12_381" },
      { isOld0: true },
    ];
    for (const change of changes)
      expect(verifySparseProof({ ...present, ...change }), JSON.stringify(change)).toBe(false);
  });

  it("show no key absent that is there", () => {
    const { key, siblings, root, curve } = present;
    const absent = { curve, root, key, siblings, found: false, value: EMPTY_NODE } as const;
    // As an empty place, as its own leaf, and as the leaf of another path.
    const forged: readonly SparseProof[] = [
      { ...absent, oldKey: EMPTY_NODE, oldValue: EMPTY_NODE, isOld0: true },
      { ...absent, oldKey: key, oldValue: present.value, isOld0: false },
      { ...other, key },
      ...(empty === undefined ? [] : [{ ...empty, key }]),
    ];
    for (const proof of forged) expect(verifySparseProof(proof)).toBe(false);
  });

  it("show no key absent by a leaf that is not on its path", () => {
    const stranger = entries.find(({ key }) => (number(key) & 1n) !== (number(other.key) & 1n))!;
    const elsewhere = tree.prove(stranger.key);
    const { siblings } = elsewhere;
    const claim = { ...other, siblings, oldKey: stranger.key, oldValue: stranger.value };
    expect(verifySparseProof(claim)).toBe(false);
  });

  it("are refused when they are malformed, without throwing", () => {
    const malformed: readonly Partial<SparseProof>[] = [
      { key: "zz" },
      { siblings: Array.from({ length: 300 }, () => hex(1)) },
      { siblings: [hex(BN254.r)] },
      { value: hex(BN254.r) },
    ];
    for (const change of malformed) expect(verifySparseProof({ ...present, ...change })).toBe(false);
  });
});
