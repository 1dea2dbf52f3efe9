/**
 * What prover and verifier compute of an opening at xi and y. With the polynomials' values at xi, C0 leaves the
 * remainder r0(X) = sum of X^i p_i(xi) modulo X^8 - xi, C1 the same of four modulo X^4 - xi, and C2 one of six
 * coefficients modulo (X^3 - xi) (X^3 - xi w). W is the sum of the three quotients, by powers of alpha; W' shows W's
 * value at y. Eprint 2021/1167, sections 4 and 7.
 */
import { BN254 } from "../curves/bn254.js";
import { rootOfUnity } from "../curves/curve-parameters.js";
import { inverse, power, reduce } from "../field/prime-field.js";
import { xiOf } from "./fflonk-transcript.js";

/** The points of an opening, and the values there of the polynomials that vanish on the roots of xi. */
export interface OpeningPoints {
  readonly xi: bigint;
  readonly xiOmega: bigint;
  /** xi^n - 1 for the domain's size n. */
  readonly vanishing: bigint;
  readonly y: bigint;
  /** y^8 - xi, y^4 - xi, and (y^3 - xi) (y^3 - xi w) with its factors. */
  readonly zeros0: bigint;
  readonly zeros1: bigint;
  readonly zeros2: bigint;
  readonly zeros2AtXi: bigint;
  readonly zeros2AtXiOmega: bigint;
}

const { r } = BN254;

/** Returns the points that follow from two challenges. */
export function openingPoints(domainPower: number, challenges: { xiSeed: bigint; y: bigint }): OpeningPoints {
  const { y } = challenges;
  const xi = xiOf(challenges.xiSeed);
  const xiOmega = (xi * rootOfUnity(BN254, domainPower)) % r;
  const cube = power(y, 3n, r);
  const [zeros2AtXi, zeros2AtXiOmega] = [reduce(cube - xi, r), reduce(cube - xiOmega, r)];
  return {
    xi,
    xiOmega,
    vanishing: reduce(power(xi, 2n ** BigInt(domainPower), r) - 1n, r),
    y,
    zeros0: reduce(power(y, 8n, r) - xi, r),
    zeros1: reduce(power(y, 4n, r) - xi, r),
    zeros2: (zeros2AtXi * zeros2AtXiOmega) % r,
    zeros2AtXi,
    zeros2AtXiOmega,
  };
}

/**
 * Returns the product of all that snarkjs' contract divides by, whose inverse is part of a proof: the vanishing
 * polynomials, the denominators of the interpolations at the roots of xi (each a root times y minus that root, with a
 * factor that all of a kind have), and those of the domain's first Lagrange polynomials.
 */
export function denominatorProduct(
  { domainPower, publicCount }: { readonly domainPower: number; readonly publicCount: number },
  points: OpeningPoints,
): bigint {
  const { xi, xiOmega } = points;
  const distance = power(xi - xiOmega, 3n, r);
  // The product of the k roots of xi is xi, or -xi for an even k; their common factor, to the k-th power, k^k xi^(k-2).
  const interpolation0 = -(8n ** 8n) * power(xi, 7n, r) * points.zeros0;
  const interpolation1 = -(4n ** 4n) * power(xi, 3n, r) * points.zeros1;
  const interpolation2 = -(27n ** 2n) * power(xi * xiOmega, 2n, r) * distance * distance * points.zeros2;
  const product = [interpolation0, interpolation1, interpolation2].reduce(
    (all, each) => reduce(all * each, r),
    (((points.vanishing * points.zeros1) % r) * points.zeros2) % r,
  );
  const size = 2n ** BigInt(domainPower);
  const w = rootOfUnity(BN254, domainPower);
  let all = product;
  let root = 1n;
  for (let i = 0; i < Math.max(1, publicCount); i += 1) {
    all = reduce(all * size * (xi - root), r);
    root = (root * w) % r;
  }
  return all;
}

/** Factors of C1 and C2 where all three are opened at y together, that of C0 being 1. */
export function joiningFactors(points: OpeningPoints, alpha: bigint): { readonly c1: bigint; readonly c2: bigint } {
  const { zeros0, zeros1, zeros2 } = points;
  const inverted = inverse(zeros1 * zeros2, r);
  return {
    c1: reduce(alpha * zeros0 * inverted * zeros2, r),
    c2: reduce(alpha * alpha * zeros0 * inverted * zeros1, r),
  };
}
