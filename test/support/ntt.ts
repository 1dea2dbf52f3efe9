/** A transform in whole numbers, to compare with: plain recursion, nothing clever. */

/**
 * Values of the polynomial with these coefficients at root^0, root^1, ...; their number is a power of two and the
 * root's order.
 */
export function evaluateAll(coefficients: readonly bigint[], root: bigint, modulus: bigint): bigint[] {
  if (coefficients.length === 1) return [...coefficients];
  const half = coefficients.length / 2;
  const square = (root * root) % modulus;
  const even = evaluateAll(
    coefficients.filter((_, i) => i % 2 === 0),
    square,
    modulus,
  );
  const odd = evaluateAll(
    coefficients.filter((_, i) => i % 2 === 1),
    square,
    modulus,
  );
  const result = Array.from({ length: 2 * half }, () => 0n);
  let power = 1n;
  for (let i = 0; i < half; i += 1) {
    const term = (power * odd[i]!) % modulus;
    result[i] = (even[i]! + term) % modulus;
    result[i + half] = (even[i]! - term + modulus) % modulus;
    power = (power * root) % modulus;
  }
  return result;
}

export function reversedBits(value: number, bits: number): number {
  let result = 0;
  for (let i = 0; i < bits; i += 1) result |= ((value >> i) & 1) << (bits - 1 - i);
  return result;
}
