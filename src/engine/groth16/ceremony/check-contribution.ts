/**
 * Checks that a key is another one with one contribution more, and with nothing else changed: the same circuit and
 * phase 1 byte for byte, the same history byte for byte, a contribution that proves that it knows its secret and
 * multiplied the delta that was there, and every point of C and H divided by the same secret. As `snarkjs zkey verify`
 * does it, but from one key to the next, with weights of 128 bits, and with nothing left unread.
 */
import { randomBytes } from "node:crypto";
import type { PairingKernels } from "../../curves/curve-kernels.js";
import { decodeG1, equalG1 } from "../../curves/points.js";
import type { G1Point, G2Point } from "../../curves/points.js";
import { SEED_BYTES } from "../../powers-of-tau/check-weights.js";
import type { RangeFile } from "../../powers-of-tau/file-layout.js";
import { Phase2Error, checkTranscript } from "../phases/phase2.js";
import type { Phase2Fault } from "../phases/phase2.js";
import { CeremonyError } from "./ceremony-fault.js";
import type { CeremonyFault } from "./ceremony-fault.js";
import { deltaRange, readCeremonyKey, readPlace } from "./ceremony-key.js";
import type { CeremonyKey, KeyPlace, KeySectionName } from "./ceremony-key.js";
import {
  COMPARED,
  COMPARE_POINT_BYTES,
  COMPARE_SLOT_BYTES,
  COMPARE_SUMS_AT,
  cutSectionPair,
  runCompareJobs,
} from "./compare-jobs.js";
import type { CompareExecutor, CompareWork, KeyPair } from "./compare-jobs.js";
import { contributionRecords, hexOf } from "./contribution-record.js";
import type { ContributionRecord } from "./contribution-record.js";

export interface CheckContributionOptions {
  /** How many contributions the second key has more; 1 by default. */
  readonly added?: number;
  /** How the points are summed; on the calling thread by default. */
  readonly execute?: CompareExecutor;
  /** Called with the share that is done, 0 to 1, never decreasing. */
  readonly onProgress?: (share: number) => void;
}

/** What a key is that passed. */
export interface CheckedKey {
  /** The contributions that it has more, in their order. */
  readonly added: readonly ContributionRecord[];
  /** 64 bytes in hex, by which snarkjs names the circuit with its phase 1. */
  readonly circuitHash: string;
  readonly contributionCount: number;
}

/** Sections that no contribution changes. */
const FIXED = ["protocol", "ic", "coefficients", "a", "b1", "b2"] as const satisfies readonly KeySectionName[];
const COMPARE_BYTES = 1 << 20;
const FAULT_OF: Readonly<Record<Phase2Fault, CeremonyFault>> = {
  form: "contribution_malformed",
  transcript: "transcript_inconsistent",
  subgroup: "point_outside_subgroup",
  knowledge: "proof_of_knowledge_invalid",
  delta: "delta_inconsistent",
  beacon: "beacon_invalid",
};

/**
 * Checks the contributions that `after` has more than `before`. About 0.6 s for 2^16 constraints on two threads.
 * @param keys nobody writes to them meanwhile; `before` is a key that was checked or made here
 * @throws CeremonyError with what does not hold
 */
export async function checkContribution(
  keys: KeyPair,
  pairing: PairingKernels,
  options: CheckContributionOptions = {},
): Promise<CheckedKey> {
  const [before, after] = [readCeremonyKey(keys.before), readCeremonyKey(keys.after)];
  checkHistory(before, after, options.added ?? 1);
  checkSameCircuit(keys, before, after);
  checkDeltas(pairing, before, after);
  await checkPoints(keys, { pairing, before, after }, options);
  const records = contributionRecords(after.transcript, after.curve);
  return {
    added: records.slice(before.transcript.contributions.length),
    circuitHash: hexOf(after.transcript.circuitHash),
    contributionCount: records.length,
  };
}

function checkHistory(before: CeremonyKey, after: CeremonyKey, added: number): void {
  const [old, own] = [before.transcript.contributions.length, after.transcript.contributions.length];
  if (hexOf(before.transcript.circuitHash) !== hexOf(after.transcript.circuitHash))
    throw new CeremonyError("circuit_differs", "the key is of another circuit, or of another phase 1");
  if (own < old + added)
    throw new CeremonyError(
      "contribution_missing",
      `the key has ${own} contributions; the one before it has ${old}, so it must have ${old + added}`,
    );
  if (!isPrefix(before, after))
    throw new CeremonyError("history_differs", "the contributions before the new one are not those of the ceremony");
  if (own > old + added)
    throw new CeremonyError("contribution_extra", `the key has ${own - old} new contributions, not ${added}`);
}

/** Tells whether the bytes of all old contributions begin those of the new key; the counts are compared apart. */
function isPrefix({ transcriptBytes: old }: CeremonyKey, { transcriptBytes: own }: CeremonyKey): boolean {
  const countAt = 64;
  for (let at = 0; at < old.length; at += 1)
    if (old[at] !== own[at] && (at < countAt || at >= countAt + 4)) return false;
  return true;
}

function checkSameCircuit(keys: KeyPair, before: CeremonyKey, after: CeremonyKey): void {
  const { start, end } = deltaRange(after.curve);
  const differs =
    before.header.length !== after.header.length ||
    before.header.some((byte, at) => (at < start || at >= end) && byte !== after.header[at]);
  if (differs) throw new CeremonyError("circuit_differs", "the header names another circuit or another phase 1");
  for (const name of FIXED)
    if (!areSame(keys.before, before.sections[name], { file: keys.after, place: after.sections[name] }))
      throw new CeremonyError("circuit_differs", `section ${name} is another one`);
}

