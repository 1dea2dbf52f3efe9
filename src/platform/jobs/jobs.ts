/**
 * Runs durable jobs: takes queued ones up, repeats the ones that a crash cut off, gives up on the ones that fail again
 * and again, and stops without losing any. It knows kinds and phases only as words; what they mean is the runners'
 * business.
 *
 * A job may fail ATTEMPTS_MAX times per phase. The end of the process is no failure of the job, because operators
 * restart servers; but a job that was running at CUT_OFFS_MAX ends in one phase is taken to cause them, so that it
 * cannot kill its server for ever.
 */
import { AppError, assert } from "../errors.js";
import type { Clock } from "../clock.js";
import { isoTimestamp } from "../clock.js";
import { newId } from "../ids.js";
import type { Log } from "../log.js";
import { mergeCommits, retryOnConflict } from "../store/commits.js";
import { StoreConflict } from "../store/store.js";
import type { Store, StoreCommit, StoreRecord } from "../store/store.js";
import { jobTable, newJob } from "./job.js";
import type { Job, JobFault, JobTable, NewJob } from "./job.js";

/** What a runner is given beside its job. */
export interface JobContext {
  /** Aborts when the server stops, the job is cancelled, or the lease is lost: end soon, by throwing or returning. */
  readonly signal: AbortSignal;
  /** The job as last committed. */
  readonly job: Job;
  /**
   * Commits the phase, together with what the phase made. Rejects with StoreConflict when a check of `commit` fails:
   * read again and decide anew. Steps before the phase are not repeated after a crash, steps after it are.
   */
  setPhase(phase: string, commit?: StoreCommit): Promise<void>;
  /** Tells listeners how far the phase is, from 0 to 1. Not stored. */
  progress(fraction: number, step?: string): void;
}

export interface JobRunner {
  /**
   * Does the work from `context.job.phase` on; each step must be safe to repeat. Returning means done. A thrown
   * JobFailure gives up at once; anything else is tried again later.
   */
  readonly run: (job: Job, context: JobContext) => Promise<void>;
  /**
   * What to commit with the failure, such as the subject's own status. Called again when its commit meets a conflict.
   */
  readonly onFailed?: (job: Job, fault: JobFault) => StoreCommit | undefined;
  /** Jobs of this kind at a time. 1 unless given. */
  readonly concurrency?: number;
}

/** Thrown by a runner: the job can never succeed. The text goes to the client. */
export class JobFailure extends Error {
  override readonly name = "JobFailure";
  readonly code: string;

  constructor(fault: JobFault) {
    super(fault.message);
    this.code = fault.code;
  }
}

export interface JobEvent {
  readonly job: Job;
  /** 0 to 1 within the phase; absent when the event is about state or phase. */
  readonly progress?: number;
  readonly step?: string;
}

export interface JobsOptions {
  /** First pause before a failed attempt is repeated; it doubles each time. 1 s unless given. */
  readonly retryDelayMs?: number;
  /** Wait between two tries to record an outcome that the store does not take. 1 s unless given. */
  readonly settleDelayMs?: number;
}

export interface JobsDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/** Three failures: one may be an accident, two a coincidence, three are the job's fault. */
export const ATTEMPTS_MAX = 3;
/** More than an operator restarts a server within one step, few enough to end a loop of crashes within minutes. */
export const CUT_OFFS_MAX = 20;
const RETRY_DELAY_MS = 1_000;
const SETTLE_DELAY_MS = 1_000;
/** Finished jobs are kept for a day, for the operator to look at. */
const FINISHED_KEPT_MS = 24 * 3_600_000;
/** Finished jobs deleted per commit. */
const PRUNE_BATCH = 500;

/** Rest of a job whose bookkeeping broke, so that a fault of ours does not spin. */
const BROKEN_REST_MS = 60_000;

interface RunningJob {
  readonly kind: string;
  readonly abort: AbortController;
  readonly settled: Promise<void>;
}

