/**
 * The bulk of a contribution's check, cut into jobs that any number of threads take from a shared counter: each reads
 * the same range of points of two keys, tests every point, and sums both by the same random weights. The verdict over
 * the sums is in check-contribution.ts.
 */
import { areCanonical } from "../../curves/canonical-points.js";
import { curveNamed } from "../../curves/curves.js";
import type { CurveName, CurveParameters } from "../../curves/curve-parameters.js";
import { WASM_PAGE_BYTES } from "../../circuit/wasm-memory.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../../kernels/kernels.js";
import type { Kernels } from "../../kernels/kernels.js";
import { msmWorkspaceBytes } from "../../kernels/msm/msm-lists.js";
import { Msm } from "../../kernels/msm/msm.js";
import { Arena } from "../../kernels/wasm/arena.js";
import { writeWeights } from "../../powers-of-tau/check-weights.js";
import type { RangeFile } from "../../powers-of-tau/file-layout.js";

/** The key before the contribution and the one after it. */
export interface KeyPair {
  readonly before: RangeFile;
  readonly after: RangeFile;
}

export interface CompareJob {
  readonly section: "c" | "h";
  /** First byte in each file. */
  readonly before: number;
  readonly after: number;
  /** The first point's place in the section, and their number. */
  readonly first: number;
  readonly count: number;
}

/** Everything that a thread needs beside its own handles on the files; may be posted to one. */
export interface CompareWork {
  readonly kind: "compare";
  readonly curve: CurveName;
  readonly jobs: readonly CompareJob[];
  /** The weights follow from it; drawn after both files were fixed. */
  readonly seed: Uint8Array;
  /** A slot of `COMPARE_SLOT_BYTES` for each job: finding u32 || place of the point u32 || file u32 || both sums. */
  readonly results: SharedArrayBuffer;
  /** One 32-bit counter: the next job to take. */
  readonly next: SharedArrayBuffer;
}

/** Runs all jobs, on one thread or several; calls `onJob` after each job. */
export type CompareExecutor = (work: CompareWork, onJob: () => void) => Promise<void>;

/** What a job found first. A slot is `unfinished` until its job has run to the end. */
export const COMPARED = { unfinished: 0, sound: 1, not_canonical: 2, not_on_curve: 3, infinity: 4 } as const;
export const COMPARE_SUMS_AT = 16;
/** Room for a point of the largest curve. */
export const COMPARE_POINT_BYTES = 96;
export const COMPARE_SLOT_BYTES = COMPARE_SUMS_AT + 2 * COMPARE_POINT_BYTES;

/** Points of one job: enough for wide windows, few enough that threads end together. */
const JOB_POINTS = 1 << 15;
const FIXED_BYTES = 1 << 16;

/** Cuts a section into jobs. */
export function cutSectionPair(
  section: "c" | "h",
  places: { readonly before: number; readonly after: number; readonly size: number },
  pointBytes: number,
): CompareJob[] {
  const total = places.size / pointBytes;
  return Array.from({ length: Math.ceil(total / JOB_POINTS) }, (_, i) => ({
    section,
    before: places.before + i * JOB_POINTS * pointBytes,
    after: places.after + i * JOB_POINTS * pointBytes,
    first: i * JOB_POINTS,
    count: Math.min(JOB_POINTS, total - i * JOB_POINTS),
  }));
}

/** Takes jobs until none is left, or until one found a fault; blocks the calling thread. */
export function runCompareJobs(keys: KeyPair, work: CompareWork, onJob: () => void): void {
  const next = new Int32Array(work.next);
  const comparer = new RangeComparer(keys, work);
  for (let i = Atomics.add(next, 0, 1); i < work.jobs.length; i = Atomics.add(next, 0, 1)) {
    const job = work.jobs[i];
    if (job === undefined) break;
    const isSound = comparer.run(job, i * COMPARE_SLOT_BYTES);
    onJob();
    // The other threads stop at their next job.
    if (!isSound) Atomics.store(next, 0, work.jobs.length);
  }
}

/** One thread's kernels, and room for the largest job. */
class RangeComparer {
  readonly #curve: CurveParameters;
  readonly #kernels: Kernels;
  readonly #arena: Arena;
  readonly #keys: KeyPair;
  readonly #work: CompareWork;

  constructor(keys: KeyPair, work: CompareWork) {
    const curve = curveNamed(work.curve);
    const sizing = loadKernels({ pages: 1, curve });
    const count = Math.max(1, ...work.jobs.map((job) => job.count));
    const bytes =
      count * (2 * sizing.fq.bytes + sizing.g1.pointBytes + sizing.fr.bytes) + msmWorkspaceBytes(sizing, "g1", count);
    const pages = Math.ceil((KERNEL_RESERVED_BYTES + bytes + FIXED_BYTES) / WASM_PAGE_BYTES);
    this.#curve = curve;
    this.#kernels = loadKernels({ pages, curve, preferred: sizing.kind });
    this.#arena = new Arena(KERNEL_RESERVED_BYTES, pages * WASM_PAGE_BYTES);
    this.#keys = keys;
    this.#work = work;
  }

