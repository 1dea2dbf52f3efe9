/**
 * FFLONK verification on @noble/curves: A. Gabizon, Z. Williamson (eprint 2021/1167), section 7, with the transcript of
 * snarkjs, from its JSON. The remainders at y are interpolated from the values at the roots of xi, one by one; the
 * server's own verifier computes them from coefficients.
 */
import { NobleFormatError, publicValuesAt, signalsOf, type JsonMembers, type NobleCurve } from "./noble-curve.js";

/** Evaluations in the order of the transcript. */
const EVALUATIONS = [
  ...["ql", "qr", "qm", "qo", "qc", "s1", "s2", "s3"],
  ...["a", "b", "c", "z", "zw", "t1w", "t2w"],
] as const;
/** Those that C0 joins, in their order there. */
const CIRCUIT = ["ql", "qr", "qo", "qm", "qc", "s1", "s2", "s3"] as const;

type Values = Readonly<Record<string, bigint>>;

/** Roots at which polynomials are opened, and the polynomials' values there. */
interface Opening {
  readonly roots: readonly bigint[];
  readonly values: readonly bigint[];
}

interface Context {
  readonly curve: NobleCurve;
  readonly key: JsonMembers;
  readonly values: Values;
  readonly signals: readonly bigint[];
  readonly size: bigint;
  readonly root: bigint;
  readonly beta: bigint;
  readonly gamma: bigint;
  readonly seed: bigint;
  readonly xi: bigint;
}

/**
 * Returns whether the proof is valid, the inverse that it carries for contracts included.
 * @param key snarkjs' verification_key.json
 * @param proof snarkjs' proof object
 * @throws NobleFormatError for what is no proof or no key
 */
export function verifyFflonkOnNoble(
  curve: NobleCurve,
  key: JsonMembers,
  { proof, publicSignals }: { readonly proof: JsonMembers; readonly publicSignals: readonly string[] },
): boolean {
  const points = members(proof.polynomials);
  const evaluations = members(proof.evaluations);
  const [c0, c1, c2] = [curve.g1(key.C0), curve.g1(points.C1), curve.g1(points.C2)];
  const [w1, w2] = [curve.g1(points.W1), curve.g1(points.W2)];
  const values = Object.fromEntries(EVALUATIONS.map((name) => [name, curve.scalar(evaluations[name])]));
  const signals = signalsOf(curve, key, publicSignals);
  const beta = curve.challenge([c0, ...signals, c1]);
  const gamma = curve.challenge([beta]);
  const seed = curve.challenge([gamma, c2]);
  const alpha = curve.challenge([seed, ...EVALUATIONS.map((name) => values[name] ?? 0n)]);
  const y = curve.challenge([alpha, w1]);
  const xi = curve.power(seed, 24n);
  const context = { curve, key, values, signals, ...curve.domain(key), beta, gamma, seed, xi };
  const openings = openingsOf(context);
  const [zeros0, zeros1, zeros2] = openings.map(({ roots }) =>
    product(
      curve,
      roots.map((each) => y - each),
    ),
  );
  const [r0, r1, r2] = openings.map((opening) => interpolate(curve, opening, y));
  const factor1 = curve.reduce(alpha * defined(zeros0) * curve.inverse(defined(zeros1)));
  const factor2 = curve.reduce(alpha ** 2n * defined(zeros0) * curve.inverse(defined(zeros2)));
  const denominators = contractDenominators(context, y, openings);
  if (curve.reduce(denominators * curve.scalar(evaluations.inv)) !== 1n) return false;
  const left = curve.sum([
    [c0, 1n],
    [c1, factor1],
    [c2, factor2],
    [curve.generatorG1, -(defined(r0) + factor1 * defined(r1) + factor2 * defined(r2))],
    [w1, -defined(zeros0)],
    [w2, y],
  ]);
  return curve.isOne([
    [left, curve.generatorG2],
    [w2.negate(), curve.g2(key.X_2)],
  ]);
}

