/** Many PLONK proofs of one key at once: see pairing-check.ts. */
import type { PlonkProof } from "./key.js";
import { holdEach } from "./pairing-check.js";
import { pairingCheckOf } from "./verify-plonk.js";
import type { PreparedPlonkKey } from "./verify-plonk.js";

/** A proof and the public signals that it is said to prove. */
export interface PlonkClaim {
  readonly proof: PlonkProof;
  /** As `verifyPlonk` takes them. */
  readonly publicSignals: readonly bigint[];
}

/** Returns whether each proof is valid, in order. Weights are fresh for each check. */
export function verifyPlonkBatch(prepared: PreparedPlonkKey, claims: readonly PlonkClaim[]): boolean[] {
  return holdEach(
    prepared,
    claims.map(({ proof, publicSignals }) => pairingCheckOf(prepared, proof, publicSignals)),
  );
}
