/**
 * Proofs about the dense note tree (note-tree.ts) at any of its sizes: that a leaf is in it, and that a tree of one
 * size is the beginning of a tree of a later size. A tree of size s has its first s leaves, and 0 in all others. Pure;
 * stores nothing. Formats and checks: README.md beside this file.
 */
import type { CurveName } from "../curves/curve-parameters.js";
import { emptySubtree } from "./note-tree.js";
import { EMPTY_NODE, isElement, treeHasher } from "./tree-hasher.js";
import type { TreeHasher } from "./tree-hasher.js";

/** Gives a node whose subtree is full (`NoteTreeNode`), or undefined where the tree has no such node. */
export type ReadDenseNode = (level: number, index: number) => string | undefined;

/** The tree of which something is proven. */
export interface DenseTree {
  readonly depth: number;
  readonly curve: CurveName;
  /** Knows the full nodes of the tree as it is now; those of an earlier size are among them. */
  readonly read: ReadDenseNode;
}

/** A proof that a leaf stands at an index of the tree of a size. */
export interface InclusionProof {
  readonly curve: CurveName;
  readonly depth: number;
  readonly size: number;
  /** From 0; its bits from the lowest are the sides of the path: 0 when the node is a left child. */
  readonly index: number;
  readonly leaf: string;
  /** One for each level from the leaves up. */
  readonly siblings: readonly string[];
  readonly root: string;
}

/**
 * A proof that the tree of `fromSize` leaves is the beginning of the tree of `toSize` leaves: the path of place
 * `fromSize`, the first that the older tree leaves empty. Its left siblings are full nodes of both trees and hold all
 * leaves of the older one, whose other siblings are empty.
 */
export interface ConsistencyProof {
  readonly curve: CurveName;
  readonly depth: number;
  readonly fromSize: number;
  readonly fromRoot: string;
  readonly toSize: number;
  readonly toRoot: string;
  /** The newer tree's leaf at place `fromSize`; zeros where it has none. */
  readonly leaf: string;
  /** Of that place in the newer tree, one for each level from the leaves up; none when the older tree is full. */
  readonly siblings: readonly string[];
}

const DEPTH_MAX = 32;

/**
 * Proves that the leaf at an index is in the tree of a size, which may be one of the past. Cost: at most one hash for
 * each level, for the nodes at the edge of the size.
 * @throws RangeError when the tree of that size has no such leaf
 */
export function proveInclusion(
  tree: DenseTree,
  { index, size }: { readonly index: number; readonly size: number },
  hasher: TreeHasher = treeHasher(tree.curve),
): InclusionProof {
  requireSize(size, tree.depth);
  if (!Number.isInteger(index) || index < 0 || index >= size)
    throw new RangeError(`the tree of ${String(size)} leaves has no leaf ${String(index)}`);
  const { curve, depth } = tree;
  const edge = edgeNodes(tree, size, hasher);
  return {
    curve,
    depth,
    size,
    index,
    leaf: nodeAt(tree, edge, { level: 0, index }),
    siblings: siblingsOf(tree, edge, index),
    root: nodeAt(tree, edge, { level: depth, index: 0 }),
  };
}

/**
 * Checks an inclusion proof against the root that it names; whether that is the root of the trusted tree at this size
 * is the caller's to know. Never throws: whatever is malformed proves nothing.
 */
export function verifyInclusion(proof: InclusionProof, hasher?: TreeHasher): boolean {
  const { curve, depth, size, index, leaf, siblings, root } = proof;
  if (!isDepth(depth) || !isSize(size, depth) || !isSize(index, depth) || index >= size) return false;
  if (siblings.length !== depth || ![leaf, root, ...siblings].every((text) => isElement(text, curve))) return false;
  if (!emptyBeyond({ curve, index, size, siblings })) return false;
  return rootOfPath(index, { leaf, siblings }, hasher ?? treeHasher(curve)) === root;
}

/**
 * Proves that the tree of one size is the beginning of the tree of a later one, or of itself.
 * @throws RangeError unless 0 <= fromSize <= toSize <= 2^depth
 */
export function proveConsistency(
  tree: DenseTree,
  { fromSize, toSize }: { readonly fromSize: number; readonly toSize: number },
  hasher: TreeHasher = treeHasher(tree.curve),
): ConsistencyProof {
  requireSize(fromSize, tree.depth);
  requireSize(toSize, tree.depth);
  if (fromSize > toSize) throw new RangeError("the earlier size is larger than the later one");
  const { curve, depth } = tree;
  const newer = edgeNodes(tree, toSize, hasher);
  const older = fromSize === toSize ? newer : edgeNodes(tree, fromSize, hasher);
  const place = fromSize < 2 ** depth ? fromSize : undefined;
  return {
    curve,
    depth,
    fromSize,
    fromRoot: nodeAt(tree, older, { level: depth, index: 0 }),
    toSize,
    toRoot: nodeAt(tree, newer, { level: depth, index: 0 }),
    leaf: place === undefined ? EMPTY_NODE : nodeAt(tree, newer, { level: 0, index: place }),
    siblings: place === undefined ? [] : siblingsOf(tree, newer, place),
  };
}