/** The openings of C0, C1 and C2 as they must be for the gates and the permutation to hold at xi. */
function openingsOf(context: Context): readonly [Opening, Opening, Opening] {
  const { curve, key, values, seed } = context;
  const { t0, t1, t2 } = quotientsAt(context);
  const rootsOf = (first: bigint, unity: unknown, number: number): bigint[] => {
    const factor = curve.scalar(unity);
    return Array.from({ length: number }, (_, i) => curve.reduce(first * curve.power(factor, BigInt(i))));
  };
  const joined = (roots: readonly bigint[], polynomials: readonly bigint[]): Opening => ({
    roots,
    values: roots.map((root) => curve.reduce(polynomials.reduceRight((sum, value) => sum * root + value, 0n))),
  });
  const h2 = curve.power(seed, 8n);
  const [{ a, b, c, z }, { zw, t1w, t2w }] = [values, values];
  const atXi = joined(rootsOf(h2, key.w3, 3), [defined(z), t1, t2]);
  const atNext = joined(rootsOf(h2 * curve.scalar(key.wr), key.w3, 3), [defined(zw), defined(t1w), defined(t2w)]);
  return [
    joined(
      rootsOf(curve.power(seed, 3n), key.w8, 8),
      CIRCUIT.map((name) => defined(values[name])),
    ),
    joined(rootsOf(curve.power(seed, 6n), key.w4, 4), [defined(a), defined(b), defined(c), t0]),
    { roots: [...atXi.roots, ...atNext.roots], values: [...atXi.values, ...atNext.values] },
  ];
}

/** T0 of the gates, T1 and T2 of the permutation, at xi. */
function quotientsAt({ curve, key, values, signals, size, root, beta, gamma, xi }: Context): {
  readonly t0: bigint;
  readonly t1: bigint;
  readonly t2: bigint;
} {
  const of = (name: string): bigint => defined(values[name]);
  const { first, publicValue } = publicValuesAt(curve, xi, { size, root, signals });
  const inverted = curve.inverse(curve.power(xi, size) - 1n);
  const [a, b, c] = [of("a"), of("b"), of("c")];
  const gates = of("ql") * a + of("qr") * b + of("qm") * a * b + of("qo") * c + of("qc") + publicValue;
  const side = (factors: readonly bigint[]): bigint =>
    product(
      curve,
      [a, b, c].map((wire, i) => wire + beta * defined(factors[i]) + gamma),
    );
  const identity = side([xi, curve.scalar(key.k1) * xi, curve.scalar(key.k2) * xi]) * of("z");
  const permuted = side([of("s1"), of("s2"), of("s3")]) * of("zw");
  return {
    t0: curve.reduce(gates * inverted),
    t1: curve.reduce((of("z") - 1n) * first * inverted),
    t2: curve.reduce((identity - permuted) * inverted),
  };
}

/** Returns the value at a point of the polynomial with these values at the roots (Lagrange). */
function interpolate(curve: NobleCurve, { roots, values }: Opening, point: bigint): bigint {
  const terms = roots.map((root, i) => {
    const others = roots.filter((_, j) => j !== i);
    const above = product(
      curve,
      others.map((other) => point - other),
    );
    const below = product(
      curve,
      others.map((other) => root - other),
    );
    return defined(values[i]) * above * curve.inverse(below);
  });
  return curve.reduce(terms.reduce((sum, term) => sum + term, 0n));
}

/** Returns the product of all that snarkjs' contract divides by, in its own steps. */
function contractDenominators(
  { curve, key, size, root, seed, xi }: Context,
  y: bigint,
  [at0, at1, at2]: readonly [Opening, Opening, Opening],
): bigint {
  const times = (roots: readonly bigint[], common: bigint): bigint =>
    product(
      curve,
      roots.map((each) => common * each * (y - each)),
    );
  const next = xi * root;
  const h2 = curve.power(seed, 8n);
  const [here, there] = [at2.roots.slice(0, 3), at2.roots.slice(3)];
  const zerosOf = ({ roots }: Opening): bigint =>
    product(
      curve,
      roots.map((each) => y - each),
    );
  const firstOnes = Array.from(
    { length: Math.max(1, Number(key.nPublic)) },
    (_, i) => size * (xi - curve.power(root, BigInt(i))),
  );
  return product(curve, [
    curve.power(xi, size) - 1n,
    zerosOf(at1),
    zerosOf(at2),
    times(at0.roots, 8n * curve.power(seed, 18n)),
    times(at1.roots, 4n * curve.power(seed, 12n)),
    times(here, 3n * h2 * (xi - next)),
    times(there, 3n * h2 * curve.scalar(key.wr) * (next - xi)),
    ...firstOnes,
  ]);
}

function product(curve: NobleCurve, factors: readonly bigint[]): bigint {
  return factors.reduce((all, factor) => curve.reduce(all * factor), 1n);
}

function members(value: unknown): JsonMembers {
  if (typeof value !== "object" || value === null) throw new NobleFormatError("a part of the proof is missing");
  return value as JsonMembers;
}

function defined(value: bigint | undefined): bigint {
  if (value === undefined) throw new NobleFormatError("a value is missing");
  return value;
}
