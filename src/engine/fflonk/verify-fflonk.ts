/**
 * FFLONK verification: A. Gabizon, Z. Williamson (eprint 2021/1167), section 7, with the transcript of snarkjs. One
 * check costs five products in G1 and two Miller loops with one final exponentiation.
 *
 * It is stricter than snarkjs' own: points at infinity are refused, and the inverse that a proof carries for contracts
 * must be right, so that what is valid here is valid there and a proof has one form.
 */
import { BN254 } from "../curves/bn254.js";
import { isOnCurveG1 } from "../curves/points.js";
import type { PairingKernels } from "../curves/curve-kernels.js";
import { rootOfUnity } from "../curves/curve-parameters.js";
import { inverse, reduce } from "../field/prime-field.js";
import { COLUMN_FACTORS, DOMAIN_POWER_MIN } from "../plonk/key.js";
import { lagrangeValues } from "../plonk/lagrange.js";
import { holdEach, holds, prepareSetupPairing } from "../plonk/pairing-check.js";
import type { PairingCheck, SetupPairing } from "../plonk/pairing-check.js";
import { CIRCUIT_POLYNOMIALS, EVALUATIONS } from "./fflonk-values.js";
import type { FflonkProof, FflonkVerifyingKey } from "./fflonk-values.js";
import { denominatorProduct, joiningFactors, openingPoints } from "./opening.js";
import type { OpeningPoints } from "./opening.js";
import { alphaOf, permutationChallenges, xiSeedOf, yOf } from "./fflonk-transcript.js";
import type { PermutationChallenges } from "./fflonk-transcript.js";

/** A verifying key with its line functions computed. Usable only on the thread that made it. */
export interface PreparedFflonkKey extends SetupPairing {
  readonly key: FflonkVerifyingKey;
}

/** A proof and the public signals that it is said to prove. */
export interface FflonkClaim {
  readonly proof: FflonkProof;
  /** As `verifyFflonk` takes them. */
  readonly publicSignals: readonly bigint[];
}

/**
 * Checks a verifying key's points and prepares it.
 * @throws RangeError when key or kernels are for another curve than BN254, a point is off its curve or outside its
 *   subgroup, or a number is out of range
 */
export function prepareFflonkKey(kernels: PairingKernels, key: FflonkVerifyingKey): PreparedFflonkKey {
  const { curve } = kernels;
  // Verification computes over BN254's fields, and its G1 has no proper subgroups.
  if ([curve.name, key.curve].some((name) => name !== BN254.name))
    throw new RangeError("the verifying key is for another curve");
  if (!isOnCurveG1(key.c0, curve)) throw new RangeError("the verifying key's commitment is not on the curve");
  if (
    key.publicCount > 2 ** key.domainPower ||
    key.domainPower > curve.twoAdicity ||
    key.domainPower < DOMAIN_POWER_MIN
  )
    throw new RangeError("the verifying key's domain does not fit its public signals or the field");
  return { key, ...prepareSetupPairing(kernels, key.tauG2) };
}

/**
 * Returns whether the proof shows knowledge of a witness with these public signals. A malformed proof or a wrong number
 * of signals gives false, never an exception.
 * @param publicSignals outputs, then public inputs, exactly `key.publicCount` of them, each in [0, r)
 */
export function verifyFflonk(
  prepared: PreparedFflonkKey,
  proof: FflonkProof,
  publicSignals: readonly bigint[],
): boolean {
  const check = fflonkCheckOf(prepared, proof, publicSignals);
  return check !== undefined && holds(prepared, check);
}

/** Returns whether each proof of one key is valid, in order: see plonk/pairing-check.ts. */
export function verifyFflonkBatch(prepared: PreparedFflonkKey, claims: readonly FflonkClaim[]): boolean[] {
  return holdEach(
    prepared,
    claims.map(({ proof, publicSignals }) => fflonkCheckOf(prepared, proof, publicSignals)),
  );
}

