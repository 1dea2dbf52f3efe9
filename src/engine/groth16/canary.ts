/** The forgery that works exactly on keys whose phase 2 was never run (gamma = delta), as a test for such keys. */
import type { PairingKernels } from "../curves/curve-kernels.js";
import { negateG1 } from "../curves/points.js";
import type { Groth16Proof, Groth16VerifyingKey } from "./proof.js";

/**
 * A = alpha, B = beta, C = -(IC_0 + sum of signal_i * IC_i): e(alpha, beta) = e(alpha, beta) e(IC, gamma) e(-IC, delta)
 * when gamma equals delta. Undefined when the public part is infinity, where the form has no finite C.
 */
export function forgeCanary(
  kernels: PairingKernels,
  key: Groth16VerifyingKey,
  publicSignals: readonly bigint[],
): Groth16Proof | undefined {
  const publicPart = kernels.combineG1(
    key.ic.map((point, i) => ({ point, scalar: i === 0 ? 1n : (publicSignals[i - 1] ?? 0n) })),
  );
  if (publicPart === undefined) return undefined;
  return { curve: key.curve, a: key.alphaG1, b: key.betaG2, c: negateG1(publicPart, kernels.curve) };
}
