import { buildPoseidonReference } from "circomlibjs";
import { describe, expect, it } from "vitest";
import { BLS12_381 } from "../../../src/engine/curves/bls12-381.js";
import { FIELD_ORDER, poseidonPair } from "../../../src/crypto/hashes/poseidon.js";

describe("Poseidon of two field elements", () => {
  // SOURCE: iden3/circomlibjs test/poseidon.js, "Should check constrain reference implementation
  // poseidonperm_x5_254_3".
  it("reproduces circomlib's published digest of (1, 2)", () => {
    expect(poseidonPair(1n, 2n).toString(16)).toBe("115cc0f5e7d690413df64c6b9662e9cf2a3617f2743245519e19607a4417189a");
  });

  it("agrees with circomlibjs at the edges of the field", async () => {
    const reference = (await buildPoseidonReference()) as unknown as {
      (inputs: bigint[]): Uint8Array;
      F: { toObject(element: Uint8Array): bigint };
    };
    for (const [left, right] of [
      [0n, 0n],
      [0n, 1n],
      [1n, 0n],
      [FIELD_ORDER - 1n, FIELD_ORDER - 1n],
    ] as const) {
      expect(poseidonPair(left, right)).toBe(reference.F.toObject(reference([left, right])));
    }
  });

  // SOURCE: extgit.iaik.tugraz.at/krypto/hadeshash, test_vectors.txt, poseidonperm_x5_255_3: the first element of the
  // permutation of (0, 1, 2).
  it("reproduces the authors' published permutation over the scalar field of BLS12-381", () => {
    expect(poseidonPair(1n, 2n, "BLS12_381").toString(16)).toBe(
      "28ce19420fc246a05553ad1e8c98f5c9d67166be2c18e9e4cb4b4e317dd2a78a",
    );
    expect(() => poseidonPair(FIELD_ORDER, 0n, "BLS12_381")).not.toThrow();
    expect(() => poseidonPair(BLS12_381.r, 0n, "BLS12_381")).toThrow(RangeError);
  });

  it("refuses what is not a canonical field element", () => {
    expect(() => poseidonPair(FIELD_ORDER, 0n)).toThrow(RangeError);
    expect(() => poseidonPair(0n, -1n)).toThrow(RangeError);
  });
});
