/** Verification by code that shares nothing with the server's own verifiers but what snarkjs' JSON means. */
import type { SnarkjsProof } from "../protocol.js";
import { PROOF_SYSTEMS, type ProofSystemName } from "../proof-systems/names.js";
import { NobleCurve, NobleFormatError, type JsonMembers } from "./noble-curve.js";
import { verifyFflonkOnNoble } from "./noble-fflonk.js";
import { verifyGroth16OnNoble } from "./noble-groth16.js";
import { verifyPlonkOnNoble } from "./noble-plonk.js";

const VERIFIERS = {
  groth16: verifyGroth16OnNoble,
  plonk: verifyPlonkOnNoble,
  fflonk: verifyFflonkOnNoble,
} as const;

/**
 * Returns whether a proof is valid by @noble/curves; one that is malformed is not. Takes 20 to 100 ms.
 * @param claim.verifyingKey snarkjs' verification_key.json, parsed
 * @param claim.publicSignals decimal, outputs first
 */
export function verifyOnNoble(
  system: ProofSystemName,
  claim: {
    readonly verifyingKey: unknown;
    readonly proof: SnarkjsProof;
    readonly publicSignals: readonly string[];
  },
): boolean {
  const { scheme, curve } = PROOF_SYSTEMS[system];
  const key = claim.verifyingKey as JsonMembers;
  const proof = claim.proof as unknown as JsonMembers;
  try {
    if (key.protocol !== scheme || proof.protocol !== scheme) return false;
    return VERIFIERS[scheme](new NobleCurve(curve), key, { proof, publicSignals: claim.publicSignals });
  } catch (error) {
    if (error instanceof NobleFormatError) return false;
    throw error;
  }
}
