import { describe, expect, it } from "vitest";
import { primeSnarkjs } from "../../../src/engine/backends/snarkjs.js";
import { solidityProof } from "../../../src/prover/proofs/solidity-proof.js";

const point = (seed: number): string[] => [String(seed), String(seed + 1), "1"];
const twist = (seed: number): string[][] => [
  [String(seed), String(seed + 1)],
  [String(seed + 2), String(seed + 3)],
  ["1", "0"],
];

describe("Solidity form of a proof", () => {
  it("swaps the two halves of G2 coordinates for EIP-197", () => {
    const proof = { pi_a: point(1), pi_b: twist(3), pi_c: point(7), protocol: "groth16", curve: "bn128" } as const;
    const hex = (value: number): string => `0x${value.toString(16).padStart(64, "0")}`;
    expect(solidityProof(proof, ["35"])).toEqual({
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
    const proof = { pi_a: point(1), pi_b: twist(3), pi_c: point(7), protocol: "groth16", curve: "bn128" } as const;
    const snarkjs = await primeSnarkjs();
    const calldata = await snarkjs.groth16.exportSolidityCallData(proof, ["35", "0"]);
    const { a, b, c, input } = solidityProof(proof, ["35", "0"]);
    expect([a, b, c, input]).toEqual(JSON.parse(`[${calldata}]`));
  });
});
