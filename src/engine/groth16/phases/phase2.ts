/**
 * Phase 2 of a Groth16 setup (Bowe, Gabizon, Miers, "Scalable multi-party computation for zk-SNARK parameters in the
 * random beacon model", eprint 2017/1050): each contribution multiplies delta by a secret of its own, proves that it
 * knew it, and is bound to all before it by a hash. As snarkjs writes and verifies it.
 *
 *   circuit hash 64 || contributions u32 || per contribution:
 *   delta in G1 after it || s || s d (G1) || s' d (G2) || transcript 64 || kind u32 (0 contribution, 1 beacon)
 *   || bytes of the parameters u32 || parameters (powers-of-tau/contributions.ts)
 *
 * The transcript is the hash of the circuit's hash, of every contribution before, and of s and s d; s' follows from it.
 */
import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";
import type { CurveKernels, PairingKernels } from "../../curves/curve-kernels.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { decodeG1, decodeG2, encodeG1, encodeG2, equalG1 } from "../../curves/points.js";
import type { G1Point, G2Point } from "../../curves/points.js";
import { randomNonZero } from "../../field/bytes.js";
import { inverse } from "../../field/prime-field.js";
import { uncompressedG1, uncompressedG2 } from "../../powers-of-tau/ceremony-challenge.js";
import { beaconStream, isSameRatio } from "../../powers-of-tau/contribution-checks.js";
import { readParameters, writeParameters } from "../../powers-of-tau/contributions.js";
import type { ContributionParameters } from "../../powers-of-tau/contributions.js";
import type { PointRowOptions } from "../../powers-of-tau/point-row-work.js";
import { scaleAll, sharedCopy } from "../../powers-of-tau/point-transform.js";
import { PowersOfTauError } from "../../powers-of-tau/powers-of-tau-error.js";
import { SeededStream } from "../../powers-of-tau/random-points.js";
import { clearCofactorG2 } from "../../powers-of-tau/cofactor.js";

export interface Phase2Contribution extends ContributionParameters {
  /** delta in G1 after it. */
  readonly delta: G1Point;
  readonly s: G1Point;
  readonly sd: G1Point;
  readonly spd: G2Point;
  readonly transcript: Uint8Array;
}

/** Section 10 of a key. */
export interface Phase2Transcript {
  readonly circuitHash: Uint8Array;
  readonly contributions: readonly Phase2Contribution[];
}

/** What a contribution multiplies by, and the point by which it proves that; a random one where there is none. */
export interface ContributionSecret {
  readonly secret: bigint;
  readonly s?: G1Point;
}

/** What making a contribution takes of a curve's arithmetic. */
export type PointMultiples = Pick<CurveKernels, "curve" | "combineG1" | "combineG2">;

/** delta of a key, in both groups. */
export interface Delta {
  readonly g1: G1Point;
  readonly g2: G2Point;
}

/** What of a transcript does not hold. */
export type Phase2Fault = "form" | "transcript" | "subgroup" | "knowledge" | "delta" | "beacon";

/** The transcript of a key is not one, or does not lead to the key. */
export class Phase2Error extends Error {
  override readonly name = "Phase2Error";
  readonly what: Phase2Fault;

  constructor(message: string, what: Phase2Fault = "form") {
    super(message);
    this.what = what;
  }
}

const HASH_BYTES = 64;
const KIND = { contribution: 0, beacon: 1 } as const;

/** The bytes of a contribution's points and hash, and of its kind and the length of its parameters. */
function fixedBytes({ fqBytes }: CurveParameters): number {
  return (3 * 2 + 4) * fqBytes + HASH_BYTES + 8;
}

/** Draws the secret of a contribution. JavaScript cannot wipe a bigint: let the process end that drew it. */
export function drawDelta(curve: CurveParameters): bigint {
  for (;;) {
    const secret = randomNonZero(curve.r);
    if (secret !== 1n) return secret;
  }
}

/** Returns what a beacon's contribution is made of; undefined where its value takes too many hashes. */
export function beaconSecret(
  curve: CurveParameters,
  beacon: NonNullable<ContributionParameters["beacon"]>,
): ContributionSecret | undefined {
  const stream = beaconStream(beacon);
  if (stream === undefined) return undefined;
  const secret = stream.nextScalar(curve);
  return { secret, s: stream.nextPointG1(curve) };
}

/**
 * Adds a contribution to a transcript.
 * @returns the transcript with it, and the key's delta after it
 */
