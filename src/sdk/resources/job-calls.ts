/** Proofs that are made as jobs: they need no open connection, and outlive a restart of the server. */
import type { Calls } from "../calls.js";
import { waitFor, type WaitOptions } from "../delays.js";
import type { AnswerAt, BodyAt, FiltersAt, ItemAt } from "../endpoints.js";
import { JobError, TimeoutError } from "../errors.js";
import type { CallOptions } from "../transport.js";
import { onChange, type ProveOptions } from "./long-work.js";

type Job = ItemAt<"GET /api/v1/jobs">;
type JobDetail = AnswerAt<"GET /api/v1/jobs/:id">;
type ProveResult = AnswerAt<"POST /api/v1/provers/:id/prove">;

/** A batch of jobs: for each item its job, or why it has none. */
export interface JobBatch {
  readonly batch_id: string;
  readonly batch: readonly (
    Job | { readonly errors: readonly { readonly message: string; readonly code: string }[] }
  )[];
}

export interface JobOptions extends ProveOptions {
  /** Seconds from now by which the job must be done; a day unless given. */
  readonly deadlineSec?: number;
}

export interface JobWait extends WaitOptions {
  /** Called at first and whenever status, place in the queue or share change. */
  readonly onProgress?: (job: Job) => void;
}

/** A request is held so long at most, since proxies cut longer ones off. */
const HELD_SEC_MAX = 30;
const ASYNC = { Prefer: "respond-async" };

/** Jobs, and the wait for their proofs. */
export function jobCalls(calls: Calls) {
  const start = async (proverId: string, body: BodyAt<"POST /api/v1/provers/:id/prove">, options: JobOptions = {}) => {
    const { query, rest } = split(options);
    const input = { params: { id: proverId }, body, query };
    // With the preference the same route answers the job.
    return (await calls.create("POST /api/v1/provers/:id/prove", input, rest)) as unknown as Job;
  };
  const waitUntilDone = async (id: string, wait: JobWait = {}) => await resultOf(calls, id, wait);
  return {
    /** Starts a proof as a job, and returns it as soon as its inputs lie sealed on disk. */
    start,
    /** Starts many proofs, up to 500, each a job of its own; an item that has none says why. */
    startBatch: async (
      proverId: string,
      bodies: BodyAt<"POST /api/v1/provers/:id/prove/batch">["batch"],
      options: JobOptions = {},
    ) => {
      const { query, rest } = split(options);
      const input = { params: { id: proverId }, body: { batch: bodies }, query };
      return (await calls.create("POST /api/v1/provers/:id/prove/batch", input, rest)) as unknown as JobBatch;
    },
    /** Lists the caller's jobs, oldest first, without their results. */
    list: (query?: FiltersAt<"GET /api/v1/jobs">, options?: CallOptions) =>
      calls.list("GET /api/v1/jobs", { ...(query && { query }) }, options),
    /** Reads a job, with its result once it has one. */
    get: (id: string, options?: CallOptions) => calls.json("GET /api/v1/jobs/:id", { params: { id } }, options),
    /** Cancels a job that waits or runs; deletes the record of one that has ended. */
    delete: (id: string, options?: CallOptions) => calls.json("DELETE /api/v1/jobs/:id", { params: { id } }, options),
    /**
     * Waits for the proof of a job.
     * @throws JobError when there is none
     * @throws TimeoutError; the job goes on
     */
    waitUntilDone,
    /**
     * Makes a proof as a job and waits for it. When the wait ends without it, by `signal` or in time, the job is
     * cancelled.
     * @throws JobError, TimeoutError, or the signal's reason
     */
    prove: async (
      proverId: string,
      body: BodyAt<"POST /api/v1/provers/:id/prove">,
      { timeoutMs, onProgress, ...options }: JobOptions & JobWait = {},
    ) => {
      const { id } = await start(proverId, body, options);
      try {
        return await waitUntilDone(id, waitOf({ timeoutMs, onProgress, signal: options.signal }));
      } catch (error) {
        if (error instanceof TimeoutError || options.signal?.aborted === true) await cancel(calls, id);
        throw error;
      }
    },
    /** Yields the jobs of a batch in the order of its items, each when it has ended, with its result or its error. */
    results: (batch: JobBatch, wait: JobWait = {}) => resultsOf(calls, batch, wait),
  };
}

async function resultOf(calls: Calls, id: string, wait: JobWait): Promise<ProveResult> {
  const job = await endOf(calls, id, wait);
  if (job.result === null) throw new JobError(job);
  return job.result;
}

async function endOf(calls: Calls, id: string, { onProgress, ...wait }: JobWait): Promise<JobDetail> {
  const changed = onChange(({ status, position, progress }: Job) => [status, position, progress], onProgress);
  // Whoever follows the progress asks often; everybody else has the server hold the request until the end.
  const held = onProgress === undefined ? { preferWaitSec: heldSec(wait.timeoutMs) } : {};
  return await waitFor(
    `job ${id}`,
    async (signal) => {
      const value = await calls.json(
        "GET /api/v1/jobs/:id",
        { params: { id } },
        { ...held, ...(signal && { signal }) },
      );
      changed(value);
      return { value, isFinal: value.finished_at !== null };
    },
    wait,
  );
}

async function* resultsOf(calls: Calls, { batch }: JobBatch, wait: JobWait): AsyncGenerator<JobDetail> {
  for (const item of batch) if ("id" in item) yield await endOf(calls, item.id, wait);
}

/** Whoever gave up hears why, and not that the server could not be told: the job goes on then. */
async function cancel(calls: Calls, id: string): Promise<void> {
  await calls.json("DELETE /api/v1/jobs/:id", { params: { id } }).catch(() => undefined);
}

function heldSec(timeoutMs = Infinity): number {
  return Math.max(1, Math.min(HELD_SEC_MAX, Math.ceil(timeoutMs / 1000)));
}

function split({ format, deadlineSec, ...options }: JobOptions) {
  const query = { ...(format && { format }), ...(deadlineSec !== undefined && { deadline_sec: deadlineSec }) };
  return { query, rest: { ...options, headers: { ...options.headers, ...ASYNC } } };
}

function waitOf({ timeoutMs, onProgress, signal }: { [Name in keyof JobWait]: JobWait[Name] | undefined }): JobWait {
  return {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(onProgress && { onProgress }),
    ...(signal && { signal }),
  };
}
