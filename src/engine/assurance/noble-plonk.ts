/**
 * PLONK verification on @noble/curves: A. Gabizon, Z. Williamson, O. Ciobotaru (eprint 2019/953), section 8.3, with the
 * transcript of snarkjs, from its JSON.
 */
import { publicValuesAt, signalsOf, type JsonMembers, type NobleCurve, type NobleTerm } from "./noble-curve.js";

interface PlonkValues {
  readonly a: bigint;
  readonly b: bigint;
  readonly c: bigint;
  readonly s1: bigint;
  readonly s2: bigint;
  readonly zOmega: bigint;
}

interface PlonkChallenges {
  readonly beta: bigint;
  readonly gamma: bigint;
  readonly alpha: bigint;
  readonly xi: bigint;
  readonly v: bigint;
  readonly u: bigint;
}

/**
 * Returns whether the proof is valid.
 * @param key snarkjs' verification_key.json
 * @param proof snarkjs' proof object
 * @throws NobleFormatError for what is no proof or no key
 */
export function verifyPlonkOnNoble(
  curve: NobleCurve,
  key: JsonMembers,
  { proof, publicSignals }: { readonly proof: JsonMembers; readonly publicSignals: readonly string[] },
): boolean {
  const signals = signalsOf(curve, key, publicSignals);
  const { size, root } = curve.domain(key);
  const values = valuesOf(curve, proof);
  const challenges = challengesOf(curve, key, { proof, values, signals });
  const { xi, u } = challenges;
  const { first, publicValue } = publicValuesAt(curve, xi, { size, root, signals });
  const [wXi, wXiOmega] = [curve.g1(proof.Wxi), curve.g1(proof.Wxiw)];
  const opened = openedValue(values, challenges, { first, publicValue });
  const right = curve.sum([
    [wXi, xi],
    [wXiOmega, u * xi * root],
    ...circuitTerms(curve, { key, proof, values, challenges, first, toSize: curve.power(xi, size) }),
    ...openedTerms(curve, { key, proof, v: challenges.v }),
    [curve.generatorG1, -opened],
  ]);
  const left = curve.sum([
    [wXi, 1n],
    [wXiOmega, u],
  ]);
  return curve.isOne([
    [left.negate(), curve.g2(key.X_2)],
    [right, curve.generatorG2],
  ]);
}

function valuesOf(curve: NobleCurve, proof: JsonMembers): PlonkValues {
  return {
    a: curve.scalar(proof.eval_a),
    b: curve.scalar(proof.eval_b),
    c: curve.scalar(proof.eval_c),
    s1: curve.scalar(proof.eval_s1),
    s2: curve.scalar(proof.eval_s2),
    zOmega: curve.scalar(proof.eval_zw),
  };
}

function challengesOf(
  curve: NobleCurve,
  key: JsonMembers,
  {
    proof,
    values,
    signals,
  }: { readonly proof: JsonMembers; readonly values: PlonkValues; readonly signals: readonly bigint[] },
): PlonkChallenges {
  const ofKey = ["Qm", "Ql", "Qr", "Qo", "Qc", "S1", "S2", "S3"].map((name) => curve.g1(key[name]));
  const ofProof = (...names: string[]) => names.map((name) => curve.g1(proof[name]));
  const beta = curve.challenge([...ofKey, ...signals, ...ofProof("A", "B", "C")]);
  const gamma = curve.challenge([beta]);
  const alpha = curve.challenge([beta, gamma, ...ofProof("Z")]);
  const xi = curve.challenge([alpha, ...ofProof("T1", "T2", "T3")]);
  const { a, b, c, s1, s2, zOmega } = values;
  const v = curve.challenge([xi, a, b, c, s1, s2, zOmega]);
  return { beta, gamma, alpha, xi, v, u: curve.challenge(ofProof("Wxi", "Wxiw")) };
}

/** The gates, the permutation and the quotient, opened at xi. */
function circuitTerms(
  curve: NobleCurve,
  {
    key,
    proof,
    values: { a, b, c, s1, s2, zOmega },
    challenges: { beta, gamma, alpha, xi, u },
    first,
    toSize,
  }: {
    readonly key: JsonMembers;
    readonly proof: JsonMembers;
    readonly values: PlonkValues;
    readonly challenges: PlonkChallenges;
    readonly first: bigint;
    readonly toSize: bigint;
  },
): NobleTerm[] {
  const [k1, k2] = [curve.scalar(key.k1), curve.scalar(key.k2)];
  const identity = (a + beta * xi + gamma) * (b + beta * k1 * xi + gamma) * (c + beta * k2 * xi + gamma);
  const permuted = (a + beta * s1 + gamma) * (b + beta * s2 + gamma);
  const vanishing = toSize - 1n;
  return [
    [curve.g1(key.Qm), a * b],
    [curve.g1(key.Ql), a],
    [curve.g1(key.Qr), b],
    [curve.g1(key.Qo), c],
    [curve.g1(key.Qc), 1n],
    [curve.g1(proof.Z), identity * alpha + first * alpha ** 2n + u],
    [curve.g1(key.S3), -permuted * alpha * beta * zOmega],
    [curve.g1(proof.T1), -vanishing],
    [curve.g1(proof.T2), -vanishing * toSize],
    [curve.g1(proof.T3), -vanishing * toSize ** 2n],
  ];
}

function openedTerms(
  curve: NobleCurve,
  { key, proof, v }: { readonly key: JsonMembers; readonly proof: JsonMembers; readonly v: bigint },
): NobleTerm[] {
  return [proof.A, proof.B, proof.C, key.S1, key.S2].map((point, i) => [
    curve.g1(point),
    curve.power(v, BigInt(i + 1)),
  ]);
}

/** What all polynomials that are opened at xi, and z at the next root, must be there together. */
function openedValue(
  { a, b, c, s1, s2, zOmega }: PlonkValues,
  { beta, gamma, alpha, v, u }: PlonkChallenges,
  { first, publicValue }: { readonly first: bigint; readonly publicValue: bigint },
): bigint {
  const permuted = (a + beta * s1 + gamma) * (b + beta * s2 + gamma) * (c + gamma);
  const constant = publicValue - first * alpha ** 2n - permuted * alpha * zOmega;
  return u * zOmega - constant + v * (a + v * (b + v * (c + v * (s1 + v * s2))));
}