export function contribute(
  kernels: PointMultiples,
  before: { readonly transcript: Phase2Transcript; readonly delta: Delta },
  { secret, s: given }: ContributionSecret,
  parameters: ContributionParameters = {},
): { readonly transcript: Phase2Transcript; readonly delta: Delta } {
  const { curve } = kernels;
  const g1 = (point: G1Point, scalar: bigint): G1Point => finite(kernels.combineG1([{ point, scalar }]));
  const g2 = (point: G2Point): G2Point => finite(kernels.combineG2([{ point, scalar: secret }]));
  const s = given ?? g1(curve.generatorG1, randomNonZero(curve.r));
  const sd = g1(s, secret);
  const transcript = transcriptOf(before.transcript, { s, sd }, curve);
  const delta = { g1: g1(before.delta.g1, secret), g2: g2(before.delta.g2) };
  const spd = g2(answeredPoint(transcript, curve));
  const contribution = { ...parameters, delta: delta.g1, s, sd, spd, transcript };
  const { circuitHash, contributions } = before.transcript;
  return { transcript: { circuitHash, contributions: [...contributions, contribution] }, delta };
}

/** Returns points of C or H after a contribution: each divided by its secret. */
export async function divideByDelta(
  kernels: CurveKernels,
  points: Uint8Array,
  secret: bigint,
  options: PointRowOptions = {},
): Promise<Uint8Array> {
  return await scaleAll(
    kernels,
    { group: "g1", points: sharedCopy(points) },
    inverse(secret, kernels.curve.r),
    options,
  );
}

/** Returns the hash by which snarkjs names a contribution, 64 bytes. */
export function contributionHash(contribution: Phase2Contribution, curve: CurveParameters): Uint8Array {
  const hash = createHash("blake2b512");
  for (const part of hashedParts(contribution, curve)) hash.update(part);
  return Uint8Array.from(hash.digest());
}

/**
 * Verifies that every contribution knew its secret, multiplied the delta that the one before it left, and that the last
 * one left the key's. About 10 ms each.
 * @param known how many contributions were verified before, and are not again
 * @throws Phase2Error naming what does not hold
 */
export function checkTranscript(pairing: PairingKernels, transcript: Phase2Transcript, delta: Delta, known = 0): void {
  const { curve } = pairing;
  const { contributions } = transcript;
  const hash = createHash("blake2b512").update(transcript.circuitHash);
  for (const [i, contribution] of contributions.entries()) {
    if (i >= known)
      checkContributionLink(pairing, contribution, {
        ...{ number: i + 1, delta: contributions[i - 1]?.delta ?? curve.generatorG1 },
        transcript: answerOf(hash.copy(), contribution, curve),
      });
    for (const part of hashedParts(contribution, curve)) hash.update(part);
  }
  const last = contributions.at(-1)?.delta ?? curve.generatorG1;
  if (!equalG1(last, delta.g1))
    throw new Phase2Error("the last contribution does not lead to the key's delta", "delta");
  if (!pairing.isInSubgroupG2(delta.g2)) throw new Phase2Error("delta is outside the subgroup G2", "subgroup");
  if (!isSameRatio(pairing, [curve.generatorG1, delta.g1, curve.generatorG2, delta.g2]))
    throw new Phase2Error("delta differs between G1 and G2", "delta");
}

function checkContributionLink(
  pairing: PairingKernels,
  contribution: Phase2Contribution,
  before: { readonly number: number; readonly delta: G1Point; readonly transcript: Uint8Array },
): void {
  const { curve } = pairing;
  const invalid = (message: string, what: Phase2Fault): Phase2Error =>
    new Phase2Error(`contribution ${String(before.number)} ${message}`, what);
  const { s, sd, spd } = contribution;
  if (before.transcript.some((byte, k) => byte !== contribution.transcript[k]))
    throw invalid("does not answer the contributions before it", "transcript");
  if (!pairing.isInSubgroupG2(spd)) throw invalid("has a point outside the subgroup G2", "subgroup");
  const answered = answeredPoint(contribution.transcript, curve);
  if (!isSameRatio(pairing, [s, sd, answered, spd]))
    throw invalid("does not prove that it knows its secret", "knowledge");
  if (!isSameRatio(pairing, [before.delta, contribution.delta, answered, spd]))
    throw invalid("does not follow the one before it", "delta");
  if (contribution.beacon !== undefined && !isOfBeacon(pairing, contribution, contribution.beacon))
    throw invalid("is a beacon that does not follow from its value", "beacon");
}

/** Returns how many bytes of section 10 a contribution with these parameters takes. */
export function contributionBytes(parameters: ContributionParameters, curve: CurveParameters): number {
  return fixedBytes(curve) + writeParameters(parameters).length;
}

/** Returns the bytes of section 10. */
export function writeTranscript({ circuitHash, contributions }: Phase2Transcript, curve: CurveParameters): Uint8Array {
  const parts = contributions.flatMap((each) => {
    const parameters = writeParameters(each);
    return [
      ...[each.delta, each.s, each.sd].map((point) => encodeG1(point, curve)),
      encodeG2(each.spd, curve),
      each.transcript,
      words(each.beacon === undefined ? KIND.contribution : KIND.beacon, parameters.length),
      parameters,
    ];
  });
  return joined([circuitHash, words(contributions.length), ...parts]);
}

