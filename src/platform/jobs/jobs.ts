/**
 * The queue of durable jobs: starts queued jobs in turns of their owners, repeats those that a crash cut off, gives up
 * those that fail again and again, and stops without losing any. It knows kinds and phases only as words; their meaning
 * is up to the runners.
 *
 * A job may fail ATTEMPTS_MAX times per phase. The end of the process is no failure of the job, because operators
 * restart servers. But a job that was running when the process ended CUT_OFFS_MAX times in one phase is taken for the
 * cause and given up, so that it cannot kill its server for ever.
 */
import type { Clock } from "../clock.js";
import { assert } from "../errors.js";
import type { Log } from "../log.js";
import type { StoreCommit } from "../store/store.js";
import type { LaneFigures } from "../pool/lane.js";
import { JobRecords, type JobEvent, type JobRecordsDependencies } from "./job-records.js";
import { CancelledRuns } from "./cancelled-runs.js";
import { codeOf, JobRun, longestPauseMs, type JobRunOptions } from "./job-run.js";
import { JobLine, type NextJob } from "./job-line.js";
import type { JobRunner } from "./job-runner.js";
import type { Job, NewJob } from "./job.js";

export interface JobsOptions extends JobRunOptions {
  /** Whether jobs of a kind are run here; other nodes run the rest. */
  readonly takes: (kind: string) => boolean;
}

const DEFAULT_OPTIONS: JobsOptions = { retryDelayMs: 1_000, settleDelayMs: 1_000, takes: () => true };
/** Pause of a job whose state could not be recorded, so that a fault of the program does not repeat without pause. */
const FAULT_DELAY_MS = 60_000;

/** Within the time that a request has. */
const CANCEL_WAIT_MS = 10_000;

interface RunningJob extends NextJob {
  readonly kind: string;
  readonly run: JobRun;
  /** True once it was asked to give way to another owner's job. */
  isGivingWay: boolean;
  readonly settled: Promise<void>;
}

interface Kind {
  readonly runner: JobRunner;
  readonly line: JobLine;
}

export class Jobs {
  readonly #options: JobsOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #records: JobRecords;
  readonly #kinds = new Map<string, Kind>();
  readonly #running = new Map<string, RunningJob>();
  /** Jobs that wait for their next attempt, with the timers that end the wait. */
  readonly #delayed = new Map<string, NodeJS.Timeout>();
  /** The `not_before` of jobs whose pause was timed here, so that it is timed once, whatever the clocks do. */
  readonly #waitedFor = new Map<string, string>();
  readonly #cancelled: CancelledRuns;
  #takingUp: NodeJS.Timeout | undefined;
  #isStarted = false;
  #stopping: Promise<void> | undefined;

  constructor(options: Partial<JobsOptions>, dependencies: JobRecordsDependencies) {
    this.#options = { ...DEFAULT_OPTIONS, ...options };
    this.#clock = dependencies.clock;
    this.#log = dependencies.log;
    this.#records = new JobRecords(dependencies);
    this.#cancelled = new CancelledRuns({ waitMs: CANCEL_WAIT_MS }, { records: this.#records });
  }

  /** Returns a new job and the commit that queues it, to be merged into the caller's. Call `wake` after the commit. */
  enqueueCommit(job: NewJob): { job: Job; commit: StoreCommit } {
    return this.#records.prepare(job);
  }

  /** Returns a job, or undefined when it was cancelled or finished more than a day ago. */
  get(id: string): Job | undefined {
    return this.#records.get(id)?.value;
  }

  /** Returns all jobs of a subject, oldest first. */
  ofSubject(subjectKey: Job["subject_key"]): Job[] {
    return this.#records.ofSubject(subjectKey);
  }

