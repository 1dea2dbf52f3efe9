/**
 * One run of one job: takes the lease, calls the runner, and records the outcome. A run that is aborted leaves the job
 * queued.
 */
import { isoTimestamp, type Clock } from "../clock.js";
import { AppError, assert } from "../errors.js";
import type { Log } from "../log.js";
import { mergeCommits } from "../store/commits.js";
import { StoreConflict, type StoreCommit, type StoreRecord } from "../store/store.js";
import { traced } from "../tracing/steps.js";
import type { JobRecords } from "./job-records.js";
import { JobFailure, type JobContext, type JobRunner } from "./job-runner.js";
import type { Job, JobFault, JobState } from "./job.js";

export interface JobRunOptions {
  /** Pause before the first retry of a failed attempt; it doubles each time. */
  readonly retryDelayMs: number;
  /** Pause between two attempts to record an outcome while the store takes no writes. */
  readonly settleDelayMs: number;
}

export interface JobRunDependencies {
  readonly records: JobRecords;
  readonly runner: JobRunner;
  readonly clock: Clock;
  readonly log: Log;
  /** True while the server stops: no job is started, and no outcome is waited for. */
  readonly isStopping: () => boolean;
  /** Whether there is a runner of this kind. */
  readonly isKind: (kind: string) => boolean;
  /** Keeps the job from being started for this time. */
  readonly delay: (delayMs: number) => void;
}

/** Attempts per phase: one failure may be an accident and two a coincidence; the third is the job's fault. */
export const ATTEMPTS_MAX = 3;
/** More restarts than an operator makes during one step, and few enough to end a loop of crashes within minutes. */
export const CUT_OFFS_MAX = 20;

/** Returns the longest pause before a retry. */
export function longestPauseMs({ retryDelayMs }: JobRunOptions): number {
  return retryDelayMs * 2 ** (ATTEMPTS_MAX - 2);
}

export class JobRun {
  readonly #id: string;
  readonly #options: JobRunOptions;
  readonly #records: JobRecords;
  readonly #with: JobRunDependencies;
  readonly #abort = new AbortController();
  #isMoved = false;
  #hasEnding = false;

  constructor(id: string, options: JobRunOptions, dependencies: JobRunDependencies) {
    this.#id = id;
    this.#options = options;
    this.#records = dependencies.records;
    this.#with = dependencies;
  }

  /** Asks the runner to end. */
  abort(reason: string): void {
    this.#abort.abort(new Error(reason));
  }

  /** Runs the job and records its outcome. Rejects only when the outcome cannot be recorded. */
  async perform(): Promise<void> {
    const { clock, log, runner } = this.#with;
    const leased = await this.#lease();
    if (leased === undefined) return;
    const startedMs = clock.monotonicMs();
    const context = this.#context(leased);
    let thrown: { error: unknown } | undefined;
    try {
      // The run may have been aborted during the lease: a listener that the runner adds now would not be called.
      if (!this.#abort.signal.aborted)
        await traced({ name: `job ${leased.kind}`, kind: "internal", isRoot: true }, () => runner.run(leased, context));
    } catch (error) {
      thrown = { error };
    }
    const state = await this.#settle(thrown).finally(() => this.#records.left(this.#id));
    log.info("job settled", {
      job_id: this.#id,
      kind: leased.kind,
      attempt: leased.attempt,
      duration_ms: Math.round(clock.monotonicMs() - startedMs),
      state,
    });
  }

  /** Takes the lease. Returns undefined when the job is gone, was given up, or cannot be written now. */
  async #lease(): Promise<Job | undefined> {
    const record = this.#records.get(this.#id);
    if (record?.value.state !== "queued" || this.#with.isStopping()) return undefined;
    try {
      if (record.value.cut_offs >= CUT_OFFS_MAX) {
        const message = `the server ended ${CUT_OFFS_MAX} times during this step`;
        await this.#fail(record, { code: "attempts_exhausted", message });
        return undefined;
      }
      return await this.#records.lease(record, this.#urgency);
    } catch (error) {
      if (error instanceof StoreConflict) return undefined;
      if (!(error instanceof AppError)) throw error;
      this.#with.log.warn("job cannot start while the store takes no writes", { job_id: this.#id, code: error.code });
      this.#with.delay(this.#options.settleDelayMs);
      return undefined;
    }
  }

  /** What goes with each change of the job's state. */
  get #urgency(): StoreCommit {
    return this.#with.runner.isUrgent === true ? { urgent: true } : {};
  }

