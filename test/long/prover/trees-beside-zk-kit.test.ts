/**
 * Ten thousand notes and nullifiers in batches of any length, beside zk-kit's trees on circomlibjs' hash: other
 * people's code from the field up.
 */
import { IMT } from "@zk-kit/imt";
import { SparseMerkleTree } from "@zk-kit/sparse-merkle-tree";
import { buildPoseidon } from "circomlibjs";
import { beforeAll, describe, expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import {
  proveConsistency,
  proveInclusion,
  verifyConsistency,
  verifyInclusion,
} from "../../../src/engine/merkle/dense-proofs.js";
import { appendLeaves } from "../../../src/engine/merkle/note-tree.js";
import { verifySparseProof } from "../../../src/engine/merkle/sparse-tree.js";
import { bigBelow } from "../../support/kernels.js";
import { seededRandom } from "../../support/seeded.js";
import { hex, MemoryDenseTree, MemorySparseTree } from "../../support/trees.js";

const COUNT = 10_000;
const BATCH_MAX = 64;
/** Places at which both are compared in full. */
const COMPARED = 100;
const random = seededRandom();
const number = (text: string): bigint => BigInt(`0x${text}`);
let hash: (nodes: readonly unknown[]) => bigint;

beforeAll(async () => {
  const poseidon = await buildPoseidon();
  hash = (nodes) => poseidon.F.toObject(poseidon(nodes as bigint[]));
});

/** Cuts a list into batches of random lengths. */
function batches<T>(items: readonly T[]): T[][] {
  const cut: T[][] = [];
  for (let from = 0; from < items.length;) {
    const length = 1 + random.below(BATCH_MAX);
    cut.push(items.slice(from, from + length));
    from += length;
  }
  return cut;
}

describe(`trees of ${String(COUNT)} entries, seed ${String(random.seed)}`, () => {
  it("have zk-kit's root of the notes, and proofs of every size", () => {
    const leaves = Array.from({ length: COUNT }, () => bigBelow(random, BN254.r));
    const tree = new MemoryDenseTree(32);
    const sizes = [0];
    const roots = [tree.state.root];
    for (const batch of batches(leaves.map(hex))) {
      const { state, completed } = appendLeaves(tree.state, batch);
      for (const { level, index, hash: node } of completed) tree.nodes.set(`${String(level)}/${String(index)}`, node);
      tree.state = state;
      sizes.push(state.size);
      roots.push(state.root);
    }
    const theirs = new IMT(hash, 32, 0n, 2, leaves);
    expect(tree.state.root).toBe(hex(theirs.root as bigint));
    for (let i = 0; i < COMPARED; i += 1) {
      const index = random.below(COUNT);
      const proof = proveInclusion(tree, { index, size: COUNT });
      expect(proof.siblings).toEqual(theirs.createProof(index).siblings.map(([sibling]) => hex(sibling as bigint)));
      const [from, to] = [random.below(sizes.length), random.below(sizes.length)].sort((a, b) => a - b) as [
        number,
        number,
      ];
      const grown = proveConsistency(tree, { fromSize: sizes[from]!, toSize: sizes[to]! });
      expect([grown.fromRoot, grown.toRoot]).toEqual([roots[from], roots[to]]);
      expect(verifyConsistency(grown) && verifyInclusion(proof)).toBe(true);
      if (sizes[to]! > 0) {
        const past = proveInclusion(tree, { index: random.below(sizes[to]!), size: sizes[to]! });
        expect([past.root, verifyInclusion(past)]).toEqual([roots[to], true]);
      }
    }
  });

  it("have zk-kit's root of the nullifiers, and its proofs of what is there and what is not", () => {
    const keys = [...new Set(Array.from({ length: COUNT }, () => bigBelow(random, BN254.r)))];
    const tree = new MemorySparseTree();
    const theirs = new SparseMerkleTree(hash, true);
    for (const batch of batches(keys)) tree.insert(batch.map((key) => ({ key: hex(key), value: hex(key >> 1n) })));
    for (const key of keys) theirs.add(key, key >> 1n);
    expect(number(tree.root)).toBe(theirs.root);
    for (let i = 0; i < COMPARED; i += 1) {
      for (const key of [random.pick(keys), bigBelow(random, BN254.r)]) {
        const [proof, their] = [tree.prove(hex(key)), theirs.createProof(key)];
        expect([proof.found, proof.siblings.map(number)]).toEqual([their.membership, their.siblings]);
        expect(verifySparseProof(proof)).toBe(true);
      }
    }
  });
});
