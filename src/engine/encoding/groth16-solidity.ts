/** A Groth16 proof as the arguments of the verifier contract's `verifyProof`. */
import type { Groth16Proof } from "../groth16/proof.js";
import { solidityWord } from "./solidity-word.js";

/** Arguments of `verifyProof(uint[2] a, uint[2][2] b, uint[2] c, uint[n] input)`; 32-byte words, 0x-hex. */
export interface Groth16SolidityArguments {
  readonly a: string[];
  readonly b: string[][];
  readonly c: string[];
  readonly input: string[];
}

/**
 * Returns the arguments. The EVM's pairing precompile takes G2 coordinates as (c1, c0), EIP-197; files and JSON have
 * (c0, c1).
 * @param publicSignals outputs first
 */
export function groth16SolidityArguments(
  { a, b, c }: Groth16Proof,
  publicSignals: readonly bigint[],
): Groth16SolidityArguments {
  return {
    a: [a.x, a.y].map(solidityWord),
    b: [[b.x.c1, b.x.c0].map(solidityWord), [b.y.c1, b.y.c0].map(solidityWord)],
    c: [c.x, c.y].map(solidityWord),
    input: publicSignals.map(solidityWord),
  };
}
