/**
 * The sparse Merkle tree of circomlib (`smt/`, Poseidon): a map from field elements to field elements. A leaf is
 * Poseidon(key, value, 1), a branch Poseidon(left, right), an empty subtree 0. The path goes by the bits of the key
 * from the lowest, 0 to the left, and a leaf stands as high as no other leaf shares its path: the root depends on the
 * entries alone, not on their order. Nodes are found by their hash and never change, so that every root of the past
 * still has its tree. Pure; stores nothing. Formats and checks: README.md beside this file.
 */
import type { CurveName } from "../curves/curve-parameters.js";
import { EMPTY_NODE, isElement, requireElements, treeHasher } from "./tree-hasher.js";
import type { TreeHasher } from "./tree-hasher.js";

/** A node without its hash. All members are 64 lower-case hex digits. */
export type SparseNode =
  | { readonly kind: "leaf"; readonly key: string; readonly value: string }
  | { readonly kind: "branch"; readonly left: string; readonly right: string };

/** Gives the node of a hash, or undefined where there is none. It is never asked for the empty node. */
export type ReadSparseNode = (hash: string) => SparseNode | undefined;

/** What is kept under a key. */
export interface SparseEntry {
  readonly key: string;
  readonly value: string;
}

/** A node with its hash. */
export interface HashedSparseNode {
  readonly hash: string;
  readonly node: SparseNode;
}

/** What is inserted, and where. */
export interface SparseInsertion {
  /** 64 zeros for the empty tree. */
  readonly root: string;
  readonly entries: readonly SparseEntry[];
  readonly curve: CurveName;
}

/** A proof that a key has a value, or that it has none, with the members of circomlib's SMTVerifier. */
export interface SparseProof {
  readonly curve: CurveName;
  readonly root: string;
  readonly key: string;
  /** True: the key has the value (fnc 0). False: the key is absent (fnc 1). */
  readonly found: boolean;
  /** Value of the key; zeros when it is absent. */
  readonly value: string;
  /** From the root down, as far as the path goes; the last one is never empty. */
  readonly siblings: readonly string[];
  /** For an absent key whose path ends at another leaf: that leaf. Zeros otherwise. */
  readonly oldKey: string;
  readonly oldValue: string;
  /** For an absent key: whether its path ends at an empty place. False when the key was found. */
  readonly isOld0: boolean;
}

/** A key that is to be inserted is there already. */
export class SparseKeyTakenError extends RangeError {
  override readonly name = "SparseKeyTakenError";
  readonly key: string;

  constructor(key: string) {
    super(`the sparse tree has the key ${key} already`);
    this.key = key;
  }
}

/** Bits of a key, which is as deep as two keys can share a path. */
const KEY_BITS: Readonly<Record<CurveName, number>> = { BN254: 254, BLS12_381: 255 };

interface PendingLeaf extends SparseEntry {
  readonly kind: "leaf";
  hash: string;
}
interface PendingBranch {
  readonly kind: "branch";
  readonly left: Child;
  readonly right: Child;
  hash: string;
}
/** The hash of a node that is there, or a node whose hash is still to be computed. */
type Child = string | PendingLeaf | PendingBranch;
interface PlacedLeaf {
  readonly key: string;
  readonly child: Child;
}

/**
 * Inserts entries at once: nodes that several of them share are hashed once. Cost: a leaf's hash and about log2(size)
 * others for each entry, less when there are many.
 * @param read must know every node on the paths of the keys (`pathNodes`)
 * @returns the new root, and the new nodes of the new tree
 * @throws SparseKeyTakenError for a key that is in the tree or twice among the entries
 * @throws RangeError for a key or value that is no canonical element
 */
export function insertAll(
  read: ReadSparseNode,
  { root, entries, curve }: SparseInsertion,
  hasher: TreeHasher = treeHasher(curve),
): { readonly root: string; readonly added: readonly HashedSparseNode[] } {
  requireElements([root, ...entries.flatMap(({ key, value }) => [key, value])], curve, "an element of the sparse tree");
  const keys = new Set<string>();
  for (const { key } of entries) {
    if (keys.has(key)) throw new SparseKeyTakenError(key);
    keys.add(key);
  }
  const branches: PendingBranch[][] = [];
  const leaves = entries.map(({ key, value }): PendingLeaf => ({ kind: "leaf", key, value, hash: "" }));
  const top = grow(
    { read, branches },
    { hash: root, level: 0, leaves: leaves.map((leaf) => ({ key: leaf.key, child: leaf })) },
  );
  const added = [...hashLeaves(leaves, hasher), ...hashBranches(branches, hasher)];
  return { root: hashOf(top), added };
}