  /** Returns whether the range has no fault; what was found or computed is in the slot. */
  run(job: CompareJob, slotAt: number): boolean {
    const pointBytes = 2 * this.#curve.fqBytes;
    const head = new Uint32Array(this.#work.results, slotAt, COMPARE_SUMS_AT / 4);
    const weights = new Uint8Array(job.count * this.#curve.frBytes);
    // C and H have the same weights: each is an equation of its own.
    writeWeights(weights, this.#work.seed, { first: job.first, scalarBytes: this.#curve.frBytes });
    let infinities: Uint8Array | undefined;
    for (const [i, name] of (["before", "after"] as const).entries()) {
      const points = new Uint8Array(job.count * pointBytes);
      this.#keys[name].read(points, job[name]);
      const fault = (finding: number, index: number): boolean => {
        head.set([finding, job.first + index, i]);
        return false;
      };
      if (!areCanonical(points, this.#curve)) return fault(COMPARED.not_canonical, firstAlias(points, this.#curve));
      const marks = infinitiesOf(points, pointBytes);
      const differs = infinities?.findIndex((mark, k) => mark !== marks[k]) ?? -1;
      if (differs >= 0) return fault(COMPARED.infinity, differs);
      infinities = marks;
      const sumAt = slotAt + COMPARE_SUMS_AT + i * COMPARE_POINT_BYTES;
      const off = this.#sum({ points, marks, weights }, new Uint8Array(this.#work.results, sumAt, pointBytes));
      if (off !== undefined) return fault(COMPARED.not_on_curve, off);
    }
    head[0] = COMPARED.sound;
    return true;
  }

  /** Writes the weighted sum of the finite points, and returns the place of one that is not on the curve. */
  #sum(
    { points, marks, weights }: { points: Uint8Array; marks: Uint8Array; weights: Uint8Array },
    output: Uint8Array,
  ): number | undefined {
    const kernels = this.#kernels;
    const { fq, fr, g1 } = kernels;
    const rawBytes = 2 * fq.bytes;
    const count = marks.length - marks.reduce((sum, mark) => sum + mark, 0);
    if (count === 0) return undefined;
    return this.#arena.scoped(() => {
      const [raw, scalars] = [this.#arena.take(count * rawBytes), this.#arena.take(count * fr.bytes)];
      const [rawView, scalarView] = [kernels.bytes(raw, count * rawBytes), kernels.bytes(scalars, count * fr.bytes)];
      let at = 0;
      for (const [from, to] of finiteRuns(marks)) {
        rawView.set(points.subarray(from * rawBytes, to * rawBytes), at * rawBytes);
        scalarView.set(weights.subarray(from * fr.bytes, to * fr.bytes), at * fr.bytes);
        at += to - from;
      }
      const imported = this.#arena.take(count * g1.pointBytes);
      kernels.call("fq_import_foreign", imported, raw, 2 * count);
      const off = kernels.callOne("g1_survey", imported, count);
      if (off < count) {
        // The kernel names the first of two neighbours.
        const isFirst = kernels.callOne("g1_survey", imported + off * g1.pointBytes, 1) === 0;
        return placeOf(marks, off + (isFirst ? 0 : 1));
      }
      const sum = this.#arena.take(g1.pointBytes);
      new Msm(kernels, "g1", this.#arena).run({ points: imported, scalars, indices: 0, count }, sum);
      const [copy, plain] = [this.#arena.take(g1.pointBytes), this.#arena.take(rawBytes)];
      kernels.call("g1_copy_for_export", copy, sum);
      kernels.call("fq_export_foreign", plain, copy, 2);
      output.set(kernels.bytes(plain, rawBytes));
      return undefined;
    });
  }
}

/** The ranges of neighbours that are finite. */
function finiteRuns(marks: Uint8Array): (readonly [from: number, to: number])[] {
  const runs: (readonly [number, number])[] = [];
  for (let from = marks.indexOf(0); from >= 0;) {
    const end = marks.indexOf(1, from);
    const to = end < 0 ? marks.length : end;
    runs.push([from, to]);
    from = marks.indexOf(0, to);
  }
  return runs;
}

/** The place of the finite point of that number. */
function placeOf(marks: Uint8Array, number: number): number {
  let left = number;
  for (const [from, to] of finiteRuns(marks)) {
    if (left < to - from) return from + left;
    left -= to - from;
  }
  throw new RangeError("there are fewer finite points");
}

/** A byte for each point: 1 for infinity. */
function infinitiesOf(points: Uint8Array, pointBytes: number): Uint8Array {
  const marks = new Uint8Array(points.length / pointBytes);
  for (let i = 0; i < marks.length; i += 1) {
    let at = i * pointBytes;
    const end = at + pointBytes;
    while (at < end && points[at] === 0) at += 1;
    marks[i] = at === end ? 1 : 0;
  }
  return marks;
}

function firstAlias(points: Uint8Array, curve: CurveParameters): number {
  const pointBytes = 2 * curve.fqBytes;
  let index = 0;
  while (areCanonical(points.subarray(index * pointBytes, (index + 1) * pointBytes), curve)) index += 1;
  return index;
}
