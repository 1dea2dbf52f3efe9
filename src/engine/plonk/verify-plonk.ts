/**
 * PLONK verification: A. Gabizon, Z. Williamson, O. Ciobotaru (eprint 2019/953), section 8.3, with the transcript of
 * snarkjs. One check costs some twenty products in G1 and two Miller loops with one final exponentiation.
 */
import { isOnCurveG1 } from "../curves/points.js";
import type { PairingKernels } from "../curves/curve-kernels.js";
import { rootOfUnity } from "../curves/curve-parameters.js";
import { power, reduce } from "../field/prime-field.js";
import { lagrangeValues } from "./lagrange.js";
import { COLUMN_FACTORS, DOMAIN_POWER_MIN } from "./key.js";
import type { PlonkProof, PlonkVerifyingKey } from "./key.js";
import { holds, prepareSetupPairing } from "./pairing-check.js";
import type { PairingCheck, SetupPairing, Term } from "./pairing-check.js";
import { PlonkTranscript } from "./transcript.js";

/** A verifying key with its line functions computed. Usable only on the thread that made it. */
export interface PreparedPlonkKey extends SetupPairing {
  readonly key: PlonkVerifyingKey;
}

/** The challenges, and what follows from them and the public signals at once. */
interface Challenges {
  readonly beta: bigint;
  readonly gamma: bigint;
  readonly alpha: bigint;
  readonly xi: bigint;
  readonly v: readonly bigint[];
  readonly u: bigint;
  /** xi^n for the domain's size n. */
  readonly xiToN: bigint;
  /** The first Lagrange polynomial, and the public signals' polynomial, at xi. */
  readonly firstLagrange: bigint;
  readonly publicValue: bigint;
}

/**
 * Checks a verifying key's points and prepares it.
 * @throws RangeError when a point is off its curve or outside its subgroup, or a number is out of range
 */
export function preparePlonkKey(kernels: PairingKernels, key: PlonkVerifyingKey): PreparedPlonkKey {
  const { curve } = kernels;
  const points = [...Object.values(key.selectors), key.s1, key.s2, key.s3];
  if (key.curve !== curve.name) throw new RangeError("the verifying key is for another curve");
  if (points.some((point) => point !== undefined && !isOnCurveG1(point, curve)))
    throw new RangeError("a commitment of the verifying key is not on the curve");
  if (kernels.areInSubgroupG1(points.filter((point) => point !== undefined)).includes(false))
    throw new RangeError("a commitment of the verifying key is not in the subgroup G1");
  if (
    key.publicCount > 2 ** key.domainPower ||
    key.domainPower > curve.twoAdicity ||
    key.domainPower < DOMAIN_POWER_MIN
  )
    throw new RangeError("the verifying key's domain does not fit its public signals or the field");
  // With others two columns of the permutation might overlap, and wires could be exchanged.
  if (key.k1 !== COLUMN_FACTORS.k1 || key.k2 !== COLUMN_FACTORS.k2)
    throw new RangeError("the verifying key's columns have other factors than 2 and 3");
  return { key, ...prepareSetupPairing(kernels, key.tauG2) };
}

/**
 * Returns whether the proof shows knowledge of a witness with these public signals. A malformed proof or a wrong number
 * of signals gives false, never an exception.
 * @param publicSignals outputs, then public inputs, exactly `key.publicCount` of them, each in [0, r)
 */
export function verifyPlonk(prepared: PreparedPlonkKey, proof: PlonkProof, publicSignals: readonly bigint[]): boolean {
  const check = pairingCheckOf(prepared, proof, publicSignals);
  return check !== undefined && holds(prepared, check);
}

/** Returns the sums of a proof; undefined for one that is malformed, and so invalid. */
export function pairingCheckOf(
  prepared: PreparedPlonkKey,
  proof: PlonkProof,
  publicSignals: readonly bigint[],
): PairingCheck | undefined {
  const { key, kernels } = prepared;
  if (!isWellFormed(prepared, proof, publicSignals)) return undefined;
  const challenges = challengesOf(prepared, proof, publicSignals);
  if (challenges === undefined) return undefined;
  const { xi, u } = challenges;
  return {
    left: [
      { point: proof.wXi, scalar: 1n },
      { point: proof.wXiOmega, scalar: u },
    ],
    right: [
      { point: proof.wXi, scalar: xi },
      { point: proof.wXiOmega, scalar: u * xi * rootOfUnity(kernels.curve, key.domainPower) },
      ...linearisation(key, proof, challenges),
      ...openings(key, proof, challenges),
      { point: kernels.curve.generatorG1, scalar: -openedValue(proof, challenges) },
    ],
  };
}