  /** Sets the one runner of a kind. Must be called before `start`. */
  register(kind: string, runner: JobRunner): void {
    assert(!this.#kinds.has(kind), `the job kind ${kind} has one runner`);
    const endYoungest = (owner: string): void => this.#endYoungest(kind, owner);
    this.#kinds.set(kind, { runner, line: new JobLine(runner, { clock: this.#clock, endYoungest }) });
  }

  /** Adds a job to its line that was just queued, and starts it if there is room; for kinds that are announced. */
  announce(...queued: readonly Job[]): void {
    for (const job of queued) {
      const kind = this.#kinds.get(job.kind);
      if (kind !== undefined && isFor(kind.runner, job)) kind.line.announce(job);
    }
    this.wake();
  }

  /** Returns what ends a job, for the caller's own commit; call `cancel` after it. See `JobContext.ending`. */
  ending(id: string): StoreCommit {
    return this.#records.ending(id);
  }

  /**
   * Returns how many jobs begin before a queued one, and when it may begin; undefined for one that does not wait here.
   */
  placeOf(job: Job): { readonly ahead: number; readonly waitMs: number } | undefined {
    const line = this.#kinds.get(job.kind)?.line;
    const ahead = line?.aheadOf(job.id);
    return line === undefined || ahead === undefined ? undefined : { ahead, waitMs: line.expectedWaitMs(ahead) };
  }

  /** Returns how long the jobs take that run or wait before a new one of this owner. */
  expectedWaitMs(kind: string, owner: string): number {
    const line = this.#kinds.get(kind)?.line;
    return line === undefined ? 0 : line.expectedWaitMs(line.aheadOfOwner(owner));
  }

  /** Calls the listener for every change of state, phase and progress. Returns a function that ends it. */
  subscribe(listener: (event: JobEvent) => void): () => void {
    return this.#records.subscribe(listener);
  }

  /** Queues the jobs that earlier processes left running, deletes old ones, and begins to run jobs. */
  async start(): Promise<void> {
    assert(!this.#isStarted, "jobs start once");
    for (const [kind, { runner }] of this.#kinds)
      await this.#records.requeueCutOff(kind, { urgent: runner.isUrgent === true });
    await this.#records.prune();
    this.#isStarted = true;
    await this.#records.followOthers(
      (id, job) => {
        this.#changedElsewhere(id, job);
      },
      () => void this.#takeUpOthers(),
    );
    this.wake();
  }

  /** Another node has queued, begun or ended a job. */
  #changedElsewhere(id: string, job: Job | undefined): void {
    if (job?.state === "queued") {
      if (!this.#pauses(job)) this.announce(job);
      return;
    }
    // It is another node's to run, or nobody's any more.
    this.#waitedFor.delete(id);
    for (const { line } of this.#kinds.values()) line.remove(id);
    if (job === undefined || job.is_cancelled === true) this.#running.get(id)?.run.abort("the job was cancelled");
    this.#cancelled.notice();
  }

  /** Whether a queued job waits for its next attempt, which is timed then, also where another node has failed it. */
  #pauses({ id, not_before: notBefore }: Job): boolean {
    if (this.#delayed.has(id)) return true;
    if (notBefore === undefined || this.#waitedFor.get(id) === notBefore) return false;
    // No longer than the longest pause: the clock of the node that wrote it may be ahead.
    const restMs = Math.min(Date.parse(notBefore) - this.#clock.nowMs(), longestPauseMs(this.#options));
    if (!(restMs > 0)) return false;
    this.#delay(id, restMs);
    this.#waitedFor.set(id, notBefore);
    return true;
  }

  /** Queues the jobs of nodes that have ended; all nodes try, and each job is queued once. */
  async #takeUpOthers(): Promise<void> {
    try {
      for (const [kind, { runner, line }] of this.#kinds) {
        await this.#records.requeueCutOff(kind, { urgent: runner.isUrgent === true });
        line.forget();
      }
    } catch (error) {
      this.#log.warn("jobs of a node that has ended could not be queued again yet", { ...codeOf(error), error });
      clearTimeout(this.#takingUp);
      this.#takingUp = setTimeout(() => void this.#takeUpOthers(), this.#options.settleDelayMs).unref();
    }
    this.#cancelled.notice();
    this.wake();
  }

  /** Starts queued jobs as far as the runners have room. Cheap; must be called after each commit that queues one. */
  wake(): void {
    if (!this.#isStarted || this.#stopping !== undefined) return;
    for (const [kind, { runner, line }] of this.#kinds) {
      const isTaken = this.#options.takes(kind);
      // A line that is known tells the places in it, also of jobs that others run.
      if (!line.isWorthReading || (!isTaken && runner.isAnnounced !== true)) continue;
      if (!line.isKnown) {
        // Jobs that are being leased are still queued.
        const queued = this.#records.queued(kind);
        line.refresh(queued.filter((job) => !this.#running.has(job.id) && !this.#pauses(job) && isFor(runner, job)));
      }
      while (isTaken && line.hasRoom) {
        const next = line.next();
        if (next === undefined) break;
        this.#launch(next, kind, runner);
      }
    }
  }

  /** What waits and runs of each kind, for metrics. */
  figures(): Readonly<Record<string, LaneFigures>> {
    return Object.fromEntries(
      [...this.#kinds].map(([kind, { line }]) => [kind, { waiting: this.#records.countQueued(kind), ...line.figures }]),
    );
  }

  /**
   * Aborts a job if it runs, here or on another node, and deletes it. Resolves when its run has ended, whoever has
   * cancelled it first; after ten seconds also where another node has not said so, which commits nothing for it any
   * more. For a subject that is being deleted.
   */
  async cancel(id: string): Promise<void> {
    const running = this.#running.get(id);
    this.#endDelay(id);
    this.#waitedFor.delete(id);
    for (const { line } of this.#kinds.values()) line.remove(id);
    if (running !== undefined) {
      running.run.abort("the job was cancelled");
      // The record stays until the run has ended: it is what another node waits for that cancels the job as well.
      await this.#records.askToEnd(id, { isRunHere: true });
      await running.settled;
    }
    await this.#cancelled.cancel(id);
  }

  /** Aborts the running jobs that this node does not take any more, so that others run them. */
  giveBack(): void {
    for (const { id, kind, run } of this.#running.values()) {
      const [runner, job] = [this.#kinds.get(kind)?.runner, this.get(id)];
      const isFit = runner === undefined || job === undefined || isFor(runner, job);
      if (!isFit || !this.#options.takes(kind)) run.abort("this node does not take the job any more");
    }
  }

  /** Aborts the running jobs and waits until all of them are queued again. Nothing is started afterwards. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    clearTimeout(this.#takingUp);
    for (const id of this.#delayed.keys()) this.#endDelay(id);
    for (const { line } of this.#kinds.values()) line.stop();
    const running = [...this.#running.values()];
    for (const { run } of running) run.abort("the server is stopping");
    await Promise.all(running.map(({ settled }) => settled));
  }

  /** One at a time: the next may have to give way only when this one has settled. */
  #endYoungest(kind: string, owner: string): void {
    const ofKind = [...this.#running.values()].filter((job) => job.kind === kind);
    const youngest = ofKind.findLast((job) => job.owner === owner);
    if (youngest === undefined || ofKind.some(({ isGivingWay }) => isGivingWay)) return;
    youngest.isGivingWay = true;
    this.#log.info("job gives way to another owner's", { job_id: youngest.id, kind });
    youngest.run.abort("another owner's job waits");
  }

  #launch({ id, owner }: NextJob, kind: string, runner: JobRunner): void {
    this.#waitedFor.delete(id);
    const run = new JobRun(id, this.#options, {
      records: this.#records,
      runner,
      clock: this.#clock,
      log: this.#log,
      isStopping: () => this.#stopping !== undefined,
      isKind: (name) => this.#kinds.has(name),
      delay: (delayMs) => {
        this.#delay(id, delayMs);
      },
    });
    const startedMs = this.#clock.monotonicMs();
    const settled = run
      .perform()
      .catch((error: unknown) => {
        // The job stays as it is, for a later attempt or the next start.
        this.#log.error("job state cannot be recorded", { job_id: id, kind, ...codeOf(error), error });
        this.#delay(id, FAULT_DELAY_MS);
      })
      .finally(() => {
        this.#running.delete(id);
        const line = this.#kinds.get(kind)?.line;
        line?.ended(owner, this.#clock.monotonicMs() - startedMs);
        if (this.#records.get(id)?.value.state === "queued") line?.forget();
        this.wake();
      });
    this.#running.set(id, { id, owner, kind, run, isGivingWay: false, settled });
  }

  /** Keeps a queued job from being started for this time. */
  #delay(id: string, delayMs: number): void {
    this.#endDelay(id);
    if (this.#stopping !== undefined) return;
    const timer = setTimeout(() => {
      this.#delayed.delete(id);
      for (const { line } of this.#kinds.values()) line.forget();
      this.wake();
    }, delayMs);
    timer.unref();
    this.#delayed.set(id, timer);
  }

  #endDelay(id: string): void {
    clearTimeout(this.#delayed.get(id));
    this.#delayed.delete(id);
  }
}

function isFor(runner: JobRunner, job: Job): boolean {
  return runner.isFor?.(job) !== false;
}
