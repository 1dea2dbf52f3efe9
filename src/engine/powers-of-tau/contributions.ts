/**
 * The list of contributions of a powers-of-tau file, as snarkjs writes it. It is decoded here and verified in
 * contribution-checks.ts.
 *
 *   count u32 || per contribution:
 *   tauG1 || tauG2 || alphaG1 || betaG1 || betaG2 (after it) || public key || state of the response's hash 216
 *   || next challenge 64 || kind u32 (0 contribution, 1 beacon) || bytes of the parameters u32 || parameters
 *   public key: for tau, alpha, beta: s in G1, s x in G1; then s' x in G2 for each
 *   parameter: type u8, in rising order: 1 name (length u8, UTF-8), 2 binary logarithm of the beacon's iterations u8,
 *   3 the beacon's hash (length u8)
 */
import type { CurveParameters } from "../curves/curve-parameters.js";
import { decodeG1, decodeG2 } from "../curves/points.js";
import type { G1Point, G2Point } from "../curves/points.js";
import { resumeBlake2b } from "./blake2b-state.js";
import { uncompressedG1, uncompressedG2 } from "./ceremony-challenge.js";
import { PowersOfTauError } from "./powers-of-tau-error.js";

/** What a contribution knows about one of the secrets x: s, s x, and x times a point that its challenge fixes. */
export interface SecretKey {
  readonly s: G1Point;
  readonly sx: G1Point;
  readonly spx: G2Point;
}

/** The points that every contribution multiplies. */
export interface CeremonyPoints {
  readonly tauG1: G1Point;
  readonly tauG2: G2Point;
  readonly alphaG1: G1Point;
  readonly betaG1: G1Point;
  readonly betaG2: G2Point;
}

export const SECRETS = ["tau", "alpha", "beta"] as const;

/** What a contribution says of itself, here and in phase 2 (groth16/phases/phase2.ts). */
export interface ContributionParameters {
  /** As the contributor wrote it, at most 255 bytes. */
  readonly name?: string | undefined;
  readonly beacon?: { readonly hash: Uint8Array; readonly iterationsLog: number } | undefined;
}

export interface Contribution extends Required<ContributionParameters> {
  /** 1 for the first. */
  readonly number: number;
  readonly points: CeremonyPoints;
  readonly key: Readonly<Record<(typeof SECRETS)[number], SecretKey>>;
  /** BLAKE2b-512 of what the contributor sent. */
  readonly responseHash: Uint8Array;
  readonly nextChallenge: Uint8Array;
}

const STATE_BYTES = 216;
const CHALLENGE_BYTES = 64;
const KIND = { contribution: 0, beacon: 1 } as const;
/** The length is one byte. */
const NAME_BYTES_MAX = 255;
const PARAMETER = { name: 1, iterations: 2, beacon: 3 } as const;

/**
 * Reads the whole section.
 * @throws PowersOfTauError `contributions_malformed`, `no_contribution`
 */
export function readContributions(bytes: Uint8Array, curve: CurveParameters): Contribution[] {
  const reader = new Reader(bytes, curve);
  const count = reader.u32();
  const smallest = 15 * 2 * curve.fqBytes;
  if (count * smallest > bytes.length) throw malformed("the section is shorter than its contributions");
  if (count === 0)
    throw new PowersOfTauError("no_contribution", "the file has no contribution: whoever made it knows nothing secret");
  const contributions = Array.from({ length: count }, (_, i) => readContribution(reader, curve, i + 1));
  if (!reader.isAtEnd) throw malformed("bytes follow the last contribution");
  return contributions;
}

/**
 * Reads the parameters of a contribution.
 * @param number of the contribution, for messages
 * @throws PowersOfTauError `contributions_malformed`
 */