  #context(leased: Job): JobContext {
    const { signal } = this.#abort;
    const latest = { job: leased };
    return {
      signal,
      get job() {
        return latest.job;
      },
      setPhase: async (phase, commit) => {
        const record = this.#leasedRecord();
        // Attempts are counted per phase: a job that makes progress is not the one that kills the process.
        const counts = phase === record.value.phase ? {} : { attempt: 1, cut_offs: 0 };
        latest.job = await this.#records.update(
          record,
          { phase, ...counts },
          mergeCommits(commit ?? {}, this.#urgency),
        );
      },
      moveTo: async (kind) => {
        assert(kind !== leased.kind && this.#with.isKind(kind), `the job kind ${kind} is another that has a runner`);
        await this.#records.move(this.#leasedRecord(), { kind });
        this.#isMoved = true;
      },
      leaveTo: async (needs) => {
        await this.#records.move(this.#leasedRecord(), { needs });
        this.#isMoved = true;
      },
      ending: () => {
        this.#leasedRecord();
        this.#hasEnding = true;
        return this.#records.ending(this.#id);
      },
      progress: (fraction) => {
        this.#records.progress(latest.job, Math.min(1, Math.max(0, fraction)));
      },
    };
  }

  /** Returns the record while this process holds the lease; otherwise ends the run. */
  #leasedRecord(): StoreRecord<Job> {
    const { signal } = this.#abort;
    signal.throwIfAborted();
    const record = this.#records.get(this.#id);
    if (record !== undefined && this.#records.isLeased(record.value)) return record;
    this.abort("the lease of the job is lost");
    throw signal.reason;
  }

  /** Records the outcome, and retries until the store accepts it; the job counts as running until then. */
  async #settle(thrown: { error: unknown } | undefined): Promise<JobState | "gone"> {
    for (;;) {
      const record = this.#records.get(this.#id);
      if (record === undefined && this.#hasEnding && !this.#abort.signal.aborted) return "done";
      if (record === undefined || !this.#records.isLeased(record.value)) return this.#isMoved ? "queued" : "gone";
      try {
        return await this.#settleOnce(record, thrown);
      } catch (error) {
        if (error instanceof StoreConflict) continue;
        // A stopping server does not wait for a disk: the next start queues the job again.
        if (!(error instanceof AppError) || this.#with.isStopping()) throw error;
        this.#with.log.warn("job outcome cannot be recorded yet", { job_id: this.#id, code: error.code });
        await new Promise<void>((resolve) => {
          setTimeout(resolve, this.#options.settleDelayMs).unref();
        });
      }
    }
  }

  async #settleOnce(record: StoreRecord<Job>, thrown: { error: unknown } | undefined): Promise<JobState | "gone"> {
    const job = record.value;
    if (job.is_cancelled === true) {
      // Whoever cancelled it waits for this, on any node, and on a full disk too.
      await this.#records.deleteRecord(record, { urgent: true });
      return "gone";
    }
    if (this.#abort.signal.aborted) {
      // An abort is no failure of the job, so the attempt does not count. A runner that returned may have stopped
      // early, and repeating its work is safe.
      const change = { state: "queued", boot_id: null, attempt: job.attempt - 1 } as const;
      return (await this.#records.update(record, change, this.#urgency)).state;
    }
    if (thrown === undefined)
      return (await this.#records.update(record, { state: "done", boot_id: null }, this.#urgency)).state;
    const { error } = thrown;
    if (error instanceof JobFailure) return this.#fail(record, { code: error.code, message: error.message });
    this.#with.log.error("job attempt failed", {
      job_id: job.id,
      kind: job.kind,
      attempt: job.attempt,
      step: job.phase,
      ...codeOf(error),
      error,
    });
    if (job.attempt >= ATTEMPTS_MAX) return this.#fail(record, faultOf(error));
    const pauseMs = this.#options.retryDelayMs * 2 ** (job.attempt - 1);
    // In the record, for the nodes that could begin it at once.
    const not_before = isoTimestamp(this.#with.clock.nowMs() + pauseMs);
    const requeued = await this.#records.update(record, { state: "queued", boot_id: null, not_before }, this.#urgency);
    return requeued.state;
  }

  async #fail(record: StoreRecord<Job>, fault: JobFault): Promise<JobState> {
    const commit = mergeCommits(this.#with.runner.onFailed?.(record.value, fault) ?? {}, this.#urgency);
    return (await this.#records.update(record, { state: "failed", boot_id: null, error: fault }, commit)).state;
  }
}

/** The fields of a log line that an expected failure adds. */
export function codeOf(error: unknown): { code?: string } {
  return error instanceof AppError ? { code: error.code } : {};
}

function faultOf(error: unknown): JobFault {
  // Only expected failures have a message for clients; the message of another error may contain anything.
  if (error instanceof AppError) return { code: error.code, message: error.message };
  return { code: "internal_error", message: "the work failed for an internal reason" };
}
