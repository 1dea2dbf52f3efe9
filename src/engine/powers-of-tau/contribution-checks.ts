/**
 * Verifies the chain of contributions, as snarkjs does: that each knew its secrets, multiplied what the one before it
 * left, and that a beacon follows from its public value (Bowe, Gabizon, Miers, "Scalable multi-party computation for
 * zk-SNARK parameters in the random beacon model", eprint 2017/1050).
 */
import { createHash } from "node:crypto";
import type { PairingKernels } from "../curves/curve-kernels.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { equalG1 } from "../curves/points.js";
import type { G1Point, G2Point } from "../curves/points.js";
import { hashParts, uncompressedG1 } from "./ceremony-challenge.js";
import { SECRETS } from "./contributions.js";
import type { CeremonyPoints, Contribution, ContributionParameters, SecretKey } from "./contributions.js";
import { PowersOfTauError } from "./powers-of-tau-error.js";
import { SeededStream } from "./random-points.js";
import { clearCofactorG2 } from "./cofactor.js";

/** 2^24 hashes take some ten seconds; published beacons have 2^10. */
const BEACON_ITERATIONS_LOG_MAX = 24;

/**
 * Verifies every contribution against the one before it; about 20 ms each.
 * @param challenge what the first one answers
 * @throws PowersOfTauError `contribution_invalid`, `no_contribution`
 */
export function checkContributions(
  pairing: PairingKernels,
  contributions: readonly Contribution[],
  challenge: Uint8Array,
): void {
  const { curve } = pairing;
  let before: { readonly points: CeremonyPoints; readonly nextChallenge: Uint8Array } = {
    points: {
      tauG1: curve.generatorG1,
      tauG2: curve.generatorG2,
      alphaG1: curve.generatorG1,
      betaG1: curve.generatorG1,
      betaG2: curve.generatorG2,
    },
    nextChallenge: challenge,
  };
  for (const contribution of contributions) {
    checkSubgroup(pairing, contribution);
    if (contribution.beacon !== undefined) checkBeacon(pairing, contribution);
    checkLink(pairing, contribution, before);
    before = contribution;
  }
}

/** Tells whether x = y: e(a, b y) = e(a x, b). */
export function isSameRatio(pairing: PairingKernels, [a, ax, b, by]: Ratio): boolean {
  return pairing.equalPairingValues(
    pairing.pairingProduct([{ g1: a, g2: by }]),
    pairing.pairingProduct([{ g1: ax, g2: b }]),
  );
}

/** Returns the numbers that follow from a beacon's value; undefined where it takes too many hashes to repeat. */
export function beaconStream({
  hash,
  iterationsLog,
}: NonNullable<ContributionParameters["beacon"]>): SeededStream | undefined {
  if (iterationsLog > BEACON_ITERATIONS_LOG_MAX) return undefined;
  let seed = Buffer.from(hash);
  for (let i = 0; i < 2 ** iterationsLog; i += 1) seed = createHash("sha256").update(seed).digest();
  return new SeededStream(seed);
}

function checkSubgroup(pairing: PairingKernels, { number, points, key }: Contribution): void {
  const all = [points.tauG2, points.betaG2, ...SECRETS.map((secret) => key[secret].spx)];
  if (!pairing.areInSubgroupG2(all).every((isInside) => isInside))
    throw invalid(number, "has a point outside the subgroup G2");
}

function checkLink(
  pairing: PairingKernels,
  { number, points, key }: Contribution,
  before: { readonly points: CeremonyPoints; readonly nextChallenge: Uint8Array },
): void {
  const g2 = SECRETS.map((secret, i) => challengePoint(pairing.curve, i, before.nextChallenge, key[secret]));
  const [tauBase, alphaBase, betaBase] = g2;
  if (tauBase === undefined || alphaBase === undefined || betaBase === undefined)
    throw new RangeError("a secret has no challenge point");
  const claims: readonly (readonly [string, Ratio])[] = [
    ["does not prove that it knows tau", [key.tau.s, key.tau.sx, tauBase, key.tau.spx]],
    ["does not prove that it knows alpha", [key.alpha.s, key.alpha.sx, alphaBase, key.alpha.spx]],
    ["does not prove that it knows beta", [key.beta.s, key.beta.sx, betaBase, key.beta.spx]],
    ["does not follow the one before it in tau G1", [before.points.tauG1, points.tauG1, tauBase, key.tau.spx]],
    ["does not follow the one before it in tau G2", [key.tau.s, key.tau.sx, before.points.tauG2, points.tauG2]],
    [
      "does not follow the one before it in alpha G1",
      [before.points.alphaG1, points.alphaG1, alphaBase, key.alpha.spx],
    ],
    ["does not follow the one before it in beta G1", [before.points.betaG1, points.betaG1, betaBase, key.beta.spx]],
    ["does not follow the one before it in beta G2", [key.beta.s, key.beta.sx, before.points.betaG2, points.betaG2]],
  ];
  for (const [message, ratio] of claims) if (!isSameRatio(pairing, ratio)) throw invalid(number, message);
}

/** a, a x in G1 and b, b y in G2. */
type Ratio = readonly [G1Point, G1Point, G2Point, G2Point];

/** The point of G2 that the contributor had to multiply, so that s and s x alone cannot be copied. */
export function challengePoint(
  curve: CurveParameters,
  secret: number,
  challenge: Uint8Array,
  key: Pick<SecretKey, "s" | "sx">,
): G2Point {
  const seed = hashParts([
    Uint8Array.of(secret),
    challenge,
    uncompressedG1(key.s, curve),
    uncompressedG1(key.sx, curve),
  ]);
  return clearCofactorG2(curve, new SeededStream(seed).nextPointOnTwist(curve));
}

/** A beacon's secrets follow from its hash; its points in G2 follow from those in G1 by the proofs of knowledge. */
function checkBeacon(pairing: PairingKernels, { number, key, beacon }: Contribution): void {
  if (beacon === undefined) return;
  const { curve } = pairing;
  const stream = beaconStream(beacon);
  if (stream === undefined)
    throw invalid(number, `is a beacon of 2^${beacon.iterationsLog} hashes, which is too many to repeat`);
  const scalars = SECRETS.map(() => stream.nextScalar(curve));
  for (const [i, secret] of SECRETS.entries()) {
    const point = stream.nextPointG1(curve);
    const multiple = pairing.combineG1([{ point, scalar: scalars[i] ?? 0n }]);
    const { s, sx } = key[secret];
    if (multiple === undefined || !equalG1(point, s) || !equalG1(multiple, sx))
      throw invalid(number, `is a beacon whose ${secret} does not follow from its value`);
  }
}

function invalid(number: number, message: string): PowersOfTauError {
  return new PowersOfTauError("contribution_invalid", `contribution ${number} ${message}`);
}
