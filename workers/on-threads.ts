/** Shares the work of a process among threads of its own. */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";

/** What decides how many threads share a work. */
export interface ThreadCount {
  readonly jobs: number;
  /** With fewer jobs starting threads takes longer than the work. */
  readonly jobsMin: number;
  readonly threadsMax: number;
}

/** Returns how many threads share the work; 0 when it is best done without any. */
export function threadsFor({ jobs, jobsMin, threadsMax }: ThreadCount): number {
  const threads = Math.min(availableParallelism(), threadsMax);
  return threads < 2 || jobs < jobsMin ? 0 : threads;
}

/**
 * Starts the threads and waits until all of them have ended.
 * @param options.entry name of the file of `workers`, without its ending
 * @param options.workerData what every thread is given; the threads take jobs from it until none is left
 * @param options.onJob called after each job
 * @throws what a thread throws, and Error when one ends with another code than 0
 */
export async function runOnThreads(
  threads: number,
  options: { readonly entry: string; readonly workerData: unknown; readonly onJob: () => void },
): Promise<void> {
  await Promise.all(Array.from({ length: threads }, async () => await runThread(options)));
}

async function runThread({
  entry,
  workerData,
  onJob,
}: {
  readonly entry: string;
  readonly workerData: unknown;
  readonly onJob: () => void;
}): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    // The build joins this file with others, in a folder beside this one.
    const worker = new Worker(new URL(`../workers/${entry}.js`, import.meta.url), { workerData });
    worker.on("message", onJob);
    worker.once("error", reject);
    worker.once("exit", (code) => {
      if (code === 0) resolve();
      else reject(new Error(`a thread of ${entry} ended with code ${String(code)}`));
    });
  });
}
