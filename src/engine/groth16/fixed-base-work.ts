/**
 * The bulk of a setup, cut into jobs that any number of threads of one process take from a shared counter: multiples of
 * the generators, from a buffer of secret scalars into the key's own bytes.
 */
import { WASM_PAGE_BYTES } from "../circuit/wasm-memory.js";
import { curveNamed } from "../curves/curves.js";
import { generatorCoordinates } from "../curves/curve-parameters.js";
import type { CurveName, CurveParameters } from "../curves/curve-parameters.js";
import { SCALAR_BYTES } from "../reference/signed-digits.js";
import { Arena } from "../kernels/wasm/arena.js";
import { FixedBase, fixedBaseBytes } from "../kernels/msm/fixed-base.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../kernels/kernels.js";
import type { Kernels } from "../kernels/kernels.js";

/** One run of points: `count` scalars from `scalarsAt` on, their points to `outputAt`; byte offsets. */
export interface FixedBaseJob {
  readonly group: "G1" | "G2";
  readonly scalarsAt: number;
  readonly outputAt: number;
  readonly count: number;
}

/** Everything that a thread needs; may be posted to one. */
export interface FixedBaseWork {
  readonly curve: CurveName;
  readonly jobs: readonly FixedBaseJob[];
  /** 32 bytes little-endian each. Secret: they stand in a fixed relation to the trapdoor. */
  readonly scalars: SharedArrayBuffer;
  readonly output: SharedArrayBuffer;
  /** One 32-bit counter: the next job to take. */
  readonly next: SharedArrayBuffer;
  /** Whether the caller checks the points before they are used (`KernelOptions.isChecked`). */
  readonly isChecked?: boolean;
}

/** Runs all jobs, on one thread or several; calls `onJob` after each job. */
export type FixedBaseExecutor = (work: FixedBaseWork, onJob: () => void) => Promise<void>;

/** Scalars per job: some tens of milliseconds, so that threads end together and progress moves. */
const JOB_SCALARS = { G1: 4096, G2: 1024 } as const;

/** Cuts a run into jobs. */
export function cutIntoJobs(run: FixedBaseJob, curve: CurveParameters): FixedBaseJob[] {
  const size = JOB_SCALARS[run.group];
  const pointBytes = bytesOf(run.group, curve);
  return Array.from({ length: Math.ceil(run.count / size) }, (_, i) => ({
    group: run.group,
    scalarsAt: run.scalarsAt + i * size * SCALAR_BYTES,
    outputAt: run.outputAt + i * size * pointBytes,
    count: Math.min(size, run.count - i * size),
  }));
}

/**
 * Takes jobs until none is left; blocks the calling thread.
 * @param threads number of threads that share the work
 * @param onJob called after each job
 */
export function runFixedBaseJobs(work: FixedBaseWork, threads: number, onJob: () => void): void {
  const next = new Int32Array(work.next);
  const curve = curveNamed(work.curve);
  const tables = new Tables(curve, work, threads);
  try {
    for (let i = Atomics.add(next, 0, 1); i < work.jobs.length; i = Atomics.add(next, 0, 1)) {
      const job = work.jobs[i];
      if (job === undefined) break;
      tables
        .of(job.group)
        .multiply(
          new Uint8Array(work.scalars, job.scalarsAt, job.count * SCALAR_BYTES),
          new Uint8Array(work.output, job.outputAt, job.count * bytesOf(job.group, curve)),
        );
      onJob();
    }
  } finally {
    // Their memory still has digits of secret scalars.
    tables.wipe();
  }
}

/** The generators' tables of one thread, in a memory of its own; built for the first job that uses them. */
class Tables {
  readonly #kernels: Kernels;
  readonly #arena: Arena;
  readonly #expected: Readonly<Record<FixedBaseJob["group"], number>>;
  readonly #tables: { G1?: FixedBase; G2?: FixedBase } = {};

  constructor(curve: CurveParameters, { jobs, isChecked = false }: FixedBaseWork, threads: number) {
    const expected = (group: FixedBaseJob["group"]): number =>
      Math.ceil(jobs.reduce((sum, job) => (job.group === group ? sum + job.count : sum), 0) / threads);
    this.#expected = { G1: expected("G1"), G2: expected("G2") };
    const sizing = loadKernels({ curve, pages: 1 });
    const bytes =
      KERNEL_RESERVED_BYTES +
      fixedBaseBytes(sizing, "g1", this.#expected.G1) +
      fixedBaseBytes(sizing, "g2", this.#expected.G2);
    const pages = Math.ceil(bytes / WASM_PAGE_BYTES);
    this.#kernels = loadKernels({ curve, pages, isChecked });
    this.#arena = new Arena(KERNEL_RESERVED_BYTES, pages * WASM_PAGE_BYTES);
  }

  of(name: FixedBaseJob["group"]): FixedBase {
    return (this.#tables[name] ??= this.#build(name));
  }

  wipe(): void {
    this.#kernels.bytes(0, this.#kernels.memory.buffer.byteLength).fill(0);
  }

  #build(name: FixedBaseJob["group"]): FixedBase {
    const kernels = this.#kernels;
    const group = name === "G1" ? "g1" : "g2";
    const point = this.#arena.take(kernels[group].pointBytes);
    this.#arena.scoped(() => {
      kernels.writePoint(point, generatorCoordinates(kernels.curve, group), this.#arena.take(4 * kernels.fq.bytes));
    });
    return new FixedBase(kernels, group, this.#arena, { point, expectedCount: this.#expected[name] });
  }
}

/** Runs the work on the calling thread and blocks it until the end: for small circuits. */
export const runInline: FixedBaseExecutor = (work, onJob) => {
  runFixedBaseJobs(work, 1, onJob);
  return Promise.resolve();
};

function bytesOf(group: "G1" | "G2", { fqBytes }: CurveParameters): number {
  return group === "G1" ? 2 * fqBytes : 4 * fqBytes;
}
