/** Groth16 verification on @noble/curves: Groth 2016 (eprint 2016/260), section 3.2, from snarkjs' JSON. */
import { NobleFormatError, signalsOf, type JsonMembers, type NobleCurve } from "./noble-curve.js";

/**
 * Returns whether e(A, B) = e(alpha, beta) e(IC, gamma) e(C, delta), where IC takes the public signals.
 * @param key snarkjs' verification_key.json
 * @param proof snarkjs' proof object
 * @throws NobleFormatError for what is no proof or no key
 */
export function verifyGroth16OnNoble(
  curve: NobleCurve,
  key: JsonMembers,
  { proof, publicSignals }: { readonly proof: JsonMembers; readonly publicSignals: readonly string[] },
): boolean {
  const signals = signalsOf(curve, key, publicSignals);
  const { IC: rows } = key;
  if (!Array.isArray(rows) || rows.length !== signals.length + 1)
    throw new NobleFormatError("the key's IC does not fit the public signals");
  const publicPart = curve.sum(rows.map((row, i) => [curve.g1(row), i === 0 ? 1n : (signals[i - 1] ?? 0n)]));
  return curve.isOne([
    [curve.g1(proof.pi_a).negate(), curve.g2(proof.pi_b)],
    [curve.g1(key.vk_alpha_1), curve.g2(key.vk_beta_2)],
    [publicPart, curve.g2(key.vk_gamma_2)],
    [curve.g1(proof.pi_c), curve.g2(key.vk_delta_2)],
  ]);
}