export function readParameters(bytes: Uint8Array, number: number): Required<ContributionParameters> {
  const found: { name?: string; hash?: Uint8Array; iterationsLog?: number } = {};
  let [at, last] = [0, 0];
  const next = (): number => {
    const byte = bytes[at];
    if (byte === undefined) throw malformed(`a parameter of contribution ${number} is cut off`);
    at += 1;
    return byte;
  };
  const text = (): Uint8Array => {
    const length = next();
    if (at + length > bytes.length) throw malformed(`a parameter of contribution ${number} is cut off`);
    at += length;
    return bytes.slice(at - length, at);
  };
  while (at < bytes.length) {
    const type = next();
    if (type <= last) throw malformed(`the parameters of contribution ${number} are not in order`);
    last = type;
    if (type === PARAMETER.name) found.name = new TextDecoder().decode(text());
    else if (type === PARAMETER.iterations) found.iterationsLog = next();
    else if (type === PARAMETER.beacon) found.hash = text();
    else throw malformed(`contribution ${number} has a parameter of an unknown type`);
  }
  const { name, hash, iterationsLog } = found;
  return { name, beacon: hash === undefined || iterationsLog === undefined ? undefined : { hash, iterationsLog } };
}

/** Returns the bytes of the parameters; a name is cut to what fits its length. */
export function writeParameters({ name, beacon }: ContributionParameters): Uint8Array {
  const text = new TextEncoder().encode(name ?? "").subarray(0, NAME_BYTES_MAX);
  return Uint8Array.from([
    ...(name === undefined ? [] : [PARAMETER.name, text.length, ...text]),
    ...(beacon === undefined
      ? []
      : [PARAMETER.iterations, beacon.iterationsLog, PARAMETER.beacon, beacon.hash.length, ...beacon.hash]),
  ]);
}

function readContribution(reader: Reader, curve: CurveParameters, number: number): Contribution {
  reader.number = number;
  const points = {
    tauG1: reader.g1(),
    tauG2: reader.g2(),
    alphaG1: reader.g1(),
    betaG1: reader.g1(),
    betaG2: reader.g2(),
  };
  const inG1 = SECRETS.map(() => ({ s: reader.g1(), sx: reader.g1() }));
  const [tau, alpha, beta] = inG1.map((pair) => ({ ...pair, spx: reader.g2() }));
  if (tau === undefined || alpha === undefined || beta === undefined) throw malformed("a public key is missing");
  const key = { tau, alpha, beta };
  const state = resumeBlake2b(reader.take(STATE_BYTES));
  if (state === undefined) throw malformed(`contribution ${number} has no state of a hash`);
  for (const { s, sx } of inG1) state.update(uncompressedG1(s, curve)).update(uncompressedG1(sx, curve));
  for (const { spx } of [tau, alpha, beta]) state.update(uncompressedG2(spx, curve));
  const responseHash = state.digest();
  const nextChallenge = reader.take(CHALLENGE_BYTES);
  const kind = reader.u32();
  const { name, beacon } = readParameters(reader.take(reader.u32()), number);
  if (kind === KIND.beacon && beacon === undefined) throw malformed(`beacon ${number} does not say how it was made`);
  if (kind !== KIND.beacon && kind !== KIND.contribution)
    throw malformed(`contribution ${number} is of an unknown kind`);
  const ownBeacon = kind === KIND.beacon ? beacon : undefined;
  return { number, points, key, responseHash, nextChallenge, name, beacon: ownBeacon };
}

/** Reads values one after the other. */
class Reader {
  /** The contribution that is read, for messages. */
  number = 0;
  readonly #bytes: Uint8Array;
  readonly #curve: CurveParameters;
  #at = 0;

  constructor(bytes: Uint8Array, curve: CurveParameters) {
    this.#bytes = bytes;
    this.#curve = curve;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  take(count: number): Uint8Array {
    if (this.#at + count > this.#bytes.length) throw malformed("the section ends inside a contribution");
    this.#at += count;
    return this.#bytes.slice(this.#at - count, this.#at);
  }

  u32(): number {
    const bytes = this.take(4);
    return new DataView(bytes.buffer).getUint32(0, true);
  }

  g1(): G1Point {
    const point = decodeG1(this.take(2 * this.#curve.fqBytes), 0, this.#curve);
    if (point === undefined) throw malformed(`a point of contribution ${this.number} is not on the curve`);
    return point;
  }

  g2(): G2Point {
    const point = decodeG2(this.take(4 * this.#curve.fqBytes), 0, this.#curve);
    if (point === undefined) throw malformed(`a point of contribution ${this.number} is not on the curve`);
    return point;
  }
}

function malformed(message: string): PowersOfTauError {
  return new PowersOfTauError("contributions_malformed", message);
}
