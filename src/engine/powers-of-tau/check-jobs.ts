/**
 * The bulk of a check, cut into jobs that any number of threads of one process take from a shared counter: each reads a
 * range of points, tests every one of them, and computes weighted sums. The verdict over the sums is in
 * check-powers.ts.
 */
import type { CurveParameters } from "../curves/curve-parameters.js";
import { WASM_PAGE_BYTES } from "../circuit/wasm-memory.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../kernels/kernels.js";
import type { Kernels } from "../kernels/kernels.js";
import { msmListBytes, msmScratchBytes, takeMsmLists } from "../kernels/msm/msm-lists.js";
import { Msm } from "../kernels/msm/msm.js";
import { Arena } from "../kernels/wasm/arena.js";
import { BN254 } from "../curves/bn254.js";
import { challengeBytes, hashChallenge } from "./ceremony-challenge.js";
import type { ChallengeJob } from "./ceremony-challenge.js";
import { lagrangeCoefficients, writeWeights } from "./check-weights.js";
import type { PointSection, RangeFile } from "./file-layout.js";

/** A range of a section whose points are tested and summed. */
export interface SumJob {
  readonly kind: "sums";
  readonly section: PointSection;
  readonly first: number;
  readonly count: number;
  /** Place of the weight of its first point. */
  readonly firstWeight: number;
  /** Whether the points are also weighed by the weights of the points before them. */
  readonly isShifted: boolean;
  /** Whether the points are also weighed by the Lagrange coefficients. */
  readonly isCombined: boolean;
}

/** Computes `coefficients` of the work, for which the jobs of the powers of tauG1 wait; comes before them. */
export interface CoefficientsJob {
  readonly kind: "coefficients";
  /** That of the file. */
  readonly power: number;
}

export type CheckJob = SumJob | ChallengeJob | CoefficientsJob;

/** Everything that a thread needs beside its own handle on the file; may be posted to one. */
export interface CheckWork {
  readonly curve: CurveParameters;
  readonly jobs: readonly CheckJob[];
  readonly seed: Uint8Array;
  /**
   * Scalars by which the powers of tauG1 give the weighted sum of its Lagrange points, and a 32-bit flag that is 1 once
   * they are there; undefined without such points.
   */
  readonly coefficients: { readonly scalars: SharedArrayBuffer; readonly flag: SharedArrayBuffer } | undefined;
  /** A slot of `SLOT_BYTES` for each job. */
  readonly results: SharedArrayBuffer;
  /** One 32-bit counter: the next job to take. */
  readonly next: SharedArrayBuffer;
}

/** Runs all jobs, on one thread or several; calls `onJob` after each job. */
export type CheckExecutor = (work: CheckWork, onJob: () => void) => Promise<void>;

/** What a job found first. A slot is `unfinished` until its job has run to the end. */
export const FINDING = { unfinished: 0, sound: 1, not_canonical: 2, infinity: 3, not_on_curve: 4 } as const;

/**
 * Layout of a slot: finding u32 || index of the point u32 || windows u32 || bits of a window u32 || points as in the
 * file, infinity as zeros: the sum, that of the points shifted by one, that by the coefficients, then the windows'. A
 * challenge's hash stands in place of the points.
 */
export const SLOT = { finding: 0, index: 1, windows: 2, windowBits: 3, points: 16 } as const;
export const SUM = { weighted: 0, shifted: 1, combined: 2, windows: 3 } as const;
/** 128 bits of weights in windows of at least two bits. */
const WINDOWS_MAX = 64;
/** BN254 is the only curve whose powers are taken: larger points do not fit a slot. */
const POINT_BYTES_MAX = 4 * BN254.fqBytes;
export const SLOT_BYTES = SLOT.points + (SUM.windows + WINDOWS_MAX) * POINT_BYTES_MAX;

/** Points of one job: enough for wide windows, few enough that threads end together. */
const JOB_POINTS = { g1: 1 << 15, g2: 1 << 14 } as const;
/** Bits of the weights that fill whole windows. */
const WEIGHT_BITS = 128;
const FIXED_BYTES = 1 << 16;

/** Cuts the points from `begin` to before `end` of a section into jobs. */
export function cutSection(
  section: PointSection,
  {
    begin,
    end,
    firstWeight = begin,
    ...sums
  }: { readonly begin: number; readonly end: number; readonly firstWeight?: number } & Pick<
    SumJob,
    "isShifted" | "isCombined"
  >,
): SumJob[] {
  const size = JOB_POINTS[section.group];
  return Array.from({ length: Math.ceil((end - begin) / size) }, (_, i) => {
    const first = begin + i * size;
    const count = Math.min(size, end - first);
    return { kind: "sums", section, first, count, firstWeight: firstWeight + i * size, ...sums };
  });
}