export class Jobs {
  readonly #options: Required<JobsOptions>;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #table: JobTable;
  readonly #runners = new Map<string, JobRunner>();
  readonly #running = new Map<string, RunningJob>();
  /** Jobs that wait for their next attempt, with the timers that wake them. */
  readonly #resting = new Map<string, NodeJS.Timeout>();
  readonly #listeners = new Set<(event: JobEvent) => void>();
  readonly #bootId = newId();
  #isStarted = false;
  #stopping: Promise<void> | undefined;

  constructor(options: JobsOptions, dependencies: JobsDependencies) {
    this.#options = {
      retryDelayMs: options.retryDelayMs ?? RETRY_DELAY_MS,
      settleDelayMs: options.settleDelayMs ?? SETTLE_DELAY_MS,
    };
    this.#store = dependencies.store;
    this.#clock = dependencies.clock;
    this.#log = dependencies.log;
    this.#table = jobTable(dependencies.store);
  }

  /** The commit that queues a job, for a service to merge into its own. Call `wake` once it is committed. */
  enqueueCommit(job: NewJob): { job: Job; commit: StoreCommit } {
    return newJob(this.#table, job, this.#clock);
  }

  get(id: string): Job | undefined {
    return this.#table.get([id])?.value;
  }

  /** All jobs of a subject, oldest first. */
  ofSubject(subjectKey: Job["subject_key"]): Job[] {
    return this.#table.list("subject", subjectKey).rows;
  }

  /** Names the runner of a kind; before `start`. */
  register(kind: string, runner: JobRunner): void {
    assert(!this.#runners.has(kind), `the job kind ${kind} has one runner`);
    this.#runners.set(kind, runner);
  }

  /** Hears of every state, phase and progress. Returns how to stop listening. */
  subscribe(listener: (event: JobEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Takes back what other processes left running, then begins to work. */
  async start(): Promise<void> {
    assert(!this.#isStarted, "jobs start once");
    for (const kind of this.#runners.keys()) {
      for (const record of this.#table.records("state", ["running", kind])) await this.#requeue(record.value.id);
    }
    await this.#prune();
    this.#isStarted = true;
    this.wake();
  }

  /** Looks for queued jobs. Cheap; call it after each commit that queues one. */
  wake(): void {
    if (!this.#isStarted || this.#stopping !== undefined) return;
    for (const [kind, runner] of this.#runners) {
      let free = (runner.concurrency ?? 1) - this.#countRunning(kind);
      if (free <= 0) continue;
      // Resting and already leased jobs may still stand at the front of the queue.
      const passed = this.#resting.size + this.#running.size;
      for (const job of this.#table.list("state", ["queued", kind], { page: { page: 1, rpp: free + passed } }).rows) {
        if (free === 0) break;
        if (this.#running.has(job.id) || this.#resting.has(job.id)) continue;
        this.#launch(job.id, kind, runner);
        free -= 1;
      }
    }
  }

  /** Ends a job for good, whether it runs or waits, and deletes it. For a subject that is being deleted. */
  async cancel(id: string): Promise<void> {
    const running = this.#running.get(id);
    running?.abort.abort(new Error("the job was cancelled"));
    this.#rest(id, undefined);
    await retryOnConflict(async () => {
      const record = this.#table.get([id]);
      if (record !== undefined) await this.#store.commit(this.#table.deleteCommit(record));
    });
    await running?.settled;
  }

  /** Aborts what runs and waits until all of it is queued again. Nothing is started afterwards. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    for (const timer of this.#resting.values()) clearTimeout(timer);
    this.#resting.clear();
    const running = [...this.#running.values()];
    for (const { abort } of running) abort.abort(new Error("the server is stopping"));
    await Promise.all(running.map(({ settled }) => settled));
  }

  #isOurs(job: Job): boolean {
    return job.state === "running" && job.boot_id === this.#bootId;
  }

  #countRunning(kind: string): number {
    let count = 0;
    for (const job of this.#running.values()) if (job.kind === kind) count += 1;
    return count;
  }

  #launch(id: string, kind: string, runner: JobRunner): void {
    const abort = new AbortController();
    const settled = this.#perform(id, runner, abort)
      .catch((error: unknown) => {
        // Every expected outcome is handled inside; the job stays as it is, for a later try or the next start.
        this.#log.error("job bookkeeping broke", { job_id: id, kind, ...codeOf(error), error });
        this.#rest(id, BROKEN_REST_MS);
      })
      .finally(() => {
        this.#running.delete(id);
        this.wake();
      });
    this.#running.set(id, { kind, abort, settled });
  }

  async #perform(id: string, runner: JobRunner, abort: AbortController): Promise<void> {
    const leased = await this.#lease(id, runner);
    if (leased === undefined) return;
    const startedMs = this.#clock.monotonicMs();
    const context = this.#context(leased, abort);
    let thrown: { error: unknown } | undefined;
    try {
      // Stopped while it was being leased: a listener that the runner adds now would never hear of it.
      if (!abort.signal.aborted) await runner.run(leased, context);
    } catch (error) {
      thrown = { error };
    }
    const state = await this.#settle(id, runner, abort.signal, thrown);
    this.#log.info("job settled", {
      job_id: id,
      kind: leased.kind,
      attempt: leased.attempt,
      duration_ms: Math.round(this.#clock.monotonicMs() - startedMs),
      state,
    });
  }

  /**
   * Marks the job as ours before anything is done for it. Undefined when it is gone, given up, or cannot be written
   * now.
   */
  async #lease(id: string, runner: JobRunner): Promise<Job | undefined> {
    const record = this.#table.get([id]);
    if (record === undefined || record.value.state !== "queued" || this.#stopping !== undefined) return undefined;
    try {
      if (record.value.cut_offs >= CUT_OFFS_MAX) {
        await this.#fail(record, runner, {
          code: "attempts_exhausted",
          message: `the server ended ${CUT_OFFS_MAX} times during this step`,
        });
        return undefined;
      }
      return await this.#write(record, { state: "running", boot_id: this.#bootId, attempt: record.value.attempt + 1 });
    } catch (error) {
      if (error instanceof StoreConflict) return undefined;
      if (!(error instanceof AppError)) throw error;
      this.#log.warn("job cannot start while the store takes no writes", { job_id: id, code: error.code });
      this.#rest(id, this.#options.settleDelayMs);
      return undefined;
    }
  }

  #context(leased: Job, abort: AbortController): JobContext {
    const jobs = { current: leased };
    return {
      signal: abort.signal,
      get job() {
        return jobs.current;
      },
      setPhase: async (phase, commit) => {
        abort.signal.throwIfAborted();
        const record = this.#table.get([leased.id]);
        if (record === undefined || !this.#isOurs(record.value)) {
          abort.abort(new Error("the lease of the job is lost"));
          throw abort.signal.reason;
        }
        // Starts are counted per phase: a job that gets on is not the one that kills the process.
        const counts = phase === record.value.phase ? {} : { attempt: 1, cut_offs: 0 };
        jobs.current = await this.#write(record, { phase, ...counts }, commit);
      },
      progress: (fraction, step) => {
        const bounded = Math.min(1, Math.max(0, fraction));
        this.#tell({ job: jobs.current, progress: bounded, ...(step === undefined ? {} : { step }) });
      },
    };
  }

  /** Records the outcome, however long the store takes to accept it: until then the job counts as running. */
  async #settle(
    id: string,
    runner: JobRunner,
    signal: AbortSignal,
    thrown: { error: unknown } | undefined,
  ): Promise<Job["state"] | "gone"> {
    for (;;) {
      const record = this.#table.get([id]);
      if (record === undefined || !this.#isOurs(record.value)) return "gone";
      try {
        return await this.#settleOnce(record, runner, signal, thrown);
      } catch (error) {
        if (error instanceof StoreConflict) continue;
        // A stopping server does not wait for a disk: the next start takes the job back.
        if (!(error instanceof AppError) || this.#stopping !== undefined) throw error;
        this.#log.warn("job outcome cannot be recorded yet", { job_id: id, code: error.code });
        await new Promise<void>((resolve) => {
          setTimeout(resolve, this.#options.settleDelayMs).unref();
        });
      }
    }
  }

  async #settleOnce(
    record: StoreRecord<Job>,
    runner: JobRunner,
    signal: AbortSignal,
    thrown: { error: unknown } | undefined,
  ): Promise<Job["state"]> {
    const job = record.value;
    if (signal.aborted) {
      // Being stopped is no failure of the job, so that the attempt does not count; a runner that returned may have cut
      // its work short, and repeating it is safe.
      return (await this.#write(record, { state: "queued", boot_id: null, attempt: job.attempt - 1 })).state;
    }
    if (thrown === undefined) return (await this.#write(record, { state: "done", boot_id: null })).state;
    const { error } = thrown;
    if (error instanceof JobFailure) return this.#fail(record, runner, { code: error.code, message: error.message });
    this.#log.error("job attempt failed", {
      job_id: job.id,
      kind: job.kind,
      attempt: job.attempt,
      step: job.phase,
      ...codeOf(error),
      error,
    });
    if (job.attempt >= ATTEMPTS_MAX) return this.#fail(record, runner, faultOf(error));
    const requeued = await this.#write(record, { state: "queued", boot_id: null });
    this.#rest(job.id, this.#options.retryDelayMs * 2 ** (job.attempt - 1));
    return requeued.state;
  }

  async #fail(record: StoreRecord<Job>, runner: JobRunner, fault: JobFault): Promise<Job["state"]> {
    return (
      await this.#write(
        record,
        { state: "failed", boot_id: null, error: fault },
        runner.onFailed?.(record.value, fault),
      )
    ).state;
  }

  async #write(record: StoreRecord<Job>, change: Partial<Job>, commit: StoreCommit = {}): Promise<Job> {
    const next: Job = { ...record.value, ...change, updated_at: isoTimestamp(this.#clock.nowMs()) };
    await this.#store.commit(mergeCommits(this.#table.updateCommit(record, next), commit));
    this.#tell({ job: next });
    return next;
  }

  /** Lets a job wait for its next attempt, or, without a delay, ends its wait. */
  #rest(id: string, delayMs: number | undefined): void {
    clearTimeout(this.#resting.get(id));
    this.#resting.delete(id);
    if (delayMs === undefined || this.#stopping !== undefined) return;
    const timer = setTimeout(() => {
      this.#resting.delete(id);
      this.wake();
    }, delayMs);
    timer.unref();
    this.#resting.set(id, timer);
  }

  async #requeue(id: string): Promise<void> {
    await retryOnConflict(async () => {
      const record = this.#table.get([id]);
      if (record?.value.state === "running" && record.value.boot_id !== this.#bootId) {
        await this.#write(record, {
          state: "queued",
          boot_id: null,
          attempt: record.value.attempt - 1,
          cut_offs: record.value.cut_offs + 1,
        });
      }
    });
  }

  async #prune(): Promise<void> {
    const before = isoTimestamp(this.#clock.nowMs() - FINISHED_KEPT_MS);
    for (const state of ["done", "failed"] as const) {
      const old = this.#table.records("state", [state]).filter((record) => record.value.updated_at < before);
      for (let from = 0; from < old.length; from += PRUNE_BATCH) {
        await this.#store.commit(
          mergeCommits(...old.slice(from, from + PRUNE_BATCH).map((record) => this.#table.deleteCommit(record))),
        );
      }
    }
  }

  #tell(event: JobEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        // A listener's fault must not become the job's.
        this.#log.error("job listener broke", { job_id: event.job.id, error });
      }
    }
  }
}

function faultOf(error: unknown): JobFault {
  // Only expected failures speak to clients; the text of others may hold anything.
  if (error instanceof AppError) return { code: error.code, message: error.message };
  return { code: "internal_error", message: "the work failed for an internal reason" };
}

function codeOf(error: unknown): { code?: string } {
  return error instanceof AppError ? { code: error.code } : {};
}
