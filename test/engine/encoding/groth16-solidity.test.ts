import { describe, expect, it } from "vitest";
import { primeSnarkjs } from "../../../src/engine/backends/snarkjs.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { proofToJson } from "../../../src/engine/encoding/groth16-proof.js";
import { groth16SolidityArguments } from "../../../src/engine/encoding/groth16-solidity.js";
import type { Groth16Proof } from "../../../src/engine/groth16/proof.js";

const proof: Groth16Proof = {
  curve: "BN254",
  a: { x: 1n, y: 2n },
  b: { x: { c0: 3n, c1: 4n }, y: { c0: 5n, c1: 6n } },
  c: { x: 7n, y: 8n },
};

describe("Solidity form of a proof", () => {
  it("swaps the two halves of G2 coordinates for EIP-197", () => {
    const hex = (value: number): string => `0x${value.toString(16).padStart(64, "0")}`;
    expect(groth16SolidityArguments(proof, [35n])).toEqual({
      a: [hex(1), hex(2)],
      b: [
        [hex(4), hex(3)],
        [hex(6), hex(5)],
      ],
      c: [hex(7), hex(8)],
      input: [hex(35)],
    });
  });

  it("has the arguments that snarkjs writes", async () => {
    const snarkjs = await primeSnarkjs();
    const calldata = await snarkjs.groth16.exportSolidityCallData(proofToJson(proof, BN254), ["35", "0"]);
    const { a, b, c, input } = groth16SolidityArguments(proof, [35n, 0n]);
    expect([a, b, c, input]).toEqual(JSON.parse(`[${calldata}]`));
  });
});