/** Takes jobs until none is left, or until one found a fault; blocks the calling thread. */
export function runCheckJobs(file: RangeFile, work: CheckWork, onJob: () => void): void {
  const next = new Int32Array(work.next);
  const checker = new RangeChecker(file, work);
  for (let i = Atomics.add(next, 0, 1); i < work.jobs.length; i = Atomics.add(next, 0, 1)) {
    const job = work.jobs[i];
    if (job === undefined) break;
    const isSound = checker.run(job, i * SLOT_BYTES);
    onJob();
    // The other threads stop at their next job.
    if (!isSound) Atomics.store(next, 0, work.jobs.length);
  }
}

/** One thread's kernels, and room for the largest job. */
class RangeChecker {
  readonly #kernels: Kernels;
  readonly #arena: Arena;
  readonly #file: RangeFile;
  readonly #work: CheckWork;

  constructor(file: RangeFile, work: CheckWork) {
    const { curve } = work;
    if (4 * curve.fqBytes > POINT_BYTES_MAX)
      throw new RangeError(`the results have no room for points of ${curve.name}`);
    const sizing = loadKernels({ pages: 1, curve });
    const sums = work.jobs.filter((job) => job.kind === "sums");
    const bytes = (["g1", "g2"] as const).map((group) => {
      const count = 1 + Math.max(0, ...sums.filter(({ section }) => section.group === group).map((job) => job.count));
      const raw = (group === "g1" ? 2 : 4) * sizing.fq.bytes;
      return (
        count * (raw + sizing[group].pointBytes + 2 * sizing.fr.bytes) +
        msmListBytes(sizing, group, count) +
        msmScratchBytes(sizing, group, count)
      );
    });
    const pages = Math.ceil(
      (KERNEL_RESERVED_BYTES + Math.max(challengeBytes(sizing), ...bytes) + FIXED_BYTES) / WASM_PAGE_BYTES,
    );
    this.#kernels = loadKernels({ pages, curve, preferred: sizing.kind });
    this.#arena = new Arena(KERNEL_RESERVED_BYTES, pages * WASM_PAGE_BYTES);
    this.#file = file;
    this.#work = work;
  }

