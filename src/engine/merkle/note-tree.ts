/**
 * The dense Merkle tree of notes: leaves are filled from the left, nodes are Poseidon of their two children over the
 * scalar field of the proofs' curve, an empty leaf is 0. Only the frontier (the left siblings that later appends need)
 * is carried from append to append. Pure; stores nothing.
 */
import type { CurveName } from "../curves/curve-parameters.js";
import { EMPTY_NODE, requireElements, treeHasher } from "./tree-hasher.js";
import type { TreeHasher } from "./tree-hasher.js";

/** The state for appending: O(depth), however many leaves there are. */
export type NoteTreeState = {
  /** Levels above the leaves; the tree holds 2^depth leaves. */
  readonly depth: number;
  /** Leaves so far. */
  readonly size: number;
  /**
   * Per level from the leaves up: the last complete node without a right sibling, 64 hex digits, or "" if there is
   * none.
   */
  readonly frontier: readonly string[];
  /** 64 lower-case hex digits, big-endian. */
  readonly root: string;
};

/** A node whose subtree is complete and never changes again. Level 0 is the leaves. */
export interface NoteTreeNode {
  readonly level: number;
  readonly index: number;
  readonly hash: string;
}

interface NoteTreeAppend {
  readonly state: NoteTreeState;
  /** Nodes that this append completed, leaves included; enough to build inclusion proofs from later. */
  readonly completed: readonly NoteTreeNode[];
}

/** Depth of a state at most; no store reaches 2^32 leaves. */
const NOTE_TREE_DEPTH_MAX = 32;

/**
 * Returns the tree without a leaf, after 32 hashes for a depth of 32: the oracle of the tests, where the bench starts.
 * The server has the root as a constant (prover/stores).
 * @param depth 1 to 32
 */
export function emptyNoteTree(depth: number, curve: CurveName = "BN254"): NoteTreeState {
  if (!Number.isInteger(depth) || depth < 1 || depth > NOTE_TREE_DEPTH_MAX)
    throw new RangeError("depth of the note tree is 1 to 32");
  return { depth, size: 0, frontier: Array.from({ length: depth }, () => ""), root: emptySubtree(depth, curve) };
}

/**
 * Returns the field element of a 32-byte digest: Poseidon of its upper and lower 128 bits, so that no two digests share
 * a leaf by reduction.
 * @param digest 64 hex digits
 */
export function noteLeaf(digest: string, curve: CurveName = "BN254"): string {
  return noteLeaves([digest], curve)[0] ?? "";
}

function noteLeaves(digests: readonly string[], curve: CurveName): string[] {
  if (!digests.every((digest) => /^[0-9a-f]{64}$/.test(digest)))
    throw new RangeError("a leaf is made from 64 lower-case hex digits");
  return treeHasher(curve).pairs(
    digests.map((digest) => digest.slice(0, 32).padStart(64, "0")),
    digests.map((digest) => digest.slice(32).padStart(64, "0")),
  );
}

/**
 * Appends leaves in order. Cost: about depth + leaves hashes.
 * @param leaves canonical field elements, 64 hex digits each, at least one
 * @throws RangeError when the tree has no room for all of them, or for a leaf that is no canonical element
 */
export function appendLeaves(
  state: NoteTreeState,
  leaves: readonly string[],
  curve: CurveName = "BN254",
  hasher: TreeHasher = treeHasher(curve),
): NoteTreeAppend {
  if (leaves.length === 0) throw new RangeError("nothing to append");
  if (state.size + leaves.length > 2 ** state.depth) throw new RangeError("the note tree is full");
  requireElements(leaves, curve, "a leaf of the note tree");
  const frontier = [...state.frontier];
  const completed: NoteTreeNode[] = [];
  let row = { start: state.size, hashes: leaves };
  for (let level = 0; row.hashes.length > 0; level += 1) {
    completed.push(...row.hashes.map((hash, i) => ({ level, index: row.start + i, hash })));
    if (level === state.depth) break;
    row = rowAbove(frontier, level, row, hasher);
  }
  const size = state.size + leaves.length;
  const root = rootOf({ depth: state.depth, size, frontier }, completed, curve, hasher);
  return { state: { depth: state.depth, size, frontier, root }, completed };
}

/** Runs the task `append_notes`: makes a leaf of each digest and appends them. */
export function appendNotes(message: {
  readonly state: NoteTreeState;
  readonly digests: readonly string[];
  readonly curve: CurveName;
}): NoteTreeAppend & { readonly leaves: readonly string[] } {
  const leaves = noteLeaves(message.digests, message.curve);
  return { ...appendLeaves(message.state, leaves, message.curve), leaves };
}

/** Nodes of one level that are new and full, neighbours from `start` on. */
interface Row {
  readonly start: number;
  readonly hashes: readonly string[];
}

/** Hashes the nodes of a level by pairs; what has no right sibling yet waits in the frontier, as a carry does. */
function rowAbove(frontier: string[], level: number, { start, hashes }: Row, hasher: TreeHasher): Row {
  const isOdd = start % 2 === 1;
  const all = isOdd ? [frontier[level] ?? "", ...hashes] : hashes;
  const isWaiting = all.length % 2 === 1;
  frontier[level] = isWaiting ? (all[all.length - 1] ?? "") : "";
  const paired = isWaiting ? all.slice(0, -1) : all;
  const sides = [0, 1].map((side) => paired.filter((_, i) => i % 2 === side));
  return { start: Math.floor(start / 2), hashes: hasher.pairs(sides[0] ?? [], sides[1] ?? []) };
}

/** The root of the tree whose right part is empty. */
function rootOf(
  { depth, size, frontier }: Omit<NoteTreeState, "root">,
  completed: readonly NoteTreeNode[],
  curve: CurveName,
  hasher: TreeHasher,
): string {
  const top = completed.find((node) => node.level === depth);
  if (top !== undefined) return top.hash;
  // Below the lowest node that waits the tree is empty.
  let level = frontier.findIndex((node) => node !== "");
  let node = emptySubtree(level, curve);
  for (; level < depth; level += 1) {
    const hasLeftSibling = Math.floor(size / 2 ** level) % 2 === 1;
    const pair = hasLeftSibling ? [frontier[level] ?? "", node] : [node, emptySubtree(level, curve)];
    node = hasher.pairs(pair.slice(0, 1), pair.slice(1))[0] ?? "";
  }
  return node;
}

/** Roots of empty subtrees by curve and height, computed on first use; constants, so that module state is harmless. */
const emptySubtrees: Readonly<Record<CurveName, string[]>> = { BN254: [EMPTY_NODE], BLS12_381: [EMPTY_NODE] };

/** Returns the root of a subtree of the given height without leaves. */
export function emptySubtree(level: number, curve: CurveName): string {
  const roots = emptySubtrees[curve];
  for (let height = roots.length; height <= level; height += 1) {
    const below = roots[height - 1] ?? EMPTY_NODE;
    roots[height] = treeHasher(curve).pairs([below], [below])[0] ?? "";
  }
  return roots[level] ?? EMPTY_NODE;
}