/**
 * Returns the nodes that `insertAll` reads for these keys, each once: what a thread needs that cannot read the store.
 * @throws RangeError for a key that is no canonical element
 */
export function pathNodes(
  read: ReadSparseNode,
  { root, keys, curve }: { readonly root: string; readonly keys: readonly string[]; readonly curve: CurveName },
): HashedSparseNode[] {
  requireElements([root, ...keys], curve, "a key of the sparse tree");
  const nodes = new Map<string, SparseNode>();
  for (const key of keys) {
    let hash = root;
    for (let level = 0; hash !== EMPTY_NODE; level += 1) {
      const node = nodes.get(hash) ?? nodeOf(read, hash);
      nodes.set(hash, node);
      if (node.kind === "leaf") break;
      hash = bitOf(key, level) === 0 ? node.left : node.right;
    }
  }
  return [...nodes].map(([hash, node]) => ({ hash, node }));
}

/**
 * Proves what the tree of a root has under a key: its value, or that the key is absent. Reads about log2(size) nodes
 * and hashes nothing.
 * @throws RangeError for a key that is no canonical element
 */
export function proveKey(
  read: ReadSparseNode,
  { root, key, curve }: { readonly root: string; readonly key: string; readonly curve: CurveName },
): SparseProof {
  requireElements([root, key], curve, "a key of the sparse tree");
  const siblings: string[] = [];
  const base = { curve, root, key, siblings };
  let hash = root;
  for (let level = 0; hash !== EMPTY_NODE; level += 1) {
    const node = nodeOf(read, hash);
    if (node.kind === "leaf") {
      return node.key === key
        ? { ...base, found: true, value: node.value, oldKey: EMPTY_NODE, oldValue: EMPTY_NODE, isOld0: false }
        : { ...base, found: false, value: EMPTY_NODE, oldKey: node.key, oldValue: node.value, isOld0: false };
    }
    const isLeft = bitOf(key, level) === 0;
    siblings.push(isLeft ? node.right : node.left);
    hash = isLeft ? node.left : node.right;
  }
  return { ...base, found: false, value: EMPTY_NODE, oldKey: EMPTY_NODE, oldValue: EMPTY_NODE, isOld0: true };
}

/**
 * Checks a proof against the root that it names; whether that is the root of a tree that one trusts is the caller's to
 * know. Never throws: whatever is malformed proves nothing.
 */
export function verifySparseProof(proof: SparseProof, hasher?: TreeHasher): boolean {
  const { curve, root, key, found, value, siblings, oldKey, oldValue, isOld0 } = proof;
  if (![root, key, value, oldKey, oldValue, ...siblings].every((text) => isElement(text, curve))) return false;
  if (siblings.length > KEY_BITS[curve]) return false;
  // A tree has no branch with two empty children, and none with one leaf alone below it.
  if (siblings.length > 0 && siblings[siblings.length - 1] === EMPTY_NODE) return false;
  const hashes = hasher ?? treeHasher(curve);
  const end = found
    ? foundEnd({ key, value, isOld0 }, hashes)
    : isOld0
      ? EMPTY_NODE
      : otherEnd({ key, oldKey, oldValue, depth: siblings.length }, hashes);
  if (end === undefined) return false;
  let node = end;
  for (let level = siblings.length - 1; level >= 0; level -= 1) {
    const sibling = siblings[level] ?? EMPTY_NODE;
    const [left, right] = bitOf(key, level) === 0 ? [node, sibling] : [sibling, node];
    node = hashes.pairs([left], [right])[0] ?? "";
  }
  return node === root;
}

/** Where the path of a key ends that is there. */
function foundEnd(
  { key, value, isOld0 }: Pick<SparseProof, "key" | "value" | "isOld0">,
  hashes: TreeHasher,
): string | undefined {
  return isOld0 ? undefined : hashes.leaves([key], [value])[0];
}