  /** Returns whether the range has no fault; what was found or computed is in the slot. */
  run(job: CheckJob, slotAt: number): boolean {
    const { results } = this.#work;
    return this.#arena.scoped(() => {
      if (job.kind === "challenge") {
        const hash = hashChallenge(this.#kernels, this.#arena, this.#file, job);
        new Uint8Array(results, slotAt + SLOT.points, hash.length).set(hash);
        new Uint32Array(results, slotAt, 1).set([FINDING.sound]);
        return true;
      }
      if (job.kind === "sums") return this.#runSums(job, slotAt);
      this.#findCoefficients(job);
      new Uint32Array(results, slotAt, 1).set([FINDING.sound]);
      return true;
    });
  }

  #findCoefficients({ power }: CoefficientsJob): void {
    const { curve, seed, coefficients } = this.#work;
    if (coefficients === undefined) return;
    new Uint8Array(coefficients.scalars).set(lagrangeCoefficients(curve, power, seed));
    const flag = new Int32Array(coefficients.flag);
    Atomics.store(flag, 0, 1);
    Atomics.notify(flag, 0);
  }

  #runSums(job: SumJob, slotAt: number): boolean {
    const kernels = this.#kernels;
    const { section } = job;
    const { group } = section;
    const head = new Uint32Array(this.#work.results, slotAt, SLOT.points / 4);
    // The point after the range takes part in the shifted sum.
    const count = job.count + (job.isShifted ? 1 : 0);
    const raw = this.#arena.take(count * section.pointBytes);
    this.#file.read(kernels.bytes(raw, count * section.pointBytes), section.offset + job.first * section.pointBytes);
    const fault = findRawFault(kernels, raw, { count, pointBytes: section.pointBytes });
    if (fault !== undefined) {
      head.set([fault.finding, job.first + fault.index]);
      return false;
    }
    const points = this.#arena.take(count * kernels[group].pointBytes);
    const coordinates = section.pointBytes / kernels.fq.bytes;
    kernels.call("fq_import_foreign", points, raw, count * coordinates);
    const off = kernels.callOne(`${group}_survey`, points, count);
    if (off < count) {
      // The kernel names the first of two neighbours.
      const isFirst = kernels.callOne(`${group}_survey`, points + off * kernels[group].pointBytes, 1) === 0;
      head.set([FINDING.not_on_curve, job.first + off + (isFirst ? 0 : 1)]);
      return false;
    }
    this.#sum(job, points, slotAt);
    head[SLOT.finding] = FINDING.sound;
    return true;
  }

  #sum(job: SumJob, points: number, slotAt: number): void {
    const kernels = this.#kernels;
    const { group } = job.section;
    const { bytes } = kernels.fr;
    const scalars = this.#arena.take(job.count * bytes);
    const weights = kernels.bytes(scalars, job.count * bytes);
    writeWeights(weights, this.#work.seed, { first: job.firstWeight, scalarBytes: bytes });
    const sumOf = (from: number, sum: number): void => {
      this.#multiply({ group, points: from, scalars, count: job.count }, { slotAt, sum });
    };
    sumOf(points, SUM.weighted);
    if (job.isShifted) sumOf(points + kernels[group].pointBytes, SUM.shifted);
    const { coefficients } = this.#work;
    if (!job.isCombined || coefficients === undefined) return;
    // Another thread may still compute them.
    Atomics.wait(new Int32Array(coefficients.flag), 0, 0);
    const own = new Uint8Array(coefficients.scalars, job.first * bytes, job.count * bytes);
    kernels.bytes(scalars, own.length).set(own);
    sumOf(points, SUM.combined);
  }

  /** Computes a sum into its place of the slot, and in G2 the sums of the weights' windows. */
  #multiply(
    input: { readonly group: "g1" | "g2"; readonly points: number; readonly scalars: number; readonly count: number },
    place: { readonly slotAt: number; readonly sum: number },
  ): void {
    const arena = this.#arena;
    const { group } = input;
    arena.scoped(() => {
      const { pointBytes } = this.#kernels[group];
      const msm = new Msm(this.#kernels, group, arena);
      const lists = takeMsmLists(this.#kernels, group, arena, { count: input.count });
      msm.prepare({ ...input, indices: 0 }, lists);
      for (let part = 0; part < msm.partCount(lists); part += 1) msm.runPart(lists, part);
      const sum = arena.take(pointBytes);
      msm.finish(lists, sum);
      this.#export(group, sum, place.slotAt + SLOT.points + place.sum * POINT_BYTES_MAX);
      if (group === "g1") return;
      const { windowBits } = msm.windowsOf(lists);
      const targets = Array.from({ length: Math.min(WINDOWS_MAX, Math.floor(WEIGHT_BITS / windowBits)) }, () =>
        arena.take(pointBytes),
      );
      msm.windowSums(lists, targets);
      new Uint32Array(this.#work.results, place.slotAt, SLOT.points / 4).set(
        [targets.length, windowBits],
        SLOT.windows,
      );
      for (const [w, target] of targets.entries())
        this.#export(group, target, place.slotAt + SLOT.points + (SUM.windows + w) * POINT_BYTES_MAX);
    });
  }

  #export(group: "g1" | "g2", point: number, resultAt: number): void {
    const kernels = this.#kernels;
    const bytes = (group === "g1" ? 2 : 4) * kernels.fq.bytes;
    this.#arena.scoped(() => {
      const copy = this.#arena.take(kernels[group].pointBytes);
      const foreign = this.#arena.take(bytes);
      kernels.call(`${group}_copy_for_export`, copy, point);
      kernels.call("fq_export_foreign", foreign, copy, bytes / kernels.fq.bytes);
      new Uint8Array(this.#work.results, resultAt, bytes).set(kernels.bytes(foreign, bytes));
    });
  }
}

/** Finds the first point with a coordinate that is not below the prime, or that is infinity. */
function findRawFault(
  kernels: Kernels,
  raw: number,
  { count, pointBytes }: { readonly count: number; readonly pointBytes: number },
): { readonly finding: number; readonly index: number } | undefined {
  const perCoordinate = kernels.fq.bytes / 4;
  const perPoint = pointBytes / 4;
  const prime = Uint32Array.from({ length: perCoordinate }, (_, i) =>
    Number((kernels.curve.q >> BigInt(32 * i)) & 0xffffffffn),
  );
  const words = kernels.words(raw, count * perPoint);
  const last = perCoordinate - 1;
  const top = prime[last] ?? 0;
  for (let point = 0; point < count; point += 1) {
    let isZero = true;
    for (let at = point * perPoint; at < (point + 1) * perPoint; at += perCoordinate) {
      const highest = words[at + last] ?? 0;
      if (highest >= top && (highest > top || !isBelow(words.subarray(at, at + perCoordinate), prime)))
        return { finding: FINDING.not_canonical, index: point };
      isZero &&= highest === 0 && words.subarray(at, at + perCoordinate).every((word) => word === 0);
    }
    if (isZero) return { finding: FINDING.infinity, index: point };
  }
  return undefined;
}

/** Compares two integers of 32-bit words, the lowest first. */
function isBelow(words: Uint32Array, bound: Uint32Array): boolean {
  const at = words.findLastIndex((word, i) => word !== bound[i]);
  return at >= 0 && (words[at] ?? 0) < (bound[at] ?? 0);
}
