/** The spellings of curves that the API takes. */

/** Other names of curves, in lower case; the code uses one name. */
export const CURVE_ALIASES: Readonly<Record<string, string>> = {
  bn128: "BN254",
  alt_bn128: "BN254",
  bls12381: "BLS12_381",
  "bls12-381": "BLS12_381",
};

/**
 * Returns the curve's name for any of its spellings; an unknown name as it is.
 * @param known the names that the code uses
 */
export function canonicalCurve(text: string, known: readonly string[]): string {
  const lower = text.trim().toLowerCase();
  return CURVE_ALIASES[lower] ?? known.find((curve) => curve.toLowerCase() === lower) ?? text.trim();
}
