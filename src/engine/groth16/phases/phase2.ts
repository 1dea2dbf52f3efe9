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

/** delta of a key, in both groups. */
export interface Delta {
  readonly g1: G1Point;
  readonly g2: G2Point;
}

/** The transcript of a key is not one, or does not lead to the key. */
export class Phase2Error extends Error {
  override readonly name = "Phase2Error";
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

/**
 * Adds a contribution to a transcript.
 * @returns the transcript with it, and the key's delta after it
 */
export function contribute(
  kernels: CurveKernels,
  before: { readonly transcript: Phase2Transcript; readonly delta: Delta },
  secret: bigint,
  parameters: ContributionParameters = {},
): { readonly transcript: Phase2Transcript; readonly delta: Delta } {
  const { curve } = kernels;
  const g1 = (point: G1Point, scalar: bigint): G1Point => finite(kernels.combineG1([{ point, scalar }]));
  const g2 = (point: G2Point): G2Point => finite(kernels.combineG2([{ point, scalar: secret }]));
  const s = g1(curve.generatorG1, randomNonZero(curve.r));
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
 * @throws Phase2Error naming what does not hold
 */
export function checkTranscript(pairing: PairingKernels, transcript: Phase2Transcript, delta: Delta): void {
  const { curve } = pairing;
  let before = curve.generatorG1;
  for (const [i, contribution] of transcript.contributions.entries()) {
    const invalid = (message: string): Phase2Error => new Phase2Error(`contribution ${String(i + 1)} ${message}`);
    const { s, sd, spd } = contribution;
    const earlier = { ...transcript, contributions: transcript.contributions.slice(0, i) };
    if (Buffer.compare(transcriptOf(earlier, contribution, curve), contribution.transcript) !== 0)
      throw invalid("does not answer the contributions before it");
    if (!pairing.isInSubgroupG2(spd)) throw invalid("has a point outside the subgroup G2");
    const answered = answeredPoint(contribution.transcript, curve);
    if (!isSameRatio(pairing, [s, sd, answered, spd])) throw invalid("does not prove that it knows its secret");
    if (!isSameRatio(pairing, [before, contribution.delta, answered, spd]))
      throw invalid("does not follow the one before it");
    if (contribution.beacon !== undefined && !isOfBeacon(pairing, contribution, contribution.beacon))
      throw invalid("is a beacon that does not follow from its value");
    before = contribution.delta;
  }
  if (!equalG1(before, delta.g1)) throw new Phase2Error("the last contribution does not lead to the key's delta");
  if (!isSameRatio(pairing, [curve.generatorG1, delta.g1, curve.generatorG2, delta.g2]))
    throw new Phase2Error("delta differs between G1 and G2");
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
  return Uint8Array.from(Buffer.concat([circuitHash, words(contributions.length), ...parts]));
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
  hash.update(uncompressedG1(s, curve)).update(uncompressedG1(sd, curve));
  return Uint8Array.from(hash.digest());
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
  const stream = beaconStream(beacon);
  if (stream === undefined) return false;
  const scalar = stream.nextScalar(pairing.curve);
  const point = stream.nextPointG1(pairing.curve);
  const multiple = pairing.combineG1([{ point, scalar }]);
  return multiple !== undefined && equalG1(point, s) && equalG1(multiple, sd);
}

function words(...values: readonly number[]): Buffer {
  return Buffer.from(Uint32Array.from(values).buffer);
}

function finite<Point>(point: Point | undefined): Point {
  if (point === undefined) throw new Error("a non-zero multiple of a finite point is infinity");
  return point;
}
