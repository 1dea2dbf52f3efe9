/** Proofs about stores, checked without a server against what their reader knows. */
import { describe, expect, it } from "vitest";
import { proveConsistency, proveInclusion } from "../../src/engine/merkle/dense-proofs.js";
import { noteLeaf } from "../../src/engine/merkle/note-tree.js";
import { consistencyJson, inclusionJson, sparseJson } from "../../src/engine/merkle/proof-json.js";
import { verifyStoreProof } from "../../src/verify-store-proof.js";
import { hex, MemoryDenseTree, MemorySparseTree } from "../support/trees.js";

const digests = ["0f", "f0", "aa"].map((byte) => byte.repeat(32));
const dense = new MemoryDenseTree(32);
dense.append(digests.map((digest) => noteLeaf(digest)));
const sparse = new MemorySparseTree();
sparse.insert([{ key: hex(5), value: hex(6) }]);
const root = dense.state.root;
const inclusion = inclusionJson(proveInclusion(dense, { index: 1, size: 3 }));
const consistency = consistencyJson(proveConsistency(dense, { fromSize: 1, toSize: 3 }));
const [spent, unspent] = [5, 4].map((key) => sparseJson(sparse.prove(hex(key))));

describe("proofs about stores", () => {
  it.each([
    [inclusion, { root, noteDigest: digests[1]! }],
    [consistency, { root, fromRoot: dense.roots[1]! }],
    [spent, { root: sparse.root, key: hex(5), found: true }],
    [unspent, { root: sparse.root, key: hex(4), found: false }],
    [unspent, {}],
  ])("hold for what they are of", (json, expected) => {
    expect(verifyStoreProof(json, expected)).toMatchObject({ holds: true });
  });

  it.each([
    [inclusion, { noteDigest: digests[0]! }, "leaf"],
    [inclusion, { root: dense.roots[2]! }, "root"],
    [inclusion, { key: hex(1) }, "another kind"],
    [consistency, { fromRoot: root }, "earlier root"],
    [consistency, { noteDigest: digests[0]! }, "another kind"],
    [spent, { found: false }, "found"],
    [unspent, { key: hex(5) }, "key"],
    [{ ...spent, value: hex(7) }, {}, "hashes"],
  ])("do not hold for anything else, and say why", (json, expected, reason) => {
    const check = verifyStoreProof(json, expected);
    expect(check.holds).toBe(false);
    expect(check.holds ? "" : check.reason).toContain(reason);
  });

  it("are refused when they are none", () => {
    expect(() => verifyStoreProof("proof")).toThrow(TypeError);
    expect(() => verifyStoreProof({ ...inclusion, size: 1.5 })).toThrow("size");
  });
});
