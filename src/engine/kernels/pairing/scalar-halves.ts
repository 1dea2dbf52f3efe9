/**
 * Splits a scalar k into two of half its length with k = k1 + k2 lambda modulo the order: R. Gallant, R. Lambert, S.
 * Vanstone, "Faster point multiplication on elliptic curves with efficient endomorphisms" (CRYPTO 2001). A scalar that
 * was made as such a sum of two short numbers is split into exactly these.
 */

export type ScalarHalves = (scalar: bigint) => readonly [bigint, bigint];

/**
 * Returns the function that splits scalars: it rounds against a short basis of the pairs (a, b) with a + b lambda = 0
 * modulo the order, which the Euclidean algorithm finds.
 */
export function scalarHalves(order: bigint, lambda: bigint): ScalarHalves {
  const [[a1, b1], [a2, b2]] = shortBasis(order, lambda);
  const determinant = a1 * b2 - a2 * b1;
  return (scalar) => {
    const c1 = roundedQuotient(b2 * scalar, determinant);
    const c2 = roundedQuotient(-b1 * scalar, determinant);
    return [scalar - c1 * a1 - c2 * a2, -c1 * b1 - c2 * b2];
  };
}

/** Returns a shortest pair (a, b) other than zeros with a + b lambda = 0 modulo the order. */
export function shortZero(order: bigint, lambda: bigint): readonly [bigint, bigint] {
  return shortBasis(order, lambda)[0];
}

type Pair = readonly [bigint, bigint];

/**
 * Remainders r_i = s_i order + t_i lambda: (r_i, -t_i) are such pairs; those around the square root of the order are
 * short.
 */
function shortBasis(order: bigint, lambda: bigint): readonly [Pair, Pair] {
  let [r0, r1, t0, t1] = [order, lambda, 0n, 1n];
  while (r1 * r1 >= order) {
    const quotient = r0 / r1;
    [r0, r1, t0, t1] = [r1, r0 - quotient * r1, t1, t0 - quotient * t1];
  }
  const quotient = r0 / r1;
  const next: Pair = [r0 - quotient * r1, -(t0 - quotient * t1)];
  const before: Pair = [r0, -t0];
  return [[r1, -t1], norm(before) < norm(next) ? before : next];
}

function norm([a, b]: Pair): bigint {
  return a * a + b * b;
}

/** Nearest integer, for either sign. */
function roundedQuotient(numerator: bigint, denominator: bigint): bigint {
  const [n, d] = denominator < 0n ? [-numerator, -denominator] : [numerator, denominator];
  const doubled = 2n * n + d;
  const quotient = doubled / (2n * d);
  return doubled < 0n && doubled % (2n * d) !== 0n ? quotient - 1n : quotient;
}
