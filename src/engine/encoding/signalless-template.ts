/**
 * snarkjs' Solidity templates for circuits without public signals. Solidity has no arrays of no elements: what snarkjs
 * writes for Groth16 and PLONK does not compile, and its FFLONK contract takes one signal all the same, where any
 * multiple of the field's order passes for none. The contract takes the proof alone instead.
 */
import type { SolidityScheme } from "../backends/snarkjs.js";

/** Each text stands once in the template; what takes its place. */
type Edits = readonly (readonly [from: string, to: string])[];

const EDITS: Readonly<Record<SolidityScheme, Edits>> = {
  groth16: [
    [", uint[<%=IC.length-1%>] calldata _pubSignals) public", ") public"],
    ["checkPairing(pA, pB, pC, pubSignals, pMem)", "checkPairing(pA, pB, pC, pMem)"],
    ["checkPairing(_pA, _pB, _pC, _pubSignals, pMem)", "checkPairing(_pA, _pB, _pC, pMem)"],
  ],
  plonk: [
    [", uint256[<%=nPublic%>] calldata _pubSignals) public", ") public"],
    // The functions read no signal, so that nothing is read at the place.
    ["calculateChallenges(pMem, _pubSignals)", "calculateChallenges(pMem, 0)"],
    ["calculatePI(pMem, _pubSignals)", "calculatePI(pMem, 0)"],
  ],
  fflonk: [
    [", uint256[<%- Math.max(nPublic, 1) %>] calldata pubSignals) public", ") public"],
    ["computeChallenges(pMem, pubSignals)", "computeChallenges(pMem)"],
    ["function computeChallenges(pMem, pPublic)", "function computeChallenges(pMem)"],
    ["mstore(add(pMem, <%= pLastMem + 64 %>), calldataload(pPublic))", ""],
    ["computePi(pMem, pubSignals)", "computePi(pMem)"],
    ["function computePi(pMem, pPub)", "function computePi(pMem)"],
    ["pi := mod(add(sub(pi, mulmod(mload(add(pMem, pEval_l1)), calldataload(pPub), q)), q), q)", ""],
  ],
};

/**
 * Returns the template of a contract whose `verifyProof` takes no public signals.
 * @throws Error when snarkjs has another template than is known
 */
export function signallessTemplate(scheme: SolidityScheme, template: string): string {
  let text = template;
  for (const [from, to] of EDITS[scheme]) {
    if (text.split(from).length !== 2)
      throw new Error(`snarkjs has another template for ${scheme} than is known: ${from}`);
    // As a function, because a replacement text could hold patterns.
    text = text.replace(from, () => to);
  }
  return text;
}