/**
 * Checks a consistency proof against the two roots that it names; whether those are the trusted tree's is the caller's
 * to know. Never throws: whatever is malformed proves nothing.
 */
export function verifyConsistency(proof: ConsistencyProof, hasher?: TreeHasher): boolean {
  const { curve, depth, fromSize, fromRoot, toSize, toRoot, leaf, siblings } = proof;
  if (!isDepth(depth) || !isSize(fromSize, depth) || !isSize(toSize, depth) || fromSize > toSize) return false;
  if (![fromRoot, toRoot, leaf, ...siblings].every((text) => isElement(text, curve))) return false;
  if (fromSize === 2 ** depth) return siblings.length === 0 && leaf === EMPTY_NODE && fromRoot === toRoot;
  if (siblings.length !== depth) return false;
  if (fromSize === toSize && leaf !== EMPTY_NODE) return false;
  if (!emptyBeyond({ curve, index: fromSize, size: toSize, siblings })) return false;
  const hashes = hasher ?? treeHasher(curve);
  const older = siblings.map((sibling, level) => (isRight(fromSize, level) ? sibling : emptySubtree(level, curve)));
  return (
    rootOfPath(fromSize, { leaf: EMPTY_NODE, siblings: older }, hashes) === fromRoot &&
    rootOfPath(fromSize, { leaf, siblings }, hashes) === toRoot
  );
}

/** Nodes of a tree of a size that are neither full nor empty: on each level at most the one at the edge. */
interface Edge {
  readonly size: number;
  /** By level. */
  readonly hashes: readonly (string | undefined)[];
}

function edgeNodes(tree: DenseTree, size: number, hasher: TreeHasher): Edge {
  const hashes: (string | undefined)[] = [undefined];
  const edge = { size, hashes };
  for (let level = 1; level <= tree.depth; level += 1) {
    const index = Math.floor(size / 2 ** level);
    if (size % 2 ** level === 0) {
      hashes.push(undefined);
    } else {
      const left = nodeAt(tree, edge, { level: level - 1, index: 2 * index });
      const right = nodeAt(tree, edge, { level: level - 1, index: 2 * index + 1 });
      hashes.push(hasher.pairs([left], [right])[0]);
    }
  }
  return edge;
}

/** Any node of the tree of the edge's size: full, empty or at the edge. */
function nodeAt(
  { read, curve }: DenseTree,
  { size, hashes }: Edge,
  { level, index }: { readonly level: number; readonly index: number },
): string {
  if (index * 2 ** level >= size) return emptySubtree(level, curve);
  const node = (index + 1) * 2 ** level <= size ? read(level, index) : hashes[level];
  if (node === undefined) throw new Error(`the note tree's node ${String(level)}/${String(index)} is missing`);
  return node;
}

function siblingsOf(tree: DenseTree, edge: Edge, index: number): string[] {
  return Array.from({ length: tree.depth }, (_, level) => {
    const at = Math.floor(index / 2 ** level);
    return nodeAt(tree, edge, { level, index: at % 2 === 0 ? at + 1 : at - 1 });
  });
}

/** Tells whether every sibling of the path that lies beyond the size is an empty subtree. */
function emptyBeyond({
  curve,
  index,
  size,
  siblings,
}: Pick<InclusionProof, "curve" | "index" | "size" | "siblings">): boolean {
  return siblings.every((sibling, level) => {
    if (isRight(index, level)) return true;
    const start = (Math.floor(index / 2 ** level) + 1) * 2 ** level;
    return start < size || sibling === emptySubtree(level, curve);
  });
}

function rootOfPath(
  index: number,
  { leaf, siblings }: Pick<InclusionProof, "leaf" | "siblings">,
  hasher: TreeHasher,
): string {
  let node = leaf;
  for (const [level, sibling] of siblings.entries())
    node = (isRight(index, level) ? hasher.pairs([sibling], [node]) : hasher.pairs([node], [sibling]))[0] ?? "";
  return node;
}

/** Whether the node of the path on a level is a right child. */
function isRight(index: number, level: number): boolean {
  return Math.floor(index / 2 ** level) % 2 === 1;
}

function isDepth(depth: number): boolean {
  return Number.isInteger(depth) && depth >= 1 && depth <= DEPTH_MAX;
}

function isSize(size: number, depth: number): boolean {
  return Number.isInteger(size) && size >= 0 && size <= 2 ** depth;
}

function requireSize(size: number, depth: number): void {
  if (!isDepth(depth) || !isSize(size, depth))
    throw new RangeError(`a size is 0 to 2^depth, at a depth of 1 to ${String(DEPTH_MAX)}`);
}
