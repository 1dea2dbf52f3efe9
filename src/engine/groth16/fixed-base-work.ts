/**
 * The bulk of a setup, cut into jobs that any number of threads of one process take from a shared counter: multiples of the
 * generators, from a buffer of secret scalars into the key's own bytes.
 */
import { Arena } from "../curve/arena.js";
import type { CurveProgram } from "../backends/snarkjs.js";
import { BN254 } from "../curve/curve-parameters.js";
import { FixedBaseTable } from "../curve/fixed-base.js";
import { encodeG1, encodeG2 } from "../curve/points.js";
import { SCALAR_BYTES } from "../curve/signed-digits.js";

/** One run of points: `count` scalars from `scalarsAt` on, their points to `outputAt`; byte offsets. */
export interface FixedBaseJob {
  readonly group: "G1" | "G2";
  readonly scalarsAt: number;
  readonly outputAt: number;
  readonly count: number;
}

/** Everything that a thread needs; may be posted to one. */
export interface FixedBaseWork {
  readonly program: CurveProgram;
  readonly jobs: readonly FixedBaseJob[];
  /** 32 bytes little-endian each. Secret: they stand in a fixed relation to the trapdoor. */
  readonly scalars: SharedArrayBuffer;
  readonly output: SharedArrayBuffer;
  /** One 32-bit counter: the next job to take. */
  readonly next: SharedArrayBuffer;
}

/** Does all jobs of a piece of work, on one thread or several; `onJob` is told of each finished job. */
export type FixedBaseExecutor = (work: FixedBaseWork, onJob: () => void) => Promise<void>;

/** Scalars per job: some tens of milliseconds, so that threads end together and progress moves. */
const JOB_SCALARS = { G1: 4096, G2: 1024 } as const;

/** Cuts a run into jobs. */
export function cutIntoJobs(run: FixedBaseJob): FixedBaseJob[] {
  const size = JOB_SCALARS[run.group];
  const pointBytes = bytesOf(run.group);
  return Array.from({ length: Math.ceil(run.count / size) }, (_, i) => ({
    group: run.group,
    scalarsAt: run.scalarsAt + i * size * SCALAR_BYTES,
    outputAt: run.outputAt + i * size * pointBytes,
    count: Math.min(size, run.count - i * size),
  }));
}

/** Takes jobs until none is left. The calling thread is busy meanwhile; `threads` is how many share the work. */
export function runFixedBaseJobs(work: FixedBaseWork, threads: number, onJob: () => void): void {
  const next = new Int32Array(work.next);
  const tables: { G1?: FixedBaseTable; G2?: FixedBaseTable } = {};
  const arena = new Arena(work.program);
  const expected = (group: "G1" | "G2"): number => work.jobs.reduce((sum, job) => (job.group === group ? sum + job.count : sum), 0) / threads;
  try {
    for (let i = Atomics.add(next, 0, 1); i < work.jobs.length; i = Atomics.add(next, 0, 1)) {
      const job = work.jobs[i];
      if (job === undefined) break;
      const table = (tables[job.group] ??= job.group === "G1"
        ? new FixedBaseTable(arena, arena.g1, encodeG1(BN254.generatorG1, BN254), expected("G1"))
        : new FixedBaseTable(arena, arena.g2, encodeG2(BN254.generatorG2, BN254), expected("G2")));
      table.multiply(new Uint8Array(work.scalars, job.scalarsAt, job.count * SCALAR_BYTES), new Uint8Array(work.output, job.outputAt, job.count * bytesOf(job.group)));
      onJob();
    }
  } finally {
    // The accumulators hold multiples by secret scalars, not the scalars; wiped all the same, best effort.
    arena.bytes.fill(0);
  }
}

/** Runs the work on the calling thread, giving way to its event loop only at the end: for small circuits. */
export const runInline: FixedBaseExecutor = (work, onJob) => {
  runFixedBaseJobs(work, 1, onJob);
  return Promise.resolve();
};

function bytesOf(group: "G1" | "G2"): number {
  return group === "G1" ? 2 * BN254.fqBytes : 4 * BN254.fqBytes;
}
