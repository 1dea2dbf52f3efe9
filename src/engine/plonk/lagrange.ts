/** Values of Lagrange polynomials. */
import { inverse, reduce } from "../field/prime-field.js";

/** Returns L_i(xi) = root^i (xi^n - 1) / (n (xi - root^i)) for the first `count` of them, with one inversion. */
export function lagrangeValues(
  at: {
    readonly xi: bigint;
    readonly xiToN: bigint;
    readonly root: bigint;
    readonly size: bigint;
    readonly order: bigint;
  },
  count: number,
): bigint[] {
  const { order } = at;
  const powers = [1n];
  for (let i = 1; i < count; i += 1) powers.push(((powers[i - 1] ?? 0n) * at.root) % order);
  const denominators = powers.map((each) => reduce(at.size * (at.xi - each), order));
  const products = [1n];
  for (const [i, each] of denominators.entries()) products.push(((products[i] ?? 0n) * each) % order);
  let rest = inverse(products[count] ?? 0n, order);
  const values: bigint[] = Array.from({ length: count }, () => 0n);
  for (let i = count - 1; i >= 0; i -= 1) {
    const inverted = ((products[i] ?? 0n) * rest) % order;
    values[i] = ((((powers[i] ?? 0n) * (at.xiToN - 1n)) % order) * inverted) % order;
    rest = (rest * (denominators[i] ?? 0n)) % order;
  }
  return values.map((value) => reduce(value, order));
}
