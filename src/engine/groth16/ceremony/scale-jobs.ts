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
  /** Two words of 32 bits: the next job to take, and 1 when a point is not on the curve. */
  readonly shared: SharedArrayBuffer;
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

const WORD = { next: 0, refused: 1 } as const;

/** Returns the words that threads share. */
export function sharedWords(): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * Object.keys(WORD).length);
}

/** Makes all threads end after the job that each has taken. */
export function stopScaleJobs({ shared, jobs }: ScaleWork): void {
  Atomics.store(new Int32Array(shared), WORD.next, jobs.length);
}

/** Tells whether a point was refused. */
export function hasRefusedPoint({ shared }: ScaleWork): boolean {
  return Atomics.load(new Int32Array(shared), WORD.refused) === 1;
}

/** Takes jobs until none is left, or a point is not on the curve; blocks the calling thread. */
export function runScaleJobs({ source, target }: KeyFiles, work: ScaleWork, onJob: () => void): void {
  const words = new Int32Array(work.shared);
  const scaler = new PointScaler(curveNamed(work.curve), readBigIntLE(work.scalar));
  try {
    for (;;) {
      const job = work.jobs[Atomics.add(words, WORD.next, 1)];
      if (job === undefined) break;
      const points = new Uint8Array(job.bytes);
      source.read(points, job.from);
      if (!scaler.scale(points, points)) {
        Atomics.store(words, WORD.refused, 1);
        stopScaleJobs(work);
        break;
      }
      target.write(points, job.to);
      onJob();
    }
  } finally {
    scaler.wipe();
  }
}
