/** A Groth16 proof as the arguments of the verifier contract's `verifyProof`. */
import { assert } from "../../platform/errors.js";
import type { Groth16ProofJson } from "../../engine/protocol.js";

/** Arguments of `verifyProof(uint[2] a, uint[2][2] b, uint[2] c, uint[n] input)`; 32-byte words, 0x-hex. */
export interface SolidityProof {
  readonly a: string[];
  readonly b: string[][];
  readonly c: string[];
  readonly input: string[];
}

/**
 * Converts a proof of snarkjs' JSON form. The EVM's pairing precompile takes G2 coordinates as (c1, c0), EIP-197;
 * snarkjs writes (c0, c1).
 * @param publicSignals decimals, outputs first
 */
export function solidityProof(proof: Groth16ProofJson, publicSignals: readonly string[]): SolidityProof {
  const [bx, by] = [proof.pi_b[0] ?? [], proof.pi_b[1] ?? []];
  return {
    a: proof.pi_a.slice(0, 2).map(word),
    b: [
      [word(at(bx, 1)), word(at(bx, 0))],
      [word(at(by, 1)), word(at(by, 0))],
    ],
    c: proof.pi_c.slice(0, 2).map(word),
    input: publicSignals.map(word),
  };
}

function at(list: readonly string[], index: number): string {
  const found = list[index];
  assert(found !== undefined && /^\d+$/.test(found), "a coordinate is a decimal text");
  return found;
}

function word(decimal: string): string {
  return `0x${BigInt(decimal).toString(16).padStart(64, "0")}`;
}