/**
 * Reads section 10.
 * @throws Phase2Error when the bytes are none
 */
export function readTranscript(bytes: Uint8Array, curve: CurveParameters): Phase2Transcript {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HASH_BYTES + 4) throw new Phase2Error("the section is too short");
  const count = view.getUint32(HASH_BYTES, true);
  const contributions: Phase2Contribution[] = [];
  let at = HASH_BYTES + 4;
  for (let i = 0; i < count; i += 1) {
    const end = at + fixedBytes(curve);
    const parameterBytes = end > bytes.length ? Infinity : view.getUint32(end - 4, true);
    if (end + parameterBytes > bytes.length) throw new Phase2Error("the section ends inside a contribution");
    contributions.push(readContribution(bytes, { at, end, parameterBytes, number: i + 1 }, curve));
    at = end + parameterBytes;
  }
  if (at !== bytes.length) throw new Phase2Error("bytes follow the last contribution");
  return { circuitHash: bytes.slice(0, HASH_BYTES), contributions };
}

function readContribution(
  bytes: Uint8Array,
  { at, end, parameterBytes, number }: Record<"at" | "end" | "parameterBytes" | "number", number>,
  curve: CurveParameters,
): Phase2Contribution {
  const pointBytes = 2 * curve.fqBytes;
  const [delta, s, sd] = [0, 1, 2].map((i) => decodeG1(bytes, at + i * pointBytes, curve));
  const spd = decodeG2(bytes, at + 3 * pointBytes, curve);
  if (delta === undefined || s === undefined || sd === undefined || spd === undefined)
    throw new Phase2Error(`a point of contribution ${String(number)} is not on the curve`);
  const transcriptAt = at + 5 * pointBytes;
  const transcript = bytes.slice(transcriptAt, transcriptAt + HASH_BYTES);
  const kind = new DataView(bytes.buffer, bytes.byteOffset).getUint32(transcriptAt + HASH_BYTES, true);
  const parameters = parametersOf(bytes.slice(end, end + parameterBytes), number);
  if (kind > KIND.beacon || (kind === KIND.beacon) !== (parameters.beacon !== undefined))
    throw new Phase2Error(`contribution ${String(number)} does not say how it was made`);
  return { ...parameters, delta, s, sd, spd, transcript };
}

function parametersOf(bytes: Uint8Array, number: number): ContributionParameters {
  try {
    return readParameters(bytes, number);
  } catch (error) {
    if (error instanceof PowersOfTauError) throw new Phase2Error(error.message);
    throw error;
  }
}

function transcriptOf(
  { circuitHash, contributions }: Phase2Transcript,
  { s, sd }: Pick<Phase2Contribution, "s" | "sd">,
  curve: CurveParameters,
): Uint8Array {
  const hash = createHash("blake2b512").update(circuitHash);
  for (const contribution of contributions) for (const part of hashedParts(contribution, curve)) hash.update(part);
  return answerOf(hash, { s, sd }, curve);
}

/** Ends the hash of all contributions before with the new one's s and s d. */
function answerOf(before: Hash, { s, sd }: Pick<Phase2Contribution, "s" | "sd">, curve: CurveParameters): Uint8Array {
  return Uint8Array.from(before.update(uncompressedG1(s, curve)).update(uncompressedG1(sd, curve)).digest());
}

function hashedParts({ delta, s, sd, spd, transcript }: Phase2Contribution, curve: CurveParameters): Uint8Array[] {
  return [...[delta, s, sd].map((point) => uncompressedG1(point, curve)), uncompressedG2(spd, curve), transcript];
}

/** The point of G2 that a contribution has to multiply. */
function answeredPoint(transcript: Uint8Array, curve: CurveParameters): G2Point {
  return clearCofactorG2(curve, new SeededStream(transcript).nextPointOnTwist(curve));
}

function isOfBeacon(
  pairing: PairingKernels,
  { s, sd }: Phase2Contribution,
  beacon: NonNullable<ContributionParameters["beacon"]>,
): boolean {
  const made = beaconSecret(pairing.curve, beacon);
  const point = made?.s;
  if (made === undefined || point === undefined) return false;
  const multiple = pairing.combineG1([{ point, scalar: made.secret }]);
  return multiple !== undefined && equalG1(point, s) && equalG1(multiple, sd);
}

function words(...values: readonly number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(values).buffer);
}

/** Not by Buffer, which browsers do not have. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function finite<Point>(point: Point | undefined): Point {
  if (point === undefined) throw new Error("a non-zero multiple of a finite point is infinity");
  return point;
}
