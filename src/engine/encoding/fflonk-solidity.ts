/** The Solidity verifier of an FFLONK key, and a proof as the arguments of its `verifyProof`. */
import { primeSnarkjs, readSolidityTemplate } from "../backends/snarkjs.js";
import { EVALUATIONS } from "../fflonk/key.js";
import type { FflonkProof, FflonkVerifyingKey } from "../fflonk/key.js";
import { verifierFile } from "../fflonk/zkey-layout.js";
import { solidityWord } from "./groth16-solidity.js";

/** Arguments of `verifyProof(bytes32[24] proof, uint256[n] pubSignals)`; 32-byte words, 0x-hex. */
export interface FflonkSolidityArguments {
  readonly proof: string[];
  readonly input: string[];
}

/** Returns the contract, from snarkjs' template (GPL-3.0). */
export async function fflonkSolidityVerifier(key: FflonkVerifyingKey): Promise<string> {
  const snarkjs = await primeSnarkjs();
  return await snarkjs.zKey.exportSolidityVerifier(verifierFile(key), {
    fflonk: await readSolidityTemplate("fflonk"),
  });
}

/**
 * Returns the arguments, in the order of snarkjs' calldata. The contract takes one signal where a circuit has none, and
 * does not read it.
 * @param publicSignals outputs first
 */
export function fflonkSolidityArguments(
  { c1, c2, w1, w2, evaluations, inverse }: FflonkProof,
  publicSignals: readonly bigint[],
): FflonkSolidityArguments {
  const points = [c1, c2, w1, w2].flatMap(({ x, y }) => [x, y]);
  const values = [...EVALUATIONS.map((name) => evaluations[name]), inverse];
  const signals = publicSignals.length === 0 ? [0n] : publicSignals;
  return { proof: [...points, ...values].map(solidityWord), input: signals.map(solidityWord) };
}