/** Where the path of an absent key ends at another leaf, which must be on its own path too. */
function otherEnd(
  { key, oldKey, oldValue, depth }: { key: string; oldKey: string; oldValue: string; depth: number },
  hashes: TreeHasher,
): string | undefined {
  if (oldKey === key) return undefined;
  for (let level = 0; level < depth; level += 1) if (bitOf(key, level) !== bitOf(oldKey, level)) return undefined;
  return hashes.leaves([oldKey], [oldValue])[0];
}

interface Growth {
  readonly read: ReadSparseNode;
  /** New branches by their level. */
  readonly branches: PendingBranch[][];
}

/** Puts leaves into the subtree of a hash. */
function grow(
  growth: Growth,
  { hash, level, leaves }: { readonly hash: string; readonly level: number; readonly leaves: readonly PlacedLeaf[] },
): Child {
  if (leaves.length === 0) return hash;
  if (hash === EMPTY_NODE) return build(growth, level, leaves);
  const node = nodeOf(growth.read, hash);
  if (node.kind === "leaf") {
    if (leaves.some(({ key }) => key === node.key)) throw new SparseKeyTakenError(node.key);
    return build(growth, level, [{ key: node.key, child: hash }, ...leaves]);
  }
  const [lefts, rights] = split(leaves, level);
  return branchOf(growth, level, [
    grow(growth, { hash: node.left, level: level + 1, leaves: lefts }),
    grow(growth, { hash: node.right, level: level + 1, leaves: rights }),
  ]);
}

/** Makes a subtree of leaves with different keys. */
function build(growth: Growth, level: number, leaves: readonly PlacedLeaf[]): Child {
  const [first] = leaves;
  if (first === undefined) return EMPTY_NODE;
  if (leaves.length === 1) return first.child;
  const [lefts, rights] = split(leaves, level);
  return branchOf(growth, level, [build(growth, level + 1, lefts), build(growth, level + 1, rights)]);
}

function branchOf({ branches }: Growth, level: number, [left, right]: readonly [Child, Child]): PendingBranch {
  const branch: PendingBranch = { kind: "branch", left, right, hash: "" };
  (branches[level] ??= []).push(branch);
  return branch;
}

function split(leaves: readonly PlacedLeaf[], level: number): readonly [PlacedLeaf[], PlacedLeaf[]] {
  const sides: [PlacedLeaf[], PlacedLeaf[]] = [[], []];
  for (const leaf of leaves) sides[bitOf(leaf.key, level)].push(leaf);
  return sides;
}

function hashLeaves(leaves: readonly PendingLeaf[], hasher: TreeHasher): HashedSparseNode[] {
  const hashes = hasher.leaves(
    leaves.map(({ key }) => key),
    leaves.map(({ value }) => value),
  );
  return leaves.map((leaf, i) => {
    leaf.hash = hashes[i] ?? "";
    return { hash: leaf.hash, node: { kind: "leaf", key: leaf.key, value: leaf.value } };
  });
}

/** Hashes the new branches, the lowest first. */
function hashBranches(branches: readonly (PendingBranch[] | undefined)[], hasher: TreeHasher): HashedSparseNode[] {
  const added: HashedSparseNode[] = [];
  for (let level = branches.length - 1; level >= 0; level -= 1) {
    const row = branches[level] ?? [];
    const lefts = row.map(({ left }) => hashOf(left));
    const rights = row.map(({ right }) => hashOf(right));
    for (const [i, hash] of hasher.pairs(lefts, rights).entries()) {
      const branch = row[i];
      if (branch === undefined) throw new Error("invariant broken: one hash for each branch");
      branch.hash = hash;
      added.push({ hash, node: { kind: "branch", left: lefts[i] ?? "", right: rights[i] ?? "" } });
    }
  }
  return added;
}

function hashOf(child: Child): string {
  return typeof child === "string" ? child : child.hash;
}

function nodeOf(read: ReadSparseNode, hash: string): SparseNode {
  const node = read(hash);
  if (node === undefined) throw new Error(`the sparse tree's node ${hash} is missing`);
  return node;
}

/** Bit of a key, counted from the lowest. */
function bitOf(key: string, level: number): 0 | 1 {
  const digit = Number.parseInt(key.charAt(63 - Math.floor(level / 4)), 16);
  return ((digit >> (level % 4)) & 1) === 1 ? 1 : 0;
}
