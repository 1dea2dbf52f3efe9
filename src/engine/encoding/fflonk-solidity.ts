/** The Solidity verifier of an FFLONK key, and a proof as the arguments of its `verifyProof`. */
import { primeSnarkjs, readSolidityTemplate } from "../backends/snarkjs.js";
import { EVALUATIONS } from "../fflonk/fflonk-values.js";
import type { FflonkProof, FflonkVerifyingKey } from "../fflonk/fflonk-values.js";
import { verifierFile } from "../fflonk/fflonk-zkey-layout.js";
import { signallessTemplate } from "./signalless-template.js";
import { solidityWord } from "./solidity-word.js";

/** Arguments of `verifyProof(bytes32[24] proof, uint256[n] pubSignals)`; 32-byte words, 0x-hex. */
export interface FflonkSolidityArguments {
  readonly proof: string[];
  readonly input: string[];
}

/**
 * snarkjs' contract takes a public signal of r and more for the number that it is modulo r, and hashes it as it stands:
 * a prover could make a second proof of one statement whose signals look new, such as a nullifier's.
 */
const CHECKED_FROM = "            checkProofData()\n";
const SIGNAL_CHECKS = `            checkProofData()
            <%for (let i=0; i<nPublic;i++) {%>
            checkField(calldataload(add(pubSignals, <%=i*32%>)))
            <%}%>
`;

/** Returns the contract, from snarkjs' template (GPL-3.0) with checks that the public signals are below r. */
export async function fflonkSolidityVerifier(key: FflonkVerifyingKey): Promise<string> {
  const snarkjs = await primeSnarkjs();
  const template = await readSolidityTemplate("fflonk");
  if (template.split(CHECKED_FROM).length !== 2)
    throw new Error("snarkjs has another template for FFLONK than is known");
  return await snarkjs.zKey.exportSolidityVerifier(verifierFile(key), {
    fflonk:
      key.publicCount > 0 ? template.replace(CHECKED_FROM, SIGNAL_CHECKS) : signallessTemplate("fflonk", template),
  });
}

/**
 * Returns the arguments, in the order of snarkjs' calldata.
 * @param publicSignals outputs first
 */
export function fflonkSolidityArguments(
  { c1, c2, w1, w2, evaluations, inverse }: FflonkProof,
  publicSignals: readonly bigint[],
): FflonkSolidityArguments {
  const points = [c1, c2, w1, w2].flatMap(({ x, y }) => [x, y]);
  const values = [...EVALUATIONS.map((name) => evaluations[name]), inverse];
  return { proof: [...points, ...values].map(solidityWord), input: publicSignals.map(solidityWord) };
}
