import { describe, expect, it } from "vitest";
import { proveConsistency, proveInclusion } from "../../../src/engine/merkle/dense-proofs.js";
import {
  consistencyJson,
  inclusionJson,
  readTreeProof,
  sparseJson,
  verifyTreeProof,
} from "../../../src/engine/merkle/proof-json.js";
import { hex, MemoryDenseTree, MemorySparseTree } from "../../support/trees.js";

const dense = new MemoryDenseTree(4);
dense.append([1, 2, 3, 4, 5].map(hex));
const sparse = new MemorySparseTree();
sparse.insert([1, 2, 9].map((key) => ({ key: hex(key), value: hex(7 * key) })));

const inclusion = inclusionJson(proveInclusion(dense, { index: 2, size: 4 }));
const consistency = consistencyJson(proveConsistency(dense, { fromSize: 3, toSize: 5 }));
const membership = sparseJson(sparse.prove(hex(9)));
const byLeaf = sparseJson(sparse.prove(hex(17)));

describe("proofs as JSON", () => {
  it.each([
    ["inclusion", inclusion],
    ["consistency", consistency],
    ["sparse", membership],
    ["sparse", byLeaf],
    ["sparse", sparseJson(new MemorySparseTree().prove(hex(1)))],
  ])("hold when they are read back: %s", (kind, json) => {
    const text = JSON.stringify(json);
    const proof = readTreeProof(JSON.parse(text));
    expect(proof.kind).toBe(kind);
    expect(verifyTreeProof(proof)).toBe(true);
    // What an answer has around it or beside it does not matter.
    expect(readTreeProof({ proof: json, store_id: "x" })).toEqual(proof);
    expect(readTreeProof({ ...json, store_id: "x" })).toEqual(proof);
  });

  it("need no members of an absent key when the key was found", () => {
    const { old_key: _key, old_value: _value, is_old0: _empty, ...rest } = membership;
    expect(verifyTreeProof(readTreeProof(rest))).toBe(true);
  });

  it.each<[string, unknown]>([
    ["JSON object", []],
    ["JSON object", null],
    ["none of the members", {}],
    ["curve", { ...inclusion, curve: "secp256k1" }],
    ["index", { ...inclusion, index: "2" }],
    ["size", { ...inclusion, size: -1 }],
    ["leaf", { ...inclusion, leaf: "0x1" }],
    ["siblings", { ...inclusion, siblings: "none" }],
    ["siblings", { ...inclusion, siblings: Array.from({ length: 256 }, () => hex(1)) }],
    ["siblings\\[1\\]", { ...inclusion, siblings: [hex(1), 2] }],
    ["to_root", { ...consistency, to_root: undefined }],
    ["found", { ...membership, found: 1 }],
    ["is_old0", { ...byLeaf, is_old0: undefined }],
    ["old_key", { ...byLeaf, old_key: undefined }],
  ])("are refused with the name of what is wrong: %s", (name, json) => {
    expect(() => readTreeProof(json)).toThrow(new RegExp(name));
  });
});
