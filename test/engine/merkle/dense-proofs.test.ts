import { IMT } from "@zk-kit/imt";
import { describe, expect, it } from "vitest";
import { poseidonPair } from "../../../src/crypto/hashes/poseidon.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import {
  proveConsistency,
  proveInclusion,
  verifyConsistency,
  verifyInclusion,
} from "../../../src/engine/merkle/dense-proofs.js";
import type { ConsistencyProof, InclusionProof } from "../../../src/engine/merkle/dense-proofs.js";
import { appendLeaves, emptyNoteTree } from "../../../src/engine/merkle/note-tree.js";
import { EMPTY_NODE } from "../../../src/engine/merkle/tree-hasher.js";
import { bigBelow } from "../../support/kernels.js";
import { seededRandom } from "../../support/seeded.js";
import { hex, MemoryDenseTree, plainTreeHasher } from "../../support/trees.js";

const random = seededRandom();
const randomLeaves = (count: number): string[] => Array.from({ length: count }, () => hex(bigBelow(random, BN254.r)));

function treeOf(depth: number, leaves: readonly string[]): MemoryDenseTree {
  const tree = new MemoryDenseTree(depth);
  tree.append(leaves);
  return tree;
}

describe(`dense tree beside zk-kit's, seed ${String(random.seed)}`, () => {
  it("has its roots after each append, and its siblings", () => {
    const leaves = randomLeaves(11);
    const tree = new MemoryDenseTree(5);
    const theirs = new IMT((nodes) => poseidonPair(BigInt(nodes[0]!), BigInt(nodes[1]!)), 5, 0n);
    for (const leaf of leaves) {
      theirs.insert(BigInt(`0x${leaf}`));
      tree.append([leaf]);
      expect(tree.state.root).toBe(hex(theirs.root as bigint));
    }
    for (const index of leaves.keys()) {
      const proof = theirs.createProof(index);
      const { siblings, root } = proveInclusion(tree, { index, size: leaves.length });
      expect(siblings).toEqual(proof.siblings.map(([sibling]) => hex(sibling as bigint)));
      expect(root).toBe(hex(proof.root as bigint));
    }
  });

  it("is the same for appends of any lengths", () => {
    for (let round = 0; round < 8; round += 1) {
      const leaves = randomLeaves(32);
      const whole = appendLeaves(emptyNoteTree(5), leaves);
      let state = emptyNoteTree(5);
      const completed: unknown[] = [];
      for (let from = 0; from < leaves.length;) {
        const length = 1 + random.below(leaves.length - from);
        const part = appendLeaves(state, leaves.slice(from, from + length));
        completed.push(...part.completed);
        state = part.state;
        from += length;
      }
      expect(state).toEqual(whole.state);
      expect(new Set(completed.map((node) => JSON.stringify(node)))).toEqual(
        new Set(whole.completed.map((node) => JSON.stringify(node))),
      );
    }
  });
});

describe(`inclusion proofs, seed ${String(random.seed)}`, () => {
  const tree = treeOf(4, randomLeaves(16));

  it("lead every leaf to the root of every size that has it", () => {
    for (let size = 1; size <= 16; size += 1)
      for (let index = 0; index < size; index += 1) {
        const proof = proveInclusion(tree, { index, size });
        expect(proof.root, `${String(index)} of ${String(size)}`).toBe(tree.roots[size]);
        expect(verifyInclusion(proof), `${String(index)} of ${String(size)}`).toBe(true);
      }
  });

  it("exist for no leaf beyond the size and no size beyond the tree", () => {
    expect(() => proveInclusion(tree, { index: 3, size: 3 })).toThrow(RangeError);
    expect(() => proveInclusion(tree, { index: -1, size: 3 })).toThrow(RangeError);
    expect(() => proveInclusion(tree, { index: 0, size: 17 })).toThrow(RangeError);
    expect(() => proveInclusion(tree, { index: 0, size: 0 })).toThrow(RangeError);
    expect(() => proveInclusion(treeOf(4, randomLeaves(2)), { index: 0, size: 3 })).toThrow("missing");
  });

  it("hold for no other leaf, place, size, root or sibling", () => {
    const proof = proveInclusion(tree, { index: 5, size: 7 });
    const changes: readonly Partial<InclusionProof>[] = [
      { leaf: hex(1) },
      { index: 4 },
      { index: 5.5 },
      { index: 21 },
      // So small that the leaf, or a sibling, would be empty.
      { size: 5 },
      { size: 6 },
      { size: 17 },
      { root: tree.roots[8]! },
      { depth: 3 },
      { depth: 33 },
      { siblings: proof.siblings.slice(1) },
      { siblings: [...proof.siblings.slice(0, 3), hex(1)] },
      { siblings: ["x", ...proof.siblings.slice(1)] },
      { leaf: hex(BN254.r) },
      { curve: "BLS12_381" },
    ];
    for (const change of changes) expect(verifyInclusion({ ...proof, ...change }), JSON.stringify(change)).toBe(false);
  });

  it("hold at the depth of the stores, at every edge of the carries", () => {
    const large = treeOf(32, randomLeaves(9));
    for (const size of [1, 2, 7, 8, 9])
      expect(verifyInclusion(proveInclusion(large, { index: size - 1, size }))).toBe(true);
    const proof = proveInclusion(large, { index: 8, size: 9 });
    expect(verifyInclusion({ ...proof, size: 2 ** 32 + 1 })).toBe(false);
    expect(verifyInclusion(proof, plainTreeHasher("BN254"))).toBe(true);
  });

  it("hold over BLS12-381 as well", () => {
    const other = new MemoryDenseTree(3, "BLS12_381");
    other.append(randomLeaves(5));
    expect(verifyInclusion(proveInclusion(other, { index: 2, size: 4 }))).toBe(true);
  });
});

