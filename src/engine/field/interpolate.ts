/** Polynomials from their values on a domain of roots of unity, on plain integers. */
import { inverse } from "./prime-field.js";

/**
 * Replaces the values on the domain 1, root, root^2, ... by the coefficients of the polynomial that has them. About
 * 0.3 s for 2^16 values.
 * @param values 2^k of them, below the order
 * @param root a primitive root of unity of order 2^k
 */
export function interpolate(values: bigint[], root: bigint, order: bigint): void {
  const size = values.length;
  sortByReversedBits(values);
  const step = inverse(root, order);
  const powers: bigint[] = [1n];
  for (let i = 1; i < size / 2; i += 1) powers.push(((powers[i - 1] ?? 0n) * step) % order);
  for (let half = 1; half < size; half *= 2) {
    const stride = size / (2 * half);
    for (let start = 0; start < size; start += 2 * half) {
      for (let i = 0; i < half; i += 1) {
        const low = values[start + i] ?? 0n;
        const high = ((values[start + i + half] ?? 0n) * (powers[i * stride] ?? 0n)) % order;
        const sum = low + high;
        values[start + i] = sum >= order ? sum - order : sum;
        values[start + i + half] = low >= high ? low - high : low - high + order;
      }
    }
  }
  const scale = inverse(BigInt(size), order);
  for (let i = 0; i < size; i += 1) values[i] = ((values[i] ?? 0n) * scale) % order;
}

function sortByReversedBits(values: bigint[]): void {
  let reversed = 0;
  for (let i = 0; i < values.length; i += 1) {
    if (i < reversed) [values[i], values[reversed]] = [values[reversed] ?? 0n, values[i] ?? 0n];
    let bit = values.length >>> 1;
    for (; bit > 0 && (reversed & bit) !== 0; bit >>>= 1) reversed ^= bit;
    reversed |= bit;
  }
}
