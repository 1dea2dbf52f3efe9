import { describe, expect, it } from "vitest";
import { poseidonPair, poseidonTriple } from "../../../../src/crypto/hashes/poseidon.js";
import { BLS12_381 } from "../../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import { readBigIntLE, writeBigIntLE } from "../../../../src/engine/field/bytes.js";
import { HASHES_AT_ONCE_MAX, poseidonKernel } from "../../../../src/engine/kernels/poseidon/poseidon-kernel.js";
import type { PoseidonKernel } from "../../../../src/engine/kernels/poseidon/poseidon-kernel.js";
import { KERNEL_KINDS, bigBelow } from "../../../support/kernels.js";
import { seededRandom } from "../../../support/seeded.js";

const random = seededRandom();

function hashes(kernel: PoseidonKernel, groups: readonly (readonly bigint[])[]): bigint[] {
  for (const [i, element] of groups.flat().entries()) writeBigIntLE(element, kernel.inputs, 32 * i);
  kernel.hash(groups[0]?.length === 3 ? 3 : 2, groups.length);
  return groups.map((_, i) => readBigIntLE(kernel.outputs, 32 * i));
}

describe.each([BN254, BLS12_381].flatMap((curve) => KERNEL_KINDS.map((kind) => ({ kind, curve, name: curve.name }))))(
  "$kind kernel of Poseidon over $name, seed " + String(random.seed),
  ({ kind, curve }) => {
    const kernel = poseidonKernel(curve.name, kind);
    const { r } = curve;
    const edges = [0n, 1n, 2n, r - 1n, r - 2n, r / 2n, r / 2n + 1n, (1n << 253n) - 1n, 1n << 204n];
    const element = (): bigint => bigBelow(random, r);

    it("hashes pairs at the edges of the field as the definition does", () => {
      const pairs = edges.flatMap((left) => [0n, 1n, r - 1n, left].map((right) => [left, right] as const));
      expect(hashes(kernel, pairs)).toEqual(pairs.map(([left, right]) => poseidonPair(left, right, curve.name)));
    });

    it("hashes a pair alone as it hashes it among others", () => {
      const pairs = [
        ...edges.map((left, i) => [left, edges[(i + 4) % edges.length]!] as const),
        [element(), element()],
      ];
      expect(pairs.map((pair) => hashes(kernel, [pair])[0])).toEqual(hashes(kernel, pairs));
    });

    it("hashes triples at the edges of the field as the definition does", () => {
      const triples = edges.map((first, i) => [first, edges[(i * 2 + 1) % edges.length]!, r - 1n] as const);
      expect(hashes(kernel, triples)).toEqual(triples.map((triple) => poseidonTriple(triple, curve.name)));
    });

    it("hashes random elements as the definition does, in calls of any length", () => {
      for (const count of [1, 2, 3, 8, 9]) {
        const pairs = Array.from({ length: count }, () => [element(), element()] as const);
        expect(hashes(kernel, pairs)).toEqual(pairs.map(([left, right]) => poseidonPair(left, right, curve.name)));
        const triples = Array.from({ length: count }, () => [element(), element(), element()] as const);
        expect(hashes(kernel, triples)).toEqual(triples.map((triple) => poseidonTriple(triple, curve.name)));
      }
    });

    it("gives every place of a full call its own hash", () => {
      const pairs = Array.from({ length: HASHES_AT_ONCE_MAX }, (_, i) => [BigInt(i % 16), r - 1n] as const);
      const found = hashes(kernel, pairs);
      expect(found.slice(16)).toEqual(found.slice(0, -16));
      expect(found.slice(0, 3)).toEqual(
        pairs.slice(0, 3).map(([left, right]) => poseidonPair(left, right, curve.name)),
      );
    });

    it("refuses a call of more hashes than its memory has room for", () => {
      expect(() => kernel.hash(2, HASHES_AT_ONCE_MAX + 1)).toThrow(RangeError);
      expect(() => kernel.hash(2, -1)).toThrow(RangeError);
      expect(() => kernel.hash(2, 0)).not.toThrow();
    });
  },
);
