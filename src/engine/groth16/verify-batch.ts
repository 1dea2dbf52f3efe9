/**
 * Many proofs of one key at once, by a random linear combination: with weights w_i the product of e(w_i A_i, B_i) must
 * be e(sum w_i alpha, beta) e(sum w_i IC_i, gamma) e(sum w_i C_i, delta), which is n + 3 Miller loops and one final
 * exponentiation for n proofs. A wrong proof passes with probability 2^-128 (M. Bellare, J. Garay, T. Rabin, "Fast
 * batch verification for modular exponentiation and digital signatures", EUROCRYPT 1998: the small exponents test;
 * groups of prime order, B_i checked to be in G2). When the whole is wrong, halves are tried, down to single proofs, so
 * that the result names the wrong ones.
 */
import { randomBytes } from "node:crypto";
import type { G1Point } from "../curves/points.js";
import { areInGroups, termsOf, verifyGroth16 } from "./verify.js";
import type { PreparedVerifyingKey, ProofClaim } from "./verify.js";

interface Weighted {
  readonly index: number;
  readonly claim: ProofClaim;
  readonly weight: bigint;
  /** weight * A. */
  readonly a: G1Point;
}

/** Halves this small are verified one by one: two checks of two cost more than two single ones. */
const SINGLE_UP_TO = 2;
/**
 * A weight is two numbers of 64 bits, one times the endomorphism's scalar: 2^128 different weights at the price of 64
 * doublings.
 */
const WEIGHT_HALF_BYTES = 8;

/** Returns whether each proof is valid, in order. Weights are fresh for each call. */
export function verifyGroth16Batch(prepared: PreparedVerifyingKey, claims: readonly ProofClaim[]): boolean[] {
  const results = claims.map(() => false);
  const areMembers = areInGroups(prepared, claims);
  const candidates = [...claims.entries()].filter(([i]) => areMembers[i] === true);
  if (candidates.length <= SINGLE_UP_TO) {
    for (const [index, claim] of candidates) results[index] = verifyOne(prepared, claim);
    return results;
  }
  markValid(prepared, withWeights(prepared, candidates), results);
  return results;
}

/**
 * Sets the results of valid proofs; returns whether all are valid.
 * @param options.isKnownBad a check has shown that at least one proof is invalid
 */
function markValid(
  prepared: PreparedVerifyingKey,
  items: readonly Weighted[],
  results: boolean[],
  options: { readonly isKnownBad?: boolean } = {},
): boolean {
  if (items.length <= SINGLE_UP_TO) {
    for (const { index, claim } of items) results[index] = verifyOne(prepared, claim);
    return items.every(({ index }) => results[index] === true);
  }
  if (options.isKnownBad !== true && holdsTogether(prepared, items)) {
    for (const { index } of items) results[index] = true;
    return true;
  }
  const middle = Math.ceil(items.length / 2);
  const areFirstValid = markValid(prepared, items.slice(0, middle), results);
  markValid(prepared, items.slice(middle), results, { isKnownBad: areFirstValid });
  return false;
}

/**
 * Whether the product over all items is e(alpha, beta)^(sum w_i): compared as one e(alpha, beta), with the rest of the
 * power on the left.
 */
function holdsTogether(prepared: PreparedVerifyingKey, items: readonly Weighted[]): boolean {
  const { key, kernels, beta, alphaBeta } = prepared;
  const { r } = kernels.curve;
  const weights = items.reduce((sum, { weight }) => sum + weight, 0n) % r;
  const scalars = [
    weights,
    ...Array.from(
      { length: key.publicCount },
      (_, j) => items.reduce((sum, { weight, claim }) => sum + weight * (claim.publicSignals[j] ?? 0n), 0n) % r,
    ),
  ];
  const publicPart = kernels.combineG1(key.ic.map((point, j) => ({ point, scalar: scalars[j] ?? 0n })));
  const c = kernels.combineG1(items.map(({ claim, weight }) => ({ point: claim.proof.c, scalar: weight })));
  const alpha = kernels.combineG1([{ point: key.alphaG1, scalar: (r + 1n - weights) % r }]);
  const terms = termsOf(
    prepared,
    items.map(({ a, claim }) => ({ g1: a, g2: claim.proof.b })),
    { c, publicPart },
  );
  return kernels.equalPairingValues(
    kernels.pairingProduct(alpha === undefined ? terms : [...terms, { g1: alpha, g2: beta }]),
    alphaBeta,
  );
}

function withWeights(
  { kernels }: PreparedVerifyingKey,
  entries: readonly (readonly [number, ProofClaim])[],
): Weighted[] {
  const { r, endomorphismScalar } = kernels.curve;
  const bytes = randomBytes(2 * WEIGHT_HALF_BYTES * entries.length);
  const half = (index: number): bigint => bytes.readBigUInt64LE(WEIGHT_HALF_BYTES * index);
  const weights = entries.map((_, i) => (half(2 * i) + half(2 * i + 1) * endomorphismScalar) % r);
  const points = kernels.multiplyG1(entries.map(([, { proof }], i) => ({ point: proof.a, scalar: weights[i] ?? 0n })));
  return entries.map(([index, claim], i) => {
    const [weight, a] = [weights[i], points[i]];
    // Only a weight of zero gives infinity, and would leave the proof unchecked: one of 2^128.
    if (weight === undefined || a === undefined) throw new Error("a proof without a weight");
    return { index, claim, weight, a };
  });
}

function verifyOne(prepared: PreparedVerifyingKey, { proof, publicSignals }: ProofClaim): boolean {
  return verifyGroth16(prepared, proof, publicSignals);
}
