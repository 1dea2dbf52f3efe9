/**
 * Arithmetic in prime fields and in their quadratic extension over i with i^2 = -1, on bigints: for encodings, keys,
 * constants and the few scalars of a setup. It is neither constant-time nor fast; bulk work belongs to the kernels.
 * Inputs need not be canonical unless said otherwise, results are.
 */

/** An element c0 + c1*i of the quadratic extension. */
export interface Fq2 {
  readonly c0: bigint;
  readonly c1: bigint;
}

/** Returns the canonical representative in [0, modulus). */
export function reduce(value: bigint, modulus: bigint): bigint {
  const remainder = value % modulus;
  return remainder < 0n ? remainder + modulus : remainder;
}

/** Returns base^exponent mod modulus for a non-negative exponent. */
export function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n;
  let square = reduce(base, modulus);
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = (result * square) % modulus;
    square = (square * square) % modulus;
  }
  return result;
}

/**
 * Returns the inverse by the extended Euclidean algorithm.
 * @throws RangeError for zero and for a value that shares a factor with the modulus: they have none.
 */
export function inverse(value: bigint, modulus: bigint): bigint {
  let [low, high] = [reduce(value, modulus), modulus];
  let [lowFactor, highFactor] = [1n, 0n];
  while (low > 1n) {
    const quotient = high / low;
    [low, high] = [high - quotient * low, low];
    [lowFactor, highFactor] = [highFactor - quotient * lowFactor, lowFactor];
  }
  if (low === 0n) throw new RangeError("zero has no inverse");
  return reduce(lowFactor, modulus);
}

/** value^((q - 3) / 4): of a square the inverse of a root. Kernels compute it faster than `power`. */
export type RootPower = (value: bigint) => bigint;

/**
 * Returns a square root of a canonical value, or undefined when there is none, for a modulus that is 3 mod 4, as the
 * base fields of both curves are.
 */
export function squareRoot(
  value: bigint,
  modulus: bigint,
  rootPower: RootPower = plainRootPower(modulus),
): bigint | undefined {
  const root = (value * rootPower(value)) % modulus;
  return (root * root) % modulus === value ? root : undefined;
}

function plainRootPower(modulus: bigint): RootPower {
  return (value) => power(value, (modulus - 3n) / 4n, modulus);
}

/** Returns the product of two elements of the extension. */
export function multiplyFq2(a: Fq2, b: Fq2, q: bigint): Fq2 {
  return { c0: reduce(a.c0 * b.c0 - a.c1 * b.c1, q), c1: reduce(a.c0 * b.c1 + a.c1 * b.c0, q) };
}

/** Returns the sum of two elements of the extension. */
export function addFq2(a: Fq2, b: Fq2, q: bigint): Fq2 {
  return { c0: reduce(a.c0 + b.c0, q), c1: reduce(a.c1 + b.c1, q) };
}

/** Returns -a. */
export function negateFq2(a: Fq2, q: bigint): Fq2 {
  return { c0: reduce(-a.c0, q), c1: reduce(-a.c1, q) };
}

/** Tells whether two elements, with canonical coefficients, are equal. */
export function equalFq2(a: Fq2, b: Fq2): boolean {
  return a.c0 === b.c0 && a.c1 === b.c1;
}

/** Returns base^exponent in the extension, for a non-negative exponent. */
export function powerFq2(base: Fq2, exponent: bigint, q: bigint): Fq2 {
  let result: Fq2 = { c0: 1n, c1: 0n };
  let square = base;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = multiplyFq2(result, square, q);
    square = multiplyFq2(square, square, q);
  }
  return result;
}

/** Returns the norm c0^2 + c1^2. */
export function normFq2(a: Fq2, q: bigint): bigint {
  return reduce(a.c0 * a.c0 + a.c1 * a.c1, q);
}

/**
 * Returns (c0 + normRoot) / 2: of the two candidates for the square of a root's real part the one that `squareRootFq2`
 * tries.
 */
export function realPartSquared(a: Fq2, normRoot: bigint, q: bigint): bigint {
  return ((a.c0 + normRoot) * ((q + 1n) / 2n)) % q;
}

/**
 * Returns a square root in the extension, or undefined when there is none, by the norm ("complex method"): with n =
 * sqrt(c0^2 + c1^2), x = sqrt((c0 + n) / 2) and y = c1 / 2x. The product of (c0 + n) / 2 and (c0 - n) / 2 is -(c1 /
 * 2)^2, and -1 is no square: so when the first is none, it is minus the square of y, and one power serves for both.
 */
export function squareRootFq2(a: Fq2, q: bigint, rootPower: RootPower = plainRootPower(q)): Fq2 | undefined {
  if (a.c1 === 0n) {
    const real = squareRoot(a.c0, q, rootPower);
    if (real !== undefined) return { c0: real, c1: 0n };
    const imaginary = squareRoot(reduce(-a.c0, q), q, rootPower);
    return imaginary === undefined ? undefined : { c0: 0n, c1: imaginary };
  }
  const norm = squareRoot(normFq2(a, q), q, rootPower);
  if (norm === undefined) return undefined;
  const square = realPartSquared(a, norm, q);
  const inverse = rootPower(square);
  const part = (square * inverse) % q;
  const other = (((a.c1 * inverse) % q) * ((q + 1n) / 2n)) % q;
  const root = (part * part) % q === square ? { c0: part, c1: other } : { c0: reduce(-other, q), c1: part };
  return equalFq2(multiplyFq2(root, root, q), a) ? root : undefined;
}
