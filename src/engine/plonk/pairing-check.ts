/**
 * The check to which PLONK and FFLONK come down: e(left, tau G2) = e(right, G2) for two sums of points, and many such
 * checks at once by a random linear combination: with weights w_i the sums of all are added up, w_i times each, and
 * two Miller loops check them together. A wrong one passes with probability 2^-128 (M. Bellare, J. Garay, T. Rabin,
 * "Fast batch verification for modular exponentiation and digital signatures", EUROCRYPT 1998: the small exponents
 * test). When the whole is wrong, halves are tried, down to single checks.
 */
import { randomBytes } from "node:crypto";
import { isOnTwist, negateG1 } from "../curves/points.js";
import type { G1Point, G2Point } from "../curves/points.js";
import type { PairingKernels, PairingValue, PreparedG2 } from "../curves/curve-kernels.js";
import { readBigIntLE } from "../field/bytes.js";
import { reduce } from "../field/prime-field.js";

/** A setup's points of G2 with their line functions computed. Usable only on the thread that made it. */
export interface SetupPairing {
  readonly kernels: PairingKernels;
  readonly generatorG2: PreparedG2;
  readonly tauG2: PreparedG2;
  /** e(G1, G2) of the generators, which a valid proof's pairings come to with one generator more on the right. */
  readonly base: PairingValue;
}

/** A point times a scalar, which need not be reduced. Undefined is infinity. */
export interface Term {
  readonly point: G1Point | undefined;
  readonly scalar: bigint;
}

/** The two sums of a proof, which it satisfies when e(left, tau G2) = e(right, G2). */
export interface PairingCheck {
  readonly left: readonly Term[];
  readonly right: readonly Term[];
}

/**
 * Prepares a setup's point.
 * @throws RangeError when it is off the twist or outside the subgroup
 */
export function prepareSetupPairing(kernels: PairingKernels, tauG2: G2Point): SetupPairing {
  const { curve } = kernels;
  if (!isOnTwist(tauG2, curve) || !kernels.isInSubgroupG2(tauG2))
    throw new RangeError("the verifying key's point of G2 is not in G2");
  const { generatorG1 } = curve;
  const generatorG2 = kernels.prepareG2(curve.generatorG2);
  return {
    kernels,
    generatorG2,
    tauG2: kernels.prepareG2(tauG2),
    base: kernels.pairingProduct([{ g1: generatorG1, g2: generatorG2 }]),
  };
}

/**
 * Tells whether e(left, tau G2) = e(right, G2), as e(-left, tau G2) e(right + G1, G2) = e(G1, G2). Kernels that do
 * nothing, or give zeros, come to one or to no pairing at all, and must not be believed.
 */
export function holds({ kernels, tauG2, generatorG2, base }: SetupPairing, check: PairingCheck): boolean {
  const { r, generatorG1 } = kernels.curve;
  const sum = (terms: readonly Term[]): G1Point | undefined => kernels.combineG1(joined(terms, r));
  const [left, right] = [sum(check.left), sum([...check.right, { point: generatorG1, scalar: 1n }])];
  const terms = [
    ...(left === undefined ? [] : [{ g1: negateG1(left, kernels.curve), g2: tauG2 }]),
    ...(right === undefined ? [] : [{ g1: right, g2: generatorG2 }]),
  ];
  return terms.length > 0 && kernels.equalPairingValues(kernels.pairingProduct(terms), base);
}

/**
 * Tells of each check whether it holds, in order; undefined, the check of a malformed proof, does not. Weights are
 * fresh for each call.
 */
export function holdEach(setup: SetupPairing, checks: readonly (PairingCheck | undefined)[]): boolean[] {
  const results = checks.map(() => false);
  const candidates = checks.flatMap((check, index) => (check === undefined ? [] : [{ index, check }]));
  markValid(setup, candidates, results);
  return results;
}

interface Indexed {
  readonly index: number;
  readonly check: PairingCheck;
}

const WEIGHT_BYTES = 16;

/** Sets the results of checks that hold; returns whether all do. */
function markValid(
  setup: SetupPairing,
  items: readonly Indexed[],
  results: boolean[],
  options: { readonly isKnownBad?: boolean } = {},
): boolean {
  const [first, ...others] = items;
  if (first === undefined) return true;
  if (options.isKnownBad !== true || others.length === 0) {
    const areValid = holds(setup, others.length === 0 ? first.check : weighted(items));
    for (const { index } of items) results[index] = areValid;
    if (areValid || others.length === 0) return areValid;
  }
  const middle = Math.ceil(items.length / 2);
  const areFirstValid = markValid(setup, items.slice(0, middle), results);
  markValid(setup, items.slice(middle), results, { isKnownBad: areFirstValid });
  return false;
}

function weighted(items: readonly Indexed[]): PairingCheck {
  const bytes = randomBytes(WEIGHT_BYTES * items.length);
  const scale = (side: keyof PairingCheck): PairingCheck[keyof PairingCheck] =>
    items.flatMap(({ check }, i) => {
      // One more than the random number: a weight of zero would leave the proof unchecked.
      const weight = 1n + readBigIntLE(bytes, i * WEIGHT_BYTES, WEIGHT_BYTES);
      return check[side].map(({ point, scalar }) => ({ point, scalar: scalar * weight }));
    });
  return { left: scale("left"), right: scale("right") };
}

/** Adds up the scalars of one point, such as those of the key's points in the checks of many proofs. */
function joined(terms: readonly Term[], order: bigint): Term[] {
  const scalars = new Map<G1Point, bigint>();
  for (const { point, scalar } of terms)
    if (point !== undefined) scalars.set(point, (scalars.get(point) ?? 0n) + scalar);
  return [...scalars].map(([point, scalar]) => ({ point, scalar: reduce(scalar, order) }));
}
