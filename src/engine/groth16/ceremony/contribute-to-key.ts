/**
 * Makes a contribution to a key, from one file to another: a person's with a secret of its own, or the beacon that ends
 * a ceremony. The file is the one that `snarkjs zkey contribute` and `snarkjs zkey beacon` write, the beacon's byte for
 * byte. Memory is bounded: everything goes through in parts.
 *
 * It runs in browsers as well, and takes nothing of Node but the hashes, ciphers and random numbers of node:crypto,
 * which the page's bundle has in another form.
 */
import { createHash, randomBytes } from "node:crypto";
import { encodeG1, encodeG2 } from "../../curves/points.js";
import { readBigIntLE, writeBigIntLE } from "../../field/bytes.js";
import { inverse } from "../../field/prime-field.js";
import { beaconSecret, contribute, contributionBytes, drawDelta, writeTranscript } from "../phases/phase2.js";
import type { ContributionSecret, Delta, Phase2Transcript } from "../phases/phase2.js";
import { ZKEY_MAGIC, ZKEY_SECTION, ZKEY_VERSION, headerOffsets } from "../zkey-layout.js";
import { CeremonyError } from "./ceremony-fault.js";
import {
  KEY_HEAD_BYTES,
  KEY_SECTIONS,
  SECTION_HEAD_BYTES,
  isPlainName,
  readCeremonyKey,
  readPlace,
} from "./ceremony-key.js";
import type { CeremonyKey, KeyPlace, KeySectionName } from "./ceremony-key.js";
import { contributionRecords } from "./contribution-record.js";
import type { ContributionRecord } from "./contribution-record.js";
import { KernelMultiples } from "./kernel-multiples.js";
import { cutPoints, hasRefusedPoint, runScaleJobs, sharedWords, stopScaleJobs } from "./scale-jobs.js";
import type { KeyFiles, RangeTarget, ScaleExecutor, ScaleWork } from "./scale-jobs.js";

export interface ContributeOptions {
  /** How the points are multiplied; on the calling thread by default. */
  readonly execute?: ScaleExecutor;
  /** Called with the share that is done, 0 to 1, never decreasing. */
  readonly onProgress?: (share: number) => void;
}

export interface ContributionRequest {
  /** At most 64 UTF-16 units; none when empty. */
  readonly name?: string | undefined;
  /** Mixed into the secret beside the system's random numbers, which alone suffice. Any length. */
  readonly entropy?: Uint8Array | undefined;
}

export interface BeaconRequest {
  readonly name?: string | undefined;
  /** 1 to 255 bytes that nobody knew before all contributions were made. */
  readonly value: Uint8Array;
  /** The value is hashed 2^so many times; 10 to 24. */
  readonly iterationsLog: number;
}

/** snarkjs takes no fewer than 2^10; nobody can repeat more than 2^24 in a reasonable time. */
const BEACON_ITERATIONS = { min: 10, max: 24 } as const;
const BEACON_BYTES_MAX = 255;
/** Bytes copied at once. */
const COPY_BYTES = 1 << 20;
/** The sections of points that a contribution divides. */
const DIVIDED = ["c", "h"] as const satisfies readonly KeySectionName[];

/**
 * Writes the key with one contribution more. About 2 s for 2^16 constraints on two threads. The secret is in this
 * process's memory until it ends: run it in one that ends soon.
 * @throws CeremonyError `not_a_key`, `curve_unsupported`, `contribution_malformed`, `name_unsupported`,
 *   `point_outside_subgroup`, `point_not_on_curve`
 */
export async function contributeToKey(
  files: KeyFiles,
  { name, entropy }: ContributionRequest = {},
  options: ContributeOptions = {},
): Promise<ContributionRecord> {
  const key = readCeremonyKey(files.source);
  const secret = { secret: entropy === undefined ? drawDelta(key.curve) : mixedDelta(key, entropy) };
  return await writeContribution(files, key, { secret, parameters: { name: nameOf(name) } }, options);
}

