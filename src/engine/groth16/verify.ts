/**
 * Groth16 verification (Groth 2016, eprint 2016/260, section 3.2): e(A, B) = e(alpha, beta) e(IC, gamma) e(C, delta).
 * Whatever is computed from the key alone is computed once, so that a check costs three Miller loops and one final
 * exponentiation.
 */
import { BN254 } from "../curves/bn254.js";
import type { PairingKernels, PairingTerm, PairingValue, PreparedG2 } from "../curves/curve-kernels.js";
import { isOnCurveG1, isOnTwist, negateG1 } from "../curves/points.js";
import type { G1Point } from "../curves/points.js";
import type { Groth16Proof, Groth16VerifyingKey } from "./proof.js";

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
  if (!isWellFormed(prepared, proof, publicSignals)) return false;
  const { key, kernels } = prepared;
  const publicPart = kernels.combineG1(
    key.ic.map((point, i) => ({ point, scalar: i === 0 ? 1n : (publicSignals[i - 1] ?? 0n) })),
  );
  const terms = termsOf(prepared, [{ g1: proof.a, g2: proof.b }], { c: proof.c, publicPart });
  return kernels.equalPairingValues(kernels.pairingProduct(terms), prepared.alphaBeta);
}

/** Checks everything that a pairing relies on: counts, ranges, curves and the subgroup. */
function isWellFormed(prepared: PreparedVerifyingKey, proof: Groth16Proof, publicSignals: readonly bigint[]): boolean {
  return isOnCurves(prepared, proof, publicSignals) && prepared.kernels.isInSubgroupG2(proof.b);
}

/** Checks counts, ranges and curves; the subgroup check costs the most, and less for many proofs together. */
export function isOnCurves(
  { key, kernels }: PreparedVerifyingKey,
  proof: Groth16Proof,
  publicSignals: readonly bigint[],
): boolean {
  const { curve } = kernels;
  if (publicSignals.length !== key.publicCount || key.ic.length !== key.publicCount + 1) return false;
  if (!publicSignals.every((signal) => signal >= 0n && signal < curve.r)) return false;
  return isOnCurveG1(proof.a, curve) && isOnCurveG1(proof.c, curve) && isOnTwist(proof.b, curve);
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

function checkKey(kernels: PairingKernels, key: Groth16VerifyingKey): void {
  const { curve } = kernels;
  if (curve !== BN254) throw new RangeError("the verifying key is for another curve");
  if (key.ic.length !== key.publicCount + 1)
    throw new RangeError("the verifying key's IC does not fit its number of public signals");
  if (!isOnCurveG1(key.alphaG1, curve)) throw new RangeError("alpha of the verifying key is not on the curve");
  if (!key.ic.every((point) => point === undefined || isOnCurveG1(point, curve)))
    throw new RangeError("an IC point of the verifying key is not on the curve");
  for (const [name, point] of [
    ["beta", key.betaG2],
    ["gamma", key.gammaG2],
    ["delta", key.deltaG2],
  ] as const) {
    if (!isOnTwist(point, curve) || !kernels.isInSubgroupG2(point))
      throw new RangeError(`${name} of the verifying key is not in G2`);
  }
}
