/** Roots of quadratic polynomials over a prime field, for constraints with one unknown. */
import { inverse, power, reduce } from "../field/prime-field.js";

/** x2 * X^2 + x1 * X + x0. */
export interface Polynomial {
  readonly x2: bigint;
  readonly x1: bigint;
  readonly x0: bigint;
}

/**
 * Returns the distinct roots of a polynomial that is not zero; none when it has no root in the field.
 * @param prime an odd prime
 */
export function rootsOf({ x2, x1, x0 }: Polynomial, prime: bigint): bigint[] {
  if (x2 === 0n) return x1 === 0n ? [] : [reduce(-x0 * inverse(x1, prime), prime)];
  if (x0 === 0n) {
    const other = x2 === 1n ? reduce(-x1, prime) : reduce(-x1 * inverse(x2, prime), prime);
    return other === 0n ? [0n] : [0n, other];
  }
  const half = inverse(2n * x2, prime);
  const root = squareRootIn(reduce(x1 * x1 - 4n * x2 * x0, prime), prime);
  if (root === undefined) return [];
  const roots = [reduce((root - x1) * half, prime), reduce((-root - x1) * half, prime)];
  return root === 0n ? roots.slice(0, 1) : roots;
}

/** Returns a square root modulo any odd prime (Tonelli and Shanks); undefined when there is none. */
export function squareRootIn(value: bigint, prime: bigint): bigint | undefined {
  if (value === 0n) return 0n;
  if (power(value, (prime - 1n) / 2n, prime) !== 1n) return undefined;
  const { odd, twos, generator } = factorsOf(prime);
  let root = power(value, (odd + 1n) / 2n, prime);
  let rest = power(value, odd, prime);
  let step = generator;
  let left = twos;
  while (rest !== 1n) {
    let order = 0;
    for (let square = rest; square !== 1n; square = (square * square) % prime) order += 1;
    const factor = power(step, 1n << BigInt(left - order - 1), prime);
    step = (factor * factor) % prime;
    left = order;
    root = (root * factor) % prime;
    rest = (rest * step) % prime;
  }
  return root;
}

interface PrimeFactors {
  /** prime - 1 = odd * 2^twos. */
  readonly odd: bigint;
  readonly twos: number;
  /** Of the elements whose order is a power of two. */
  readonly generator: bigint;
}

function factorsOf(prime: bigint): PrimeFactors {
  let odd = prime - 1n;
  let twos = 0;
  for (; odd % 2n === 0n; odd /= 2n) twos += 1;
  let nonSquare = 2n;
  while (power(nonSquare, (prime - 1n) / 2n, prime) === 1n) nonSquare += 1n;
  return { odd, twos, generator: power(nonSquare, odd, prime) };
}