describe(`consistency proofs, seed ${String(random.seed)}`, () => {
  const tree = treeOf(3, randomLeaves(8));

  it("lead from every size to every later one", () => {
    for (let fromSize = 0; fromSize <= 8; fromSize += 1)
      for (let toSize = fromSize; toSize <= 8; toSize += 1) {
        const proof = proveConsistency(tree, { fromSize, toSize });
        const name = `${String(fromSize)} to ${String(toSize)}`;
        expect([proof.fromRoot, proof.toRoot], name).toEqual([tree.roots[fromSize], tree.roots[toSize]]);
        expect(verifyConsistency(proof), name).toBe(true);
      }
    expect(() => proveConsistency(tree, { fromSize: 2, toSize: 1 })).toThrow(RangeError);
    expect(() => proveConsistency(tree, { fromSize: 2, toSize: 9 })).toThrow(RangeError);
  });

  it("find a tree whose past was rewritten, at any leaf and any size", () => {
    for (let at = 0; at < 6; at += 1) {
      const leaves = randomLeaves(8);
      const rewritten = treeOf(3, [...leaves.slice(0, at), hex(1), ...leaves.slice(at + 1)]);
      const honest = treeOf(3, leaves);
      for (let fromSize = at + 1; fromSize <= 7; fromSize += 1) {
        const proof = proveConsistency(rewritten, { fromSize, toSize: 8 });
        expect(verifyConsistency({ ...proof, fromRoot: honest.roots[fromSize]! })).toBe(false);
        const other = proveConsistency(honest, { fromSize, toSize: 8 });
        expect(verifyConsistency({ ...other, toRoot: rewritten.roots[8]! })).toBe(false);
      }
    }
  });

  it("hold for no other size, leaf or sibling", () => {
    const proof = proveConsistency(tree, { fromSize: 5, toSize: 6 });
    const same = proveConsistency(tree, { fromSize: 5, toSize: 5 });
    const full = proveConsistency(tree, { fromSize: 8, toSize: 8 });
    const wrong: readonly ConsistencyProof[] = [
      { ...proof, fromSize: 4 },
      { ...proof, fromSize: 6 },
      { ...proof, fromSize: 7, toSize: 6 },
      { ...proof, toSize: 5 },
      { ...proof, toSize: 9 },
      { ...proof, leaf: EMPTY_NODE },
      { ...proof, siblings: [hex(1), ...proof.siblings.slice(1)] },
      { ...proof, siblings: proof.siblings.slice(1) },
      { ...proof, siblings: [] },
      { ...same, leaf: proof.leaf, toRoot: proof.toRoot },
      { ...full, toRoot: hex(1) },
      { ...full, siblings: proof.siblings },
      { ...proof, depth: 2.5 },
      { ...proof, toRoot: "" },
    ];
    for (const [i, claim] of wrong.entries()) expect(verifyConsistency(claim), String(i)).toBe(false);
  });
});
