/**
 * Groth16 verification (Groth 2016, eprint 2016/260, section 3.2): e(A, B) = e(alpha, beta) e(IC, gamma) e(C, delta). Whatever is
 * computed from the key alone is computed once, so that a check costs three Miller loops and one final exponentiation.
 */
import { BN254 } from "../curve/curve-parameters.js";
import type { CurveKernels, PairingTerm, PairingValue, PreparedG2 } from "../curve/kernels.js";
import { isOnCurveG1, isOnTwist, negateG1 } from "../curve/points.js";
import { loadKernels } from "../curve/wasm-kernels.js";
import type { Groth16Proof, Groth16VerifyingKey } from "./proof.js";

/** A verifying key with its pairing and line functions computed; about 60 KB. Belongs to the thread that made it. */
export interface PreparedVerifyingKey {
  readonly key: Groth16VerifyingKey;
  readonly kernels: CurveKernels;
  readonly alphaBeta: PairingValue;
  readonly gamma: PreparedG2;
  readonly delta: PreparedG2;
}

/**
 * Checks a verifying key's points and prepares it. About 5 ms, plus 0.3 s for the thread's first use of the curve.
 * @throws RangeError when a point is off its curve or outside its subgroup, or IC does not fit the count of public signals.
 */
export async function prepareVerifyingKey(key: Groth16VerifyingKey): Promise<PreparedVerifyingKey> {
  return prepareWith(await loadKernels(), key);
}

/** As `prepareVerifyingKey`, on kernels that are already there. */
export function prepareWith(kernels: CurveKernels, key: Groth16VerifyingKey): PreparedVerifyingKey {
  checkKey(kernels, key);
  return {
    key, kernels,
    alphaBeta: kernels.pairingProduct([{ g1: key.alphaG1, g2: key.betaG2 }]),
    gamma: kernels.prepareG2(key.gammaG2),
    delta: kernels.prepareG2(key.deltaG2),
  };
}

/**
 * Says whether the proof shows knowledge of a witness with these public signals. A malformed proof or a wrong number of signals is
 * simply not a proof: false, never an exception. About 6 ms and 0.1 ms more per public signal.
 * @param publicSignals outputs, then public inputs, exactly `key.publicCount` of them, each in [0, r).
 */
export function verifyGroth16(prepared: PreparedVerifyingKey, proof: Groth16Proof, publicSignals: readonly bigint[]): boolean {
  const { key, kernels } = prepared;
  const { curve } = kernels;
  if (publicSignals.length !== key.publicCount || key.ic.length !== key.publicCount + 1) return false;
  if (!publicSignals.every((signal) => signal >= 0n && signal < curve.r)) return false;
  if (!isOnCurveG1(proof.a, curve) || !isOnCurveG1(proof.c, curve) || !isOnTwist(proof.b, curve) || !kernels.isInSubgroupG2(proof.b)) return false;
  const publicPart = kernels.combineG1(key.ic.map((point, i) => ({ point, scalar: i === 0 ? 1n : (publicSignals[i - 1] ?? 0n) })));
  const terms: PairingTerm[] = [{ g1: proof.a, g2: proof.b }, { g1: negateG1(proof.c, curve), g2: prepared.delta }];
  // Infinity pairs to one and is left out.
  if (publicPart !== undefined) terms.push({ g1: negateG1(publicPart, curve), g2: prepared.gamma });
  return kernels.equalPairingValues(kernels.pairingProduct(terms), prepared.alphaBeta);
}

function checkKey(kernels: CurveKernels, key: Groth16VerifyingKey): void {
  const { curve } = kernels;
  if (key.curve !== curve.name || curve !== BN254) throw new RangeError("the verifying key is for another curve");
  if (key.ic.length !== key.publicCount + 1) throw new RangeError("the verifying key's IC does not fit its number of public signals");
  if (!isOnCurveG1(key.alphaG1, curve)) throw new RangeError("alpha of the verifying key is not on the curve");
  if (!key.ic.every((point) => point === undefined || isOnCurveG1(point, curve))) throw new RangeError("an IC point of the verifying key is not on the curve");
  for (const [name, point] of [["beta", key.betaG2], ["gamma", key.gammaG2], ["delta", key.deltaG2]] as const) {
    if (!isOnTwist(point, curve) || !kernels.isInSubgroupG2(point)) throw new RangeError(`${name} of the verifying key is not in G2`);
  }
}
