/**
 * The points of a universal key from outside whose reference string the server does not have: whether they are the
 * powers of one secret, which is all that can be checked of them. Nobody can tell from them who knows the secret.
 */
import { areCanonical } from "../curves/canonical-points.js";
import type { CurveKernels } from "../curves/curve-kernels.js";
import { rootOfUnity } from "../curves/curve-parameters.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { decodeG1, equalG1, equalG2 } from "../curves/points.js";
import type { G2Point } from "../curves/points.js";
import { randomNonZero, randomScalars, scalarsOf } from "../field/bytes.js";
import { inverse, power as powerOf } from "../field/prime-field.js";
import { testedKernelPairing } from "../groth16/pairing-backend.js";
import { areAllInSubgroup } from "../groth16/section-membership.js";

/** Points of a key, in the form of snarkjs' files. */
interface OwnString {
  /** tau^0, tau^1, ... in G1, more than 2^domainPower. */
  readonly powers: Uint8Array;
  readonly tauG2: G2Point;
  readonly domainPower: number;
  /** The Lagrange polynomials of the domain at tau, where the key has them. */
  readonly lagrange?: Uint8Array;
}

/** 2^-128 for a wrong point. */
const WEIGHT_BYTES = 16;

/**
 * Returns what is wrong with the points, or undefined. By a random combination each power is tau times the one before,
 * and the Lagrange points give the same commitment to 1 + g X + g^2 X^2 + ... as the powers do, for a random g.
 */
export function findStringFault(kernels: CurveKernels, string: OwnString): string | undefined {
  const { curve } = kernels;
  const { powers, tauG2, lagrange, domainPower } = string;
  for (const [name, points] of [
    ["the powers", powers],
    ["the Lagrange points", lagrange ?? new Uint8Array(0)],
  ] as const) {
    const { infinities, isOnCurve } = kernels.surveyG1(points);
    if (infinities > 0 || !isOnCurve || !areCanonical(points, curve))
      return `${name} have one that is infinity or not on the curve`;
    if (!areAllInSubgroup(testedKernelPairing(curve) ?? kernels, "G1", points))
      return `${name} have one that is not in the subgroup G1`;
  }
  if (!kernels.isInSubgroupG2(tauG2)) return "tau in G2 is not in the subgroup G2";
  if (equalG2(tauG2, curve.generatorG2)) return "the string has no contribution: its secret is 1";
  const pointBytes = 2 * curve.fqBytes;
  const first = decodeG1(powers, 0, curve);
  if (first === undefined || !equalG1(first, curve.generatorG1)) return "the first power is not the generator";
  const around = decodeG1(powers, 2 ** domainPower * pointBytes, curve);
  if (around === undefined || equalG1(around, curve.generatorG1)) return "the secret is a point of the domain";
  const weights = randomWeights(powers.length / pointBytes - 1, curve);
  const lower = kernels.msmG1(powers.subarray(0, -pointBytes), weights);
  const upper = kernels.msmG1(powers.subarray(pointBytes), weights);
  if (lower === undefined || upper === undefined) return "the powers add up to infinity";
  const areConsecutive = kernels.equalPairingValues(
    kernels.pairingProduct([{ g1: lower, g2: tauG2 }]),
    kernels.pairingProduct([{ g1: upper, g2: curve.generatorG2 }]),
  );
  if (!areConsecutive) return "the powers are not consecutive ones of one secret";
  if (lagrange === undefined || areLagrange(kernels, { powers, lagrange, domainPower })) return undefined;
  return "the Lagrange points are not those of the powers";
}

function areLagrange(
  kernels: CurveKernels,
  { powers, lagrange, domainPower }: { powers: Uint8Array; lagrange: Uint8Array; domainPower: number },
): boolean {
  const { curve } = kernels;
  const { r } = curve;
  const size = 2 ** domainPower;
  const g = randomNonZero(r);
  const root = rootOfUnity(curve, domainPower);
  const [coefficients, denominators, products] = [[1n], [] as bigint[], [1n]];
  for (let i = 0, point = g; i < size; i += 1, point = (point * root) % r) {
    if (i > 0) coefficients.push(((coefficients[i - 1] ?? 0n) * g) % r);
    denominators.push((point + r - 1n) % r);
    products.push(((products[i] ?? 0n) * (denominators[i] ?? 0n)) % r);
  }
  // The value at root^i is (g^n - 1) / (g root^i - 1); a random g is no root of unity.
  const numerator = (powerOf(g, BigInt(size), r) + r - 1n) % r;
  let rest = inverse(products[size] ?? 0n, r);
  const values: bigint[] = new Array<bigint>(size).fill(0n);
  for (let i = size - 1; i >= 0; i -= 1) {
    values[i] = (((numerator * (products[i] ?? 0n)) % r) * rest) % r;
    rest = (rest * (denominators[i] ?? 0n)) % r;
  }
  const left = kernels.msmG1(lagrange, scalarsOf(values, curve.frBytes));
  const right = kernels.msmG1(powers.subarray(0, size * 2 * curve.fqBytes), scalarsOf(coefficients, curve.frBytes));
  return left !== undefined && right !== undefined && equalG1(left, right);
}

function randomWeights(count: number, { frBytes }: CurveParameters): Uint8Array {
  return randomScalars(count, { length: frBytes, randomLength: WEIGHT_BYTES });
}