/** Returns the sums of a proof; undefined for one that is malformed, or whose inverse is wrong, and so invalid. */
function fflonkCheckOf(
  prepared: PreparedFflonkKey,
  proof: FflonkProof,
  publicSignals: readonly bigint[],
): PairingCheck | undefined {
  const { key, kernels } = prepared;
  const { curve } = kernels;
  if (!isWellFormed(prepared, proof, publicSignals)) return undefined;
  const challenges = permutationChallenges(key.c0, publicSignals, proof.c1);
  const xiSeed = xiSeedOf(challenges.gamma, proof.c2);
  const alpha = alphaOf(xiSeed, proof.evaluations);
  const points = openingPoints(key.domainPower, { xiSeed, y: yOf(alpha, proof.w1) });
  // Where a denominator is 0 the product is, and no inverse fits; that happens to no honest prover.
  if ((denominatorProduct(key, points) * proof.inverse) % curve.r !== 1n) return undefined;
  const factors = joiningFactors(points, alpha);
  const [r0, r1, r2] = remaindersAtY({ key, proof, publicSignals, challenges, points });
  return {
    left: [{ point: proof.w2, scalar: 1n }],
    right: [
      { point: key.c0, scalar: 1n },
      { point: proof.c1, scalar: factors.c1 },
      { point: proof.c2, scalar: factors.c2 },
      { point: curve.generatorG1, scalar: -(r0 + factors.c1 * r1 + factors.c2 * r2) },
      { point: proof.w1, scalar: -points.zeros0 },
      { point: proof.w2, scalar: points.y },
    ],
  };
}

function isWellFormed(
  { key, kernels: { curve } }: PreparedFflonkKey,
  proof: FflonkProof,
  publicSignals: readonly bigint[],
): boolean {
  const { c1, c2, w1, w2, evaluations } = proof;
  const values = [...publicSignals, ...EVALUATIONS.map((name) => evaluations[name]), proof.inverse];
  return (
    proof.curve === curve.name &&
    publicSignals.length === key.publicCount &&
    values.every((value) => value >= 0n && value < curve.r) &&
    [c1, c2, w1, w2].every((point) => isOnCurveG1(point, curve))
  );
}

const { r } = BN254;

interface Opened {
  readonly key: FflonkVerifyingKey;
  readonly proof: FflonkProof;
  readonly publicSignals: readonly bigint[];
  readonly challenges: PermutationChallenges;
  readonly points: OpeningPoints;
}

/** The remainders of C0, C1 and C2 at y: what the proof says of them, with the quotients that must follow from it. */
function remaindersAtY(opened: Opened): [bigint, bigint, bigint] {
  const { proof, points } = opened;
  const { evaluations: values } = proof;
  const { y } = points;
  const { t0, t1, t2 } = quotientsAtXi(opened);
  const atXi = valueAt([values.z, t1, t2], y);
  const atXiOmega = valueAt([values.zOmega, values.t1Omega, values.t2Omega], y);
  const joined = atXi * points.zeros2AtXiOmega - atXiOmega * points.zeros2AtXi;
  return [
    valueAt(
      CIRCUIT_POLYNOMIALS.map((name) => values[name]),
      y,
    ),
    valueAt([values.a, values.b, values.c, t0], y),
    reduce(joined * inverse(points.xi - points.xiOmega, r), r),
  ];
}

/** What T0, T1 and T2 must be at xi for the gates and the permutation to hold there. */
function quotientsAtXi({ key, proof, publicSignals, challenges, points }: Opened): {
  readonly t0: bigint;
  readonly t1: bigint;
  readonly t2: bigint;
} {
  const { l, r: right, m, o, k, s1, s2, s3, a, b, c, z, zOmega } = proof.evaluations;
  const { beta, gamma } = challenges;
  const { xi, vanishing } = points;
  const size = 2n ** BigInt(key.domainPower);
  const root = rootOfUnity(BN254, key.domainPower);
  const lagrange = lagrangeValues({ xi, xiToN: vanishing + 1n, root, size, order: r }, Math.max(1, key.publicCount));
  const publicValue = publicSignals.reduce((sum, signal, i) => sum - signal * (lagrange[i] ?? 0n), 0n);
  const inverted = inverse(vanishing, r);
  const { k1, k2 } = COLUMN_FACTORS;
  const identity = (a + beta * xi + gamma) * (b + beta * k1 * xi + gamma) * (c + beta * k2 * xi + gamma) * z;
  const permuted = (a + beta * s1 + gamma) * (b + beta * s2 + gamma) * (c + beta * s3 + gamma) * zOmega;
  return {
    t0: reduce((l * a + right * b + m * a * b + o * c + k + publicValue) * inverted, r),
    t1: reduce((z - 1n) * (lagrange[0] ?? 0n) * inverted, r),
    t2: reduce((identity - permuted) * inverted, r),
  };
}

/** Returns the value of a polynomial, lowest coefficient first. */
function valueAt(coefficients: readonly bigint[], point: bigint): bigint {
  return coefficients.reduceRight((value, coefficient) => (value * point + coefficient) % r, 0n);
}
