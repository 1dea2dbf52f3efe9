/**
 * Checks proofs offline, in Node and in browsers: the verifiers on @noble/curves that the server asks for a second
 * opinion. Asks no server; takes 20 to 200 ms.
 */
import { verifyOnNoble } from "../engine/assurance/verify-on-noble.js";
import { PROOF_SYSTEMS, type ProofSystemName } from "../engine/proof-systems/names.js";
import type { SnarkjsProof } from "../engine/protocol.js";

/** A proof and what it is of. */
export interface ProofClaim {
  /** `verifying_key.json` of the prover, parsed: take it from a source that you trust, once. */
  readonly verifyingKey: unknown;
  /** The proof object of snarkjs: `snarkjs.proof` of what prove answers with `format: "snarkjs"`. */
  readonly proof: unknown;
  /** Decimal, outputs first. */
  readonly publicSignals: readonly string[];
}

/** Curves as keys name them. */
const CURVES: Readonly<Record<string, string>> = {
  bn128: "BN254",
  bn254: "BN254",
  bls12381: "BLS12_381",
  "bls12-381": "BLS12_381",
};

/**
 * Returns whether a Groth16, PLONK or FFLONK proof is valid for the public signals; one that is malformed is not.
 * @throws TypeError for a key of another scheme or curve
 * @example
 *   const made = await proofwright.provers.prove(id, inputs, { format: "snarkjs" });
 *   const isValid = verifyProof({ verifyingKey, proof: made.snarkjs?.proof, publicSignals: made.public_signals });
 */
export function verifyProof({ verifyingKey, proof, publicSignals }: ProofClaim): boolean {
  const { protocol, curve } = (verifyingKey ?? {}) as { readonly protocol?: unknown; readonly curve?: unknown };
  const system = `${String(protocol)}/${CURVES[String(curve).toLowerCase()] ?? String(curve)}`;
  if (!isSystem(system))
    throw new TypeError(`the verifying key is of ${system}, and not of ${Object.keys(PROOF_SYSTEMS).join(", ")}`);
  if (typeof proof !== "object" || proof === null) return false;
  return verifyOnNoble(system, { verifyingKey, proof: proof as SnarkjsProof, publicSignals });
}

function isSystem(name: string): name is ProofSystemName {
  return Object.hasOwn(PROOF_SYSTEMS, name);
}
