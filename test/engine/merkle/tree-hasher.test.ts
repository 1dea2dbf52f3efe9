import { describe, expect, it } from "vitest";
import { BLS12_381 } from "../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { elementToHex, isElement, treeHasher } from "../../../src/engine/merkle/tree-hasher.js";
import { plainTreeHasher } from "../../support/trees.js";

describe.each([BN254, BLS12_381])("hashes of the trees over $name", ({ name, r }) => {
  const elements = [0n, 1n, 255n, r / 3n, r - 1n].map(elementToHex);
  const reversed = [...elements].reverse();

  it("are the same on the kernel as on bigints", () => {
    expect(treeHasher(name).pairs(elements, reversed)).toEqual(plainTreeHasher(name).pairs(elements, reversed));
    expect(treeHasher(name).leaves(elements, reversed)).toEqual(plainTreeHasher(name).leaves(elements, reversed));
    expect(treeHasher(name).pairs([], [])).toEqual([]);
  });

  it("come in the order of their arguments, also when there are more than one call of the kernel takes", () => {
    const many = Array.from({ length: 2051 }, (_, i) => elementToHex(BigInt(i % 5)));
    const hashes = treeHasher(name).pairs(many, many);
    expect(hashes).toHaveLength(many.length);
    expect(hashes.slice(5)).toEqual(hashes.slice(0, -5));
    expect(new Set(hashes).size).toBe(5);
  });

  it("refuse what is no canonical element", () => {
    for (const wrong of [elementToHex(r), "0", "A".repeat(64), `${"0".repeat(63)}g`, "f".repeat(64), ""]) {
      expect(() => treeHasher(name).pairs([wrong], [elements[0]!]), wrong).toThrow(RangeError);
      expect(() => treeHasher(name).leaves([elements[0]!], [wrong]), wrong).toThrow(RangeError);
      expect(isElement(wrong, name)).toBe(false);
    }
    expect(() => treeHasher(name).pairs([elements[0]!], [])).toThrow(RangeError);
    expect(isElement(elementToHex(r - 1n), name)).toBe(true);
  });
});