function areSame(
  file: RangeFile,
  { offset, size }: KeyPlace,
  other: { readonly file: RangeFile; readonly place: KeyPlace },
): boolean {
  if (other.place.size !== size) return false;
  for (let done = 0; done < size; done += COMPARE_BYTES) {
    const part = Math.min(COMPARE_BYTES, size - done);
    const own = readPlace(file, { offset: offset + done, size: part });
    const theirs = readPlace(other.file, { offset: other.place.offset + done, size: part });
    if (Buffer.compare(own, theirs) !== 0) return false;
  }
  return true;
}

/** The chain of deltas up to the key's own, and that no contribution left a delta that was there before. */
function checkDeltas(pairing: PairingKernels, before: CeremonyKey, after: CeremonyKey): void {
  const { contributions } = after.transcript;
  const known = before.transcript.contributions.length;
  const last = before.transcript.contributions.at(-1)?.delta ?? after.curve.generatorG1;
  if (!equalG1(last, before.delta.g1))
    throw new CeremonyError("delta_inconsistent", "the key before it has a delta that is not its last contribution's");
  const seen = [after.curve.generatorG1, ...contributions.map(({ delta }) => delta)];
  for (let i = known; i < contributions.length; i += 1)
    if (seen.slice(0, i + 1).some((delta) => equalG1(delta, contributions[i]?.delta ?? after.curve.generatorG1)))
      throw new CeremonyError(
        "delta_trivial",
        `contribution ${i + 1} leaves a delta that was there before: it multiplied by 1, or undid others`,
      );
  try {
    checkTranscript(pairing, after.transcript, after.delta, known);
  } catch (error) {
    if (error instanceof Phase2Error) throw new CeremonyError(FAULT_OF[error.what], error.message);
    throw error;
  }
}

interface ComparedKeys {
  readonly pairing: PairingKernels;
  readonly before: CeremonyKey;
  readonly after: CeremonyKey;
}

async function checkPoints(keys: KeyPair, compared: ComparedKeys, options: CheckContributionOptions): Promise<void> {
  const { before, after } = compared;
  const jobs = (["c", "h"] as const).flatMap((name) => {
    const [old, own] = [before.sections[name], after.sections[name]];
    return cutSectionPair(name, { before: old.offset, after: own.offset, size: own.size }, 2 * after.curve.fqBytes);
  });
  const work: CompareWork = {
    ...{ kind: "compare", curve: after.curve.name, jobs, seed: Uint8Array.from(randomBytes(SEED_BYTES)) },
    ...{ results: new SharedArrayBuffer(jobs.length * COMPARE_SLOT_BYTES), next: new SharedArrayBuffer(4) },
  };
  const inline: CompareExecutor = (own, onJob) => {
    runCompareJobs(keys, own, onJob);
    return Promise.resolve();
  };
  let done = 0;
  await (options.execute ?? inline)(work, () => {
    done += 1;
    options.onProgress?.(done / jobs.length);
  });
  judge(compared, work);
}

function judge({ pairing, before, after }: ComparedKeys, work: CompareWork): void {
  for (const [i, { section }] of work.jobs.entries()) {
    const [finding, index = 0, file] = new Uint32Array(work.results, i * COMPARE_SLOT_BYTES, 3);
    const point = `point ${index} of ${section.toUpperCase()}${file === 0 ? " of the key before it" : ""}`;
    if (finding === COMPARED.not_canonical)
      throw new CeremonyError("point_not_canonical", `${point} has a coordinate that is not below the curve's prime`);
    if (finding === COMPARED.not_on_curve) throw new CeremonyError("point_not_on_curve", `${point} is off the curve`);
    if (finding === COMPARED.infinity)
      throw new CeremonyError("infinity_differs", `${point} is infinity in one of both keys only`);
  }
  const isDone = work.jobs.every(
    (_, i) => new Uint32Array(work.results, i * COMPARE_SLOT_BYTES, 1)[0] === COMPARED.sound,
  );
  if (!isDone) throw new Error("a part of the check did not run");
  for (const section of ["c", "h"] as const) {
    const [old, own] = [0, 1].map((file) => totalOf(pairing, work, { section, file }));
    if (!isRatio(pairing, { old, oldDelta: before.delta.g2 }, { own, ownDelta: after.delta.g2 }))
      throw new CeremonyError(
        "points_inconsistent",
        `the points of ${section.toUpperCase()} were not all divided by what delta was multiplied by`,
      );
  }
}

/** Tells whether the sums differ as the deltas do, the other way round. */
function isRatio(
  pairing: PairingKernels,
  { old, oldDelta }: { readonly old: G1Point | undefined; readonly oldDelta: G2Point },
  { own, ownDelta }: { readonly own: G1Point | undefined; readonly ownDelta: G2Point },
): boolean {
  if (old === undefined || own === undefined) return old === own;
  return pairing.equalPairingValues(
    pairing.pairingProduct([{ g1: old, g2: oldDelta }]),
    pairing.pairingProduct([{ g1: own, g2: ownDelta }]),
  );
}

function totalOf(
  pairing: PairingKernels,
  work: CompareWork,
  { section, file }: { readonly section: "c" | "h"; readonly file: number },
): G1Point | undefined {
  const { curve } = pairing;
  const terms = work.jobs.flatMap((job, i) => {
    if (job.section !== section) return [];
    const at = i * COMPARE_SLOT_BYTES + COMPARE_SUMS_AT + file * COMPARE_POINT_BYTES;
    const bytes = new Uint8Array(work.results, at, 2 * curve.fqBytes);
    if (bytes.every((byte) => byte === 0)) return [];
    const point = decodeG1(bytes, 0, curve);
    if (point === undefined) throw new Error("a sum of points of the curve is off the curve");
    return [{ point, scalar: 1n }];
  });
  return pairing.combineG1(terms);
}
