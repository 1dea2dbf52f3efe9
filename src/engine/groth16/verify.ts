/**
 * Groth16 verification (Groth 2016, eprint 2016/260, section 3.2): e(A, B) = e(alpha, beta) e(IC, gamma) e(C, delta).
 * Whatever is computed from the key alone is computed once, so that a check costs three Miller loops and one final
 * exponentiation.
 */
import type { PairingKernels, PairingTerm, PairingValue, PreparedG2 } from "../curves/curve-kernels.js";
import { isOnCurveG1, isOnTwist, negateG1 } from "../curves/points.js";
import type { G1Point } from "../curves/points.js";
import type { Groth16Proof, Groth16VerifyingKey } from "./proof.js";

/** A proof and the public signals that it is said to prove. */
export interface ProofClaim {
  readonly proof: Groth16Proof;
  /** Outputs, then public inputs. */
  readonly publicSignals: readonly bigint[];
}

/**
 * A verifying key with its pairing and line functions computed; about 60 KiB. Usable only on the thread that made it.
 */
export interface PreparedVerifyingKey {
  readonly key: Groth16VerifyingKey;
  readonly kernels: PairingKernels;
  readonly alphaBeta: PairingValue;
  readonly beta: PreparedG2;
  readonly gamma: PreparedG2;
  readonly delta: PreparedG2;
}

/**
 * Checks a verifying key's points and prepares it. About 10 ms.
 * @param kernels from `loadPairing`
 * @throws RangeError when a point is off its curve or outside its subgroup, or IC does not fit the count of public
 *   signals
 * @example const prepared = prepareWith(await loadPairing("wasm"), verifyingKey);
 */
export function prepareWith(kernels: PairingKernels, key: Groth16VerifyingKey): PreparedVerifyingKey {
  checkKey(kernels, key);
  return {
    key,
    kernels,
    alphaBeta: kernels.pairingProduct([{ g1: key.alphaG1, g2: key.betaG2 }]),
    beta: kernels.prepareG2(key.betaG2),
    gamma: kernels.prepareG2(key.gammaG2),
    delta: kernels.prepareG2(key.deltaG2),
  };
}

/**
 * Returns whether the proof shows knowledge of a witness with these public signals. A malformed proof or a wrong number
 * of signals gives false, never an exception. About 1 ms on the kernels, 5 ms on the reference backend, and 60
 * microseconds for each public signal.
 * @param publicSignals outputs, then public inputs, exactly `key.publicCount` of them, each in [0, r)
 */
export function verifyGroth16(
  prepared: PreparedVerifyingKey,
  proof: Groth16Proof,
  publicSignals: readonly bigint[],
): boolean {
  if (areInGroups(prepared, [{ proof, publicSignals }])[0] !== true) return false;
  const { key, kernels } = prepared;
  const publicPart = kernels.combineG1(
    key.ic.map((point, i) => ({ point, scalar: i === 0 ? 1n : (publicSignals[i - 1] ?? 0n) })),
  );
  const terms = termsOf(prepared, [{ g1: proof.a, g2: proof.b }], { c: proof.c, publicPart });
  return kernels.equalPairingValues(kernels.pairingProduct(terms), prepared.alphaBeta);
}

/**
 * Checks of each claim all that a pairing relies on: counts, ranges, curves and subgroups. The tests of the subgroups
 * cost the most, and less for many proofs together.
 */
export function areInGroups(prepared: PreparedVerifyingKey, claims: readonly ProofClaim[]): boolean[] {
  const { kernels } = prepared;
  const onCurves = [...claims.keys()].filter((i) => isOnCurves(prepared, claims[i]));
  const proofs = onCurves.flatMap((i) => claims[i]?.proof ?? []);
  const areInG1 = kernels.areInSubgroupG1(proofs.flatMap(({ a, c }) => [a, c]));
  const areInG2 = kernels.areInSubgroupG2(proofs.map(({ b }) => b));
  const results = claims.map(() => false);
  for (const [i, index] of onCurves.entries())
    results[index] = areInG2[i] === true && areInG1[2 * i] === true && areInG1[2 * i + 1] === true;
  return results;
}

/** Returns the terms followed by those of C and the public part, negated; infinity pairs to one and is left out. */
export function termsOf(
  { kernels, delta, gamma }: PreparedVerifyingKey,
  terms: readonly PairingTerm[],
  rest: { readonly c: G1Point | undefined; readonly publicPart: G1Point | undefined },
): PairingTerm[] {
  const { curve } = kernels;
  return [
    ...terms,
    ...(rest.c === undefined ? [] : [{ g1: negateG1(rest.c, curve), g2: delta }]),
    ...(rest.publicPart === undefined ? [] : [{ g1: negateG1(rest.publicPart, curve), g2: gamma }]),
  ];
}

function isOnCurves({ key, kernels }: PreparedVerifyingKey, claim: ProofClaim | undefined): boolean {
  if (claim === undefined) return false;
  const { proof, publicSignals } = claim;
  const { curve } = kernels;
  if (publicSignals.length !== key.publicCount || key.ic.length !== key.publicCount + 1) return false;
  if (!publicSignals.every((signal) => signal >= 0n && signal < curve.r)) return false;
  return isOnCurveG1(proof.a, curve) && isOnCurveG1(proof.c, curve) && isOnTwist(proof.b, curve);
}

function checkKey(kernels: PairingKernels, key: Groth16VerifyingKey): void {
  const { curve } = kernels;
  if (key.curve !== curve.name) throw new RangeError("the verifying key is for another curve");
  if (key.ic.length !== key.publicCount + 1)
    throw new RangeError("the verifying key's IC does not fit its number of public signals");
  if (!isOnCurveG1(key.alphaG1, curve)) throw new RangeError("alpha of the verifying key is not on the curve");
  if (!key.ic.every((point) => point === undefined || isOnCurveG1(point, curve)))
    throw new RangeError("an IC point of the verifying key is not on the curve");
  const points = [key.alphaG1, ...key.ic].filter((point) => point !== undefined);
  if (kernels.areInSubgroupG1(points).includes(false))
    throw new RangeError("a point of the verifying key is not in the subgroup G1");
  for (const [name, point] of [
    ["beta", key.betaG2],
    ["gamma", key.gammaG2],
    ["delta", key.deltaG2],
  ] as const) {
    if (!isOnTwist(point, curve) || !kernels.isInSubgroupG2(point))
      throw new RangeError(`${name} of the verifying key is not in G2`);
  }
}
