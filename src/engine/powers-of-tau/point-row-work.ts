/**
 * Sums of rows of points (kernels/msm/point-rows.ts), cut into jobs that any number of threads of one process take from
 * a shared counter: the bulk of a setup from published powers.
 */
import type { CurveKernels } from "../curves/curve-kernels.js";
import { curveNamed } from "../curves/curves.js";
import type { CurveName } from "../curves/curve-parameters.js";
import { decodeG1, decodeG2, encodeG1, encodeG2 } from "../curves/points.js";
import { PointRowSums, ROW_TERMS_MAX } from "../kernels/msm/point-rows.js";
import type { PointRows } from "../kernels/msm/point-rows.js";

interface RowJob {
  readonly run: number;
  readonly first: number;
  readonly count: number;
}

/** Everything that a thread needs; may be posted to one, which then shares what lies in shared memory. */
export interface PointRowWork {
  readonly curve: CurveName;
  readonly runs: readonly PointRows[];
  /** Of each run, a point for each row. */
  readonly outputs: readonly SharedArrayBuffer[];
  readonly jobs: readonly RowJob[];
  /** One 32-bit counter: the next job to take. */
  readonly next: SharedArrayBuffer;
}

/** Runs all jobs, on one thread or several; calls `onJob` after each job. */
export type PointRowExecutor = (work: PointRowWork, onJob: () => void) => Promise<void>;

export interface PointRowOptions {
  /** How the sums are computed; inline by default, on several threads in the setup process. */
  readonly executeRows?: PointRowExecutor;
  /** Called with the share that is done, 0 to 1. */
  readonly onProgress?: (share: number) => void;
}

/** Rows of one job: some tens of milliseconds, so that threads end together and progress moves. */
const JOB_ROWS = { g1: 1024, g2: 256 } as const;

/** Takes jobs until none is left; blocks the calling thread. */
export function runPointRowJobs(work: PointRowWork, onJob: () => void): void {
  const next = new Int32Array(work.next);
  const curve = curveNamed(work.curve);
  const sums = new PointRowSums(curve, itemsMaxOf(work));
  try {
    for (let i = Atomics.add(next, 0, 1); i < work.jobs.length; i = Atomics.add(next, 0, 1)) {
      const job = work.jobs[i];
      const [rows, output] = job === undefined ? [] : [work.runs[job.run], work.outputs[job.run]];
      if (job === undefined || rows === undefined || output === undefined) break;
      const bytes = pointBytes(rows, curve);
      sums.sum(rows, job, new Uint8Array(output, job.first * bytes, job.count * bytes));
      onJob();
    }
  } finally {
    sums.wipe();
  }
}

/** Runs the work on the calling thread and blocks it until the end: for small circuits. */
export const runPointRowsInline: PointRowExecutor = (work, onJob) => {
  runPointRowJobs(work, onJob);
  return Promise.resolve();
};

/** Returns the points of each run, one for each of its rows. Rows may have any number of terms. */
export async function sumPointRows(
  kernels: CurveKernels,
  runs: readonly PointRows[],
  { executeRows = runPointRowsInline, onProgress }: PointRowOptions = {},
): Promise<Uint8Array[]> {
  const { curve } = kernels;
  const cut = runs.map((rows) => cutRows(rows));
  const outputs = cut.map(({ rows }) => new SharedArrayBuffer((rows.starts.length - 1) * pointBytes(rows, curve)));
  // The longest jobs first: the short ones then even out the threads.
  const jobs = cut
    .flatMap(({ rows }, run) => planJobs(rows, run))
    .sort((one, other) => (runs[other.run]?.group ?? "").localeCompare(runs[one.run]?.group ?? ""));
  let done = 0;
  const work = {
    ...{ curve: curve.name, jobs, outputs, next: new SharedArrayBuffer(4) },
    runs: cut.map(({ rows }) => rows),
  };
  await executeRows(work, () => {
    done += 1;
    onProgress?.(done / jobs.length);
  });
  return cut.map((part, i) => joinParts(kernels, part, new Uint8Array(outputs[i] ?? new SharedArrayBuffer(0))));
}

