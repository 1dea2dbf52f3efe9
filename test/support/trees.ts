/** Trees in memory, with the nodes that a store would keep. */
import { poseidonPair, poseidonTriple } from "../../src/crypto/hashes/poseidon.js";
import type { CurveName } from "../../src/engine/curves/curve-parameters.js";
import type { DenseTree } from "../../src/engine/merkle/dense-proofs.js";
import { appendLeaves, emptyNoteTree } from "../../src/engine/merkle/note-tree.js";
import type { NoteTreeState } from "../../src/engine/merkle/note-tree.js";
import { insertAll, proveKey } from "../../src/engine/merkle/sparse-tree.js";
import type { SparseEntry, SparseNode, SparseProof } from "../../src/engine/merkle/sparse-tree.js";
import { EMPTY_NODE, elementToHex, hexToElement } from "../../src/engine/merkle/tree-hasher.js";
import type { TreeHasher } from "../../src/engine/merkle/tree-hasher.js";

/** A sparse tree that grows; nodes of its past stay. */
export class MemorySparseTree {
  readonly nodes = new Map<string, SparseNode>();
  readonly curve: CurveName;
  root = EMPTY_NODE;

  constructor(curve: CurveName = "BN254") {
    this.curve = curve;
  }

  insert(entries: readonly SparseEntry[]): void {
    const { root, added } = insertAll(this.read, { root: this.root, entries, curve: this.curve });
    for (const { hash, node } of added) this.nodes.set(hash, node);
    this.root = root;
  }

  prove(key: string, root = this.root): SparseProof {
    return proveKey(this.read, { root, key, curve: this.curve });
  }

  readonly read = (hash: string): SparseNode | undefined => this.nodes.get(hash);
}

/** A dense tree that grows, with the roots of all its sizes. */
export class MemoryDenseTree implements DenseTree {
  readonly nodes = new Map<string, string>();
  readonly depth: number;
  readonly curve: CurveName;
  readonly roots: string[];
  state: NoteTreeState;

  constructor(depth: number, curve: CurveName = "BN254") {
    this.depth = depth;
    this.curve = curve;
    this.state = emptyNoteTree(depth, curve);
    this.roots = [this.state.root];
  }

  append(leaves: readonly string[]): void {
    for (const leaf of leaves) {
      const { state, completed } = appendLeaves(this.state, [leaf], this.curve);
      for (const { level, index, hash } of completed) this.nodes.set(`${String(level)}/${String(index)}`, hash);
      this.state = state;
      this.roots.push(state.root);
    }
  }

  readonly read = (level: number, index: number): string | undefined =>
    this.nodes.get(`${String(level)}/${String(index)}`);
}

/** A number as the trees write it. */
export const hex = (value: bigint | number): string => elementToHex(BigInt(value));

/** Returns the hashes on bigints: 0.3 ms each, an oracle that shares nothing with the kernel. */
export function plainTreeHasher(curve: CurveName): TreeHasher {
  return {
    pairs: (lefts, rights) =>
      lefts.map((left, i) => elementToHex(poseidonPair(hexToElement(left), hexToElement(rights[i] ?? ""), curve))),
    leaves: (keys, values) =>
      keys.map((key, i) => elementToHex(poseidonTriple([hexToElement(key), hexToElement(values[i] ?? ""), 1n], curve))),
  };
}
