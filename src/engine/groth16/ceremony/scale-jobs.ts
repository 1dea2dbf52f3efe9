/**
 * The bulk of a contribution, cut into jobs that any number of threads take from a shared counter: each reads a range
 * of points from one file and writes their multiples to another.
 */
import { curveNamed } from "../../curves/curves.js";
import type { CurveName } from "../../curves/curve-parameters.js";
import { readBigIntLE } from "../../field/bytes.js";
import { PointScaler } from "../../kernels/msm/scale-points.js";
import type { RangeFile } from "../../powers-of-tau/file-layout.js";

/** A file that is written in ranges. */
export interface RangeTarget {
  write(source: Uint8Array, offset: number): void;
}

/** Where contributions read and write. */
export interface KeyFiles {
  readonly source: RangeFile;
  readonly target: RangeTarget;
}

interface ScaleJob {
  /** First byte in the source, and in the target. */
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
}

/** Everything that a thread needs beside its own handles on the files; may be posted to one. */
export interface ScaleWork {
  readonly kind: "scale";
  readonly curve: CurveName;
  /** Little-endian. It is the inverse of a secret: threads end with their process. */
  readonly scalar: Uint8Array;
  readonly jobs: readonly ScaleJob[];
  /** One 32-bit counter: the next job to take. */
  readonly next: SharedArrayBuffer;
}

/** Runs all jobs, on one thread or several; calls `onJob` after each job. */
export type ScaleExecutor = (work: ScaleWork, onJob: () => void) => Promise<void>;

/** Points of one job: some tens of milliseconds, so that threads end together and progress moves. */
const JOB_POINTS = 4096;

/** Cuts a section into jobs. */
export function cutPoints({ from, to, bytes }: ScaleJob, pointBytes: number): ScaleJob[] {
  const size = JOB_POINTS * pointBytes;
  return Array.from({ length: Math.ceil(bytes / size) }, (_, i) => ({
    from: from + i * size,
    to: to + i * size,
    bytes: Math.min(size, bytes - i * size),
  }));
}

/** Takes jobs until none is left; blocks the calling thread. */
export function runScaleJobs({ source, target }: KeyFiles, work: ScaleWork, onJob: () => void): void {
  const next = new Int32Array(work.next);
  const scaler = new PointScaler(curveNamed(work.curve), readBigIntLE(work.scalar));
  try {
    for (let i = Atomics.add(next, 0, 1); i < work.jobs.length; i = Atomics.add(next, 0, 1)) {
      const job = work.jobs[i];
      if (job === undefined) break;
      const points = new Uint8Array(job.bytes);
      source.read(points, job.from);
      scaler.scale(points, points);
      target.write(points, job.to);
      onJob();
    }
  } finally {
    scaler.wipe();
  }
}