interface CutRows {
  readonly rows: PointRows;
  /** The first part of each row, and the number of all parts at the end; undefined where every row is one part. */
  readonly partsOf: Uint32Array | undefined;
}

/** Cuts rows that are too long for a call into parts. */
function cutRows(rows: PointRows): CutRows {
  const { starts } = rows;
  const count = starts.length - 1;
  const partStarts: number[] = [];
  const partsOf = new Uint32Array(count + 1);
  for (let row = 0; row < count; row += 1) {
    partsOf[row] = partStarts.length;
    const [start = 0, end = 0] = [starts[row], starts[row + 1]];
    partStarts.push(start);
    for (let at = start + ROW_TERMS_MAX; at < end; at += ROW_TERMS_MAX) partStarts.push(at);
  }
  if (partStarts.length === count) return { rows, partsOf: undefined };
  partsOf[count] = partStarts.length;
  partStarts.push(starts[count] ?? 0);
  return { rows: { ...rows, starts: Uint32Array.from(partStarts) }, partsOf };
}

function planJobs({ starts, group }: PointRows, run: number): RowJob[] {
  const count = starts.length - 1;
  const jobs: RowJob[] = [];
  for (let first = 0; first < count;) {
    const from = starts[first] ?? 0;
    let end = first + 1;
    while (end < count && end - first < JOB_ROWS[group] && (starts[end + 1] ?? 0) - from <= ROW_TERMS_MAX) end += 1;
    jobs.push({ run, first, count: end - first });
    first = end;
  }
  return jobs;
}

/** Adds the parts of the rows that were cut. */
function joinParts(kernels: CurveKernels, { rows, partsOf }: CutRows, points: Uint8Array): Uint8Array {
  if (partsOf === undefined) return points;
  const { curve } = kernels;
  const bytes = pointBytes(rows, curve);
  const joined = new Uint8Array((partsOf.length - 1) * bytes);
  for (let row = 0; row + 1 < partsOf.length; row += 1) {
    const [first = 0, end = 0] = [partsOf[row], partsOf[row + 1]];
    const parts = points.subarray(first * bytes, end * bytes);
    joined.set(end - first === 1 ? parts : addParts(kernels, rows.group, parts), row * bytes);
  }
  return joined;
}

function addParts(kernels: CurveKernels, group: "g1" | "g2", parts: Uint8Array): Uint8Array {
  const { curve } = kernels;
  const bytes = pointBytes({ group }, curve);
  const places = Array.from({ length: parts.length / bytes }, (_, i) => i * bytes).filter((at) =>
    parts.subarray(at, at + bytes).some((byte) => byte !== 0),
  );
  if (group === "g1") {
    const sum = kernels.combineG1(places.map((at) => ({ point: decodeG1(parts, at, curve), scalar: 1n })));
    return sum === undefined ? new Uint8Array(bytes) : encodeG1(sum, curve);
  }
  const sum = kernels.combineG2(places.map((at) => ({ point: decodeG2(parts, at, curve), scalar: 1n })));
  return sum === undefined ? new Uint8Array(bytes) : encodeG2(sum, curve);
}

/** Most rows, or terms, of a job. */
function itemsMaxOf({ jobs, runs }: PointRowWork): number {
  return jobs.reduce((most, { run, first, count }) => {
    const starts = runs[run]?.starts ?? new Uint32Array(0);
    return Math.max(most, count, (starts[first + count] ?? 0) - (starts[first] ?? 0));
  }, 1);
}

function pointBytes({ group }: Pick<PointRows, "group">, { fqBytes }: { readonly fqBytes: number }): number {
  return group === "g1" ? 2 * fqBytes : 4 * fqBytes;
}
