import { describe, expect, it } from "vitest";
import { poseidonPair } from "../../../src/crypto/hashes/poseidon.js";
import { appendLeaves, emptyNoteTree, noteLeaf } from "../../../src/engine/merkle/note-tree.js";

const hex = (value: bigint): string => value.toString(16).padStart(64, "0");

/** The root computed from all leaves at once: the slow, obvious way. */
function plainRoot(depth: number, leaves: readonly string[]): string {
  let level = Array.from({ length: 2 ** depth }, (_, index) => BigInt(`0x${leaves[index] ?? "0"}`));
  while (level.length > 1)
    level = Array.from({ length: level.length / 2 }, (_, index) =>
      poseidonPair(level[2 * index]!, level[2 * index + 1]!),
    );
  return hex(level[0]!);
}

describe("dense note tree", () => {
  it("has the root of all leaves after every single append, up to the full tree", () => {
    let state = emptyNoteTree(3);
    const leaves: string[] = [];
    expect(state.root).toBe(plainRoot(3, leaves));
    for (let index = 0; index < 8; index += 1) {
      leaves.push(hex(BigInt(1000 + index)));
      state = appendLeaves(state, leaves.slice(-1)).state;
      expect({ size: state.size, root: state.root }).toEqual({ size: leaves.length, root: plainRoot(3, leaves) });
    }
  });

  it("gives the same tree for one batch as for single appends", () => {
    const leaves = Array.from({ length: 7 }, (_, index) => hex(BigInt(7 * index + 1)));
    const single = leaves.reduce((state, leaf) => appendLeaves(state, [leaf]).state, emptyNoteTree(4));
    const first = appendLeaves(emptyNoteTree(4), leaves.slice(0, 3)).state;
    expect(appendLeaves(first, leaves.slice(3)).state).toEqual(single);
  });

  it("completes each node exactly once", () => {
    const { completed } = appendLeaves(
      emptyNoteTree(3),
      Array.from({ length: 6 }, (_, index) => hex(BigInt(index))),
    );
    const places = completed.map((node) => `${node.level}/${node.index}`);
    expect(new Set(places).size).toBe(places.length);
    expect(places.sort()).toEqual(["0/0", "0/1", "0/2", "0/3", "0/4", "0/5", "1/0", "1/1", "1/2", "2/0"]);
  });

  it("refuses one leaf more than it holds", () => {
    const full = appendLeaves(emptyNoteTree(1), [hex(1n), hex(2n)]).state;
    expect(() => appendLeaves(full, [hex(3n)])).toThrow("full");
    expect(() => appendLeaves(emptyNoteTree(1), [hex(1n), hex(2n), hex(3n)])).toThrow("full");
  });

  it("gives digests that are congruent modulo the field different leaves", () => {
    expect(noteLeaf("00".repeat(32))).not.toBe(
      noteLeaf("30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001"),
    );
  });
});