/**
 * Tells whether source and target may be the same memory: all sections but the contributions, which are the last one,
 * lie where they will lie in the new key.
 */
export function isRewritable(key: CeremonyKey): boolean {
  const places = layOut(key, key.transcriptBytes.length);
  return KEY_SECTIONS.every((name) => places[name].offset === key.sections[name].offset);
}

/**
 * Writes the key with a beacon, the last contribution.
 * @throws CeremonyError as `contributeToKey`, and `beacon_invalid`
 */
export async function applyBeacon(
  files: KeyFiles,
  { name, value, iterationsLog }: BeaconRequest,
  options: ContributeOptions = {},
): Promise<ContributionRecord> {
  const isCount = Number.isInteger(iterationsLog) && iterationsLog >= BEACON_ITERATIONS.min;
  if (!isCount || iterationsLog > BEACON_ITERATIONS.max)
    throw new CeremonyError("beacon_invalid", "a beacon is hashed 2^10 to 2^24 times");
  if (value.length === 0 || value.length > BEACON_BYTES_MAX)
    throw new CeremonyError("beacon_invalid", "a beacon's value has 1 to 255 bytes");
  const key = readCeremonyKey(files.source);
  const beacon = { hash: Uint8Array.from(value), iterationsLog };
  const secret = beaconSecret(key.curve, beacon);
  if (secret === undefined) throw new CeremonyError("beacon_invalid", "the beacon takes too many hashes");
  return await writeContribution(files, key, { secret, parameters: { name: nameOf(name), beacon } }, options);
}

type Parameters = NonNullable<globalThis.Parameters<typeof contribute>[3]>;

/**
 * Threads divide C and H while this one makes the contribution's proof and writes the rest of the file, which are a
 * tenth of the work. So the places of the sections come first, from the lengths alone.
 */
async function writeContribution(
  files: KeyFiles,
  key: CeremonyKey,
  made: { readonly secret: ContributionSecret; readonly parameters: Parameters },
  options: ContributeOptions,
): Promise<ContributionRecord> {
  const { curve } = key;
  const kernels = new KernelMultiples(curve);
  requireDeltaInSubgroup(kernels, key);
  const places = layOut(key, key.transcriptBytes.length + contributionBytes(made.parameters, curve));
  const work = divisionOf(key, places, made.secret.secret);
  const dividing = divide(files, work, options);
  try {
    const after = contribute(kernels, key, made.secret, made.parameters);
    writeFrame(files, { key, places }, after);
    const record = contributionRecords(after.transcript, curve).at(-1);
    if (record === undefined) throw new Error("a contribution was made and is not there");
    await dividing;
    return record;
  } finally {
    stopScaleJobs(work);
    await dividing.catch(() => undefined);
    work.scalar.fill(0);
  }
}

/**
 * What a contributor multiplies by the secret and hands out has the order r, or shows the secret modulo its order: the
 * twist has points of small order. The points of C and H are looked at where they are divided.
 */
function requireDeltaInSubgroup(kernels: KernelMultiples, { curve, delta }: CeremonyKey): void {
  const isOutside =
    kernels.combineG1([{ point: delta.g1, scalar: curve.r }]) !== undefined ||
    kernels.combineG2([{ point: delta.g2, scalar: curve.r }]) !== undefined;
  if (isOutside) throw new CeremonyError("point_outside_subgroup", "the key's delta is outside the subgroup");
}

/** The division of C and H by the secret. */
function divisionOf(key: CeremonyKey, places: Readonly<Record<KeySectionName, KeyPlace>>, secret: bigint): ScaleWork {
  const { curve } = key;
  const scalar = new Uint8Array(curve.frBytes);
  writeBigIntLE(inverse(secret, curve.r), scalar, 0, curve.frBytes);
  const jobs = DIVIDED.flatMap((name) =>
    cutPoints(
      { from: key.sections[name].offset, to: places[name].offset, bytes: key.sections[name].size },
      2 * curve.fqBytes,
    ),
  );
  return { kind: "scale", curve: curve.name, scalar, jobs, shared: sharedWords() };
}

