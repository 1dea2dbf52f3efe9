/**
 * The dense Merkle tree of notes: leaves are filled from the left, nodes are Poseidon of their two children over the
 * scalar field of the proofs' curve, an empty leaf is 0. Only the frontier (the left siblings that later appends need)
 * is carried from append to append. Pure; stores nothing.
 */
import type { CurveName } from "../curves/curve-parameters.js";
import { poseidonPair } from "../../crypto/hashes/poseidon.js";

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
 * Returns the tree without a leaf.
 * @param depth 1 to 32
 */
export function emptyNoteTree(depth: number, curve: CurveName = "BN254"): NoteTreeState {
  if (!Number.isInteger(depth) || depth < 1 || depth > NOTE_TREE_DEPTH_MAX)
    throw new RangeError("depth of the note tree is 1 to 32");
  return { depth, size: 0, frontier: Array.from({ length: depth }, () => ""), root: toHex(emptySubtree(depth, curve)) };
}

/**
 * Returns the field element of a 32-byte digest: Poseidon of its upper and lower 128 bits, so that no two digests share
 * a leaf by reduction.
 * @param digest 64 hex digits
 */
export function noteLeaf(digest: string, curve: CurveName = "BN254"): string {
  if (!/^[0-9a-f]{64}$/.test(digest)) throw new RangeError("a leaf is made from 64 lower-case hex digits");
  return toHex(poseidonPair(BigInt(`0x${digest.slice(0, 32)}`), BigInt(`0x${digest.slice(32)}`), curve));
}

/**
 * Appends leaves in order. Cost: about depth + 2 * leaves hashes, 0.3 ms each.
 * @param leaves canonical field elements, 64 hex digits each, at least one
 * @throws RangeError when the tree has no room for all of them
 */
export function appendLeaves(
  state: NoteTreeState,
  leaves: readonly string[],
  curve: CurveName = "BN254",
): NoteTreeAppend {
  if (leaves.length === 0) throw new RangeError("nothing to append");
  if (state.size + leaves.length > 2 ** state.depth) throw new RangeError("the note tree is full");
  const frontier = [...state.frontier];
  const completed: NoteTreeNode[] = [];
  leaves.forEach((leaf, offset) => {
    climb(frontier, { index: state.size + offset, leaf, curve }, completed);
  });
  const size = state.size + leaves.length;
  return {
    state: {
      depth: state.depth,
      size,
      frontier,
      root: rootOf({ depth: state.depth, size, frontier }, completed, curve),
    },
    completed,
  };
}

/** Runs the task `append_notes`: makes a leaf of each digest and appends them. */
export function appendNotes(message: {
  readonly state: NoteTreeState;
  readonly digests: readonly string[];
  readonly curve: CurveName;
}): NoteTreeAppend & { readonly leaves: readonly string[] } {
  const leaves = message.digests.map((digest) => noteLeaf(digest, message.curve));
  return { ...appendLeaves(message.state, leaves, message.curve), leaves };
}

/** Moves a new leaf up as far as it completes subtrees, like a carry in a counter. */
function climb(
  frontier: string[],
  { index: leafIndex, leaf, curve }: { readonly index: number; readonly leaf: string; readonly curve: CurveName },
  completed: NoteTreeNode[],
): void {
  let hash = leaf;
  let index = leafIndex;
  for (let level = 0; ; level += 1) {
    completed.push({ level, index, hash });
    if (level === frontier.length) return;
    if (index % 2 === 0) {
      frontier[level] = hash;
      return;
    }
    hash = toHex(poseidonPair(fromHex(frontier[level] ?? ""), fromHex(hash), curve));
    frontier[level] = "";
    index = Math.floor(index / 2);
  }
}

/** The root of the tree whose right part is empty. */
function rootOf(
  { depth, size, frontier }: Omit<NoteTreeState, "root">,
  completed: readonly NoteTreeNode[],
  curve: CurveName,
): string {
  const top = completed.find((node) => node.level === depth);
  if (top !== undefined) return top.hash;
  let node = 0n;
  for (let level = 0; level < depth; level += 1) {
    const hasLeftSibling = Math.floor(size / 2 ** level) % 2 === 1;
    node = hasLeftSibling
      ? poseidonPair(fromHex(frontier[level] ?? ""), node, curve)
      : poseidonPair(node, emptySubtree(level, curve), curve);
  }
  return toHex(node);
}

/** Roots of empty subtrees by curve and height, computed on first use; constants, so that module state is harmless. */
const emptySubtrees: Readonly<Record<CurveName, bigint[]>> = { BN254: [0n], BLS12_381: [0n] };

/** The root of a subtree of the given height without leaves. */
function emptySubtree(level: number, curve: CurveName): bigint {
  const roots = emptySubtrees[curve];
  for (let height = roots.length; height <= level; height += 1) {
    const below = roots[height - 1] ?? 0n;
    roots[height] = poseidonPair(below, below, curve);
  }
  return roots[level] ?? 0n;
}

function fromHex(hex: string): bigint {
  if (!/^[0-9a-f]{64}$/.test(hex)) throw new RangeError("a node is 64 lower-case hex digits");
  return BigInt(`0x${hex}`);
}

function toHex(element: bigint): string {
  return element.toString(16).padStart(64, "0");
}