function isWellFormed(
  { key, kernels }: PreparedPlonkKey,
  proof: PlonkProof,
  publicSignals: readonly bigint[],
): boolean {
  const { curve } = kernels;
  const { a, b, c, z, t1, t2, t3, wXi, wXiOmega, evaluations } = proof;
  const { s1, s2, zOmega } = evaluations;
  const points = [a, b, c, z, t1, t2, t3, wXi, wXiOmega];
  const values = [...publicSignals, evaluations.a, evaluations.b, evaluations.c, s1, s2, zOmega];
  return (
    proof.curve === curve.name &&
    publicSignals.length === key.publicCount &&
    values.every((value) => value >= 0n && value < curve.r) &&
    points.every((point) => isOnCurveG1(point, curve)) &&
    !kernels.areInSubgroupG1(points).includes(false)
  );
}

/** Returns undefined when xi falls on the domain, which happens to no honest prover: the Lagrange values end there. */
function challengesOf(
  { key, kernels: { curve } }: PreparedPlonkKey,
  proof: PlonkProof,
  publicSignals: readonly bigint[],
): Challenges | undefined {
  const transcript = new PlonkTranscript(curve);
  const { beta, gamma } = transcript.betaGamma(key, publicSignals, proof);
  const alpha = transcript.alpha({ beta, gamma }, proof.z);
  const xi = transcript.xi(alpha, proof);
  const v1 = transcript.v(xi, proof.evaluations);
  const v = [1n];
  for (let i = 1; i <= 5; i += 1) v.push(((v[i - 1] ?? 0n) * v1) % curve.r);
  const size = 2n ** BigInt(key.domainPower);
  const xiToN = power(xi, size, curve.r);
  if (xiToN === 1n) return undefined;
  const root = rootOfUnity(curve, key.domainPower);
  const lagrange = lagrangeValues({ xi, xiToN, root, size, order: curve.r }, Math.max(1, key.publicCount));
  const publicValue = publicSignals.reduce((sum, signal, i) => sum - signal * (lagrange[i] ?? 0n), 0n);
  return {
    beta,
    gamma,
    alpha,
    xi,
    v,
    u: transcript.u(proof),
    xiToN,
    firstLagrange: lagrange[0] ?? 0n,
    publicValue: reduce(publicValue, curve.r),
  };
}

/** [D] of the paper: what the linearisation polynomial commits to, without its constant, and u times z. */
function linearisation(key: PlonkVerifyingKey, proof: PlonkProof, challenges: Challenges): Term[] {
  const { a, b, c, s1, s2, zOmega } = proof.evaluations;
  const { beta, gamma, alpha, xi, u, xiToN, firstLagrange } = challenges;
  const identity = (a + beta * xi + gamma) * (b + beta * key.k1 * xi + gamma) * (c + beta * key.k2 * xi + gamma);
  const permuted = (a + beta * s1 + gamma) * (b + beta * s2 + gamma) * beta * zOmega;
  const vanishing = xiToN - 1n;
  return [
    { point: key.selectors.m, scalar: a * b },
    { point: key.selectors.l, scalar: a },
    { point: key.selectors.r, scalar: b },
    { point: key.selectors.o, scalar: c },
    { point: key.selectors.k, scalar: 1n },
    { point: proof.z, scalar: alpha * identity + alpha * alpha * firstLagrange + u },
    { point: key.s3, scalar: -alpha * permuted },
    { point: proof.t1, scalar: -vanishing },
    { point: proof.t2, scalar: -vanishing * xiToN },
    { point: proof.t3, scalar: -vanishing * xiToN * xiToN },
  ];
}

/** [F] of the paper without [D]: the polynomials that are opened beside the linearisation. */
function openings(key: PlonkVerifyingKey, proof: PlonkProof, { v }: Challenges): Term[] {
  return [proof.a, proof.b, proof.c, key.s1, key.s2].map((point, i) => ({ point, scalar: v[i + 1] ?? 0n }));
}

/** [E] of the paper as a multiple of the generator: the values that all opened polynomials must have together. */
function openedValue(proof: PlonkProof, challenges: Challenges): bigint {
  const { a, b, c, s1, s2, zOmega } = proof.evaluations;
  const { beta, gamma, alpha, v, u, firstLagrange, publicValue } = challenges;
  const constant =
    publicValue -
    firstLagrange * alpha * alpha -
    alpha * (a + beta * s1 + gamma) * (b + beta * s2 + gamma) * (c + gamma) * zOmega;
  return [a, b, c, s1, s2].reduce((sum, value, i) => sum + (v[i + 1] ?? 0n) * value, u * zOmega - constant);
}