async function divide(files: KeyFiles, work: ScaleWork, { execute, onProgress }: ContributeOptions): Promise<void> {
  let done = 0;
  const inline: ScaleExecutor = (own, onJob) => {
    runScaleJobs(files, own, onJob);
    return Promise.resolve();
  };
  await (execute ?? inline)(work, () => {
    done += 1;
    onProgress?.(done / work.jobs.length);
  });
  if (hasRefusedPoint(work))
    throw new CeremonyError("point_not_on_curve", "the key has a point in C or H that is not on the curve");
  if (done !== work.jobs.length) throw new Error("a part of the contribution was not made");
}

/** Writes everything but C and H. */
function writeFrame(
  { source, target }: KeyFiles,
  { key, places }: { readonly key: CeremonyKey; readonly places: Readonly<Record<KeySectionName, KeyPlace>> },
  after: { readonly transcript: Phase2Transcript; readonly delta: Delta },
): void {
  const transcript = writeTranscript(after.transcript, key.curve);
  if (transcript.length !== places.contributions.size)
    throw new Error("a contribution has another length than planned");
  target.write(words(ZKEY_MAGIC, ZKEY_VERSION, KEY_SECTIONS.length), 0);
  for (const name of KEY_SECTIONS) {
    const { offset, size } = places[name];
    const head = words(ZKEY_SECTION[name], size % 2 ** 32, Math.floor(size / 2 ** 32));
    target.write(head, offset - SECTION_HEAD_BYTES);
    if (name === "header") target.write(headerWith(key, after.delta), offset);
    else if (name === "contributions") target.write(transcript, offset);
    else if (name !== "c" && name !== "h") copyPlace(source, key.sections[name], { target, offset });
  }
}

/** The sections in the order of their numbers, as snarkjs writes them. */
function layOut(key: CeremonyKey, transcriptBytes: number): Readonly<Record<KeySectionName, KeyPlace>> {
  let at = KEY_HEAD_BYTES;
  const places = KEY_SECTIONS.map((name) => {
    const offset = at + SECTION_HEAD_BYTES;
    const size = name === "contributions" ? transcriptBytes : key.sections[name].size;
    at = offset + size;
    return [name, { offset, size }] as const;
  });
  return Object.fromEntries(places) as Record<KeySectionName, KeyPlace>;
}

function headerWith({ header, curve }: CeremonyKey, delta: Delta): Uint8Array {
  const at = headerOffsets(curve);
  const changed = header.slice();
  changed.set(encodeG1(delta.g1, curve), at.deltaG1);
  changed.set(encodeG2(delta.g2, curve), at.deltaG2);
  return changed;
}

function copyPlace(
  source: KeyFiles["source"],
  { offset, size }: KeyPlace,
  to: { readonly target: RangeTarget; readonly offset: number },
): void {
  for (let done = 0; done < size; done += COPY_BYTES) {
    const part = readPlace(source, { offset: offset + done, size: Math.min(COPY_BYTES, size - done) });
    to.target.write(part, to.offset + done);
  }
}

/** A secret of 512 bits of the system's random numbers and the contributor's own: unknown if either is. */
function mixedDelta({ curve }: CeremonyKey, entropy: Uint8Array): bigint {
  for (;;) {
    const random = randomBytes(64);
    const hash = createHash("blake2b512").update(random).update(entropy).digest();
    const secret = readBigIntLE(hash, 0, hash.length) % curve.r;
    random.fill(0);
    hash.fill(0);
    if (secret > 1n) return secret;
  }
}

function nameOf(name: string | undefined): string | undefined {
  if (name === undefined || name === "") return undefined;
  // Lone surrogates and a mark at the front do not come back as they were.
  const isKept = new TextDecoder().decode(new TextEncoder().encode(name)) === name;
  if (!isPlainName(name) || !isKept)
    throw new CeremonyError("name_unsupported", "a contribution's name has at most 64 characters of plain text");
  return name;
}

function words(...values: readonly number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(values).buffer);
}
