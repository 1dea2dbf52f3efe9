/**
 * Many PLONK proofs of one key at once, by a random linear combination: with weights w_i the sums of all proofs are
 * added up, w_i times each, and two Miller loops check them together. A wrong proof passes with probability 2^-128 (M.
 * Bellare, J. Garay, T. Rabin, "Fast batch verification for modular exponentiation and digital signatures", EUROCRYPT
 * 1998: the small exponents test). When the whole is wrong, halves are tried, down to single proofs.
 */
import { randomBytes } from "node:crypto";
import { readBigIntLE } from "../field/bytes.js";
import type { PlonkProof } from "./key.js";
import { holds, pairingCheckOf } from "./verify-plonk.js";
import type { PairingCheck, PreparedPlonkKey } from "./verify-plonk.js";

/** A proof and the public signals that it is said to prove. */
export interface PlonkClaim {
  readonly proof: PlonkProof;
  /** As `verifyPlonk` takes them. */
  readonly publicSignals: readonly bigint[];
}

interface Indexed {
  readonly index: number;
  readonly check: PairingCheck;
}

const WEIGHT_BYTES = 16;

/** Returns whether each proof is valid, in order. Weights are fresh for each check. */
export function verifyPlonkBatch(prepared: PreparedPlonkKey, claims: readonly PlonkClaim[]): boolean[] {
  const results = claims.map(() => false);
  const candidates = claims.flatMap(({ proof, publicSignals }, index) => {
    const check = pairingCheckOf(prepared, proof, publicSignals);
    return check === undefined ? [] : [{ index, check }];
  });
  markValid(prepared, candidates, results);
  return results;
}

/** Sets the results of valid proofs; returns whether all are valid. */
function markValid(
  prepared: PreparedPlonkKey,
  items: readonly Indexed[],
  results: boolean[],
  options: { readonly isKnownBad?: boolean } = {},
): boolean {
  const [first, ...others] = items;
  if (first === undefined) return true;
  if (options.isKnownBad !== true || others.length === 0) {
    const areValid = holds(prepared, others.length === 0 ? first.check : weighted(items));
    for (const { index } of items) results[index] = areValid;
    if (areValid || others.length === 0) return areValid;
  }
  const middle = Math.ceil(items.length / 2);
  const areFirstValid = markValid(prepared, items.slice(0, middle), results);
  markValid(prepared, items.slice(middle), results, { isKnownBad: areFirstValid });
  return false;
}

function weighted(items: readonly Indexed[]): PairingCheck {
  const bytes = randomBytes(WEIGHT_BYTES * items.length);
  const scale = (side: keyof PairingCheck): PairingCheck[keyof PairingCheck] =>
    items.flatMap(({ check }, i) => {
      // One more than the random number: a weight of zero would leave the proof unchecked.
      const weight = 1n + readBigIntLE(bytes, i * WEIGHT_BYTES, WEIGHT_BYTES);
      return check[side].map(({ point, scalar }) => ({ point, scalar: scalar * weight }));
    });
  return { left: scale("left"), right: scale("right") };
}
