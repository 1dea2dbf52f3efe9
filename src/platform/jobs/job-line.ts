/**
 * The queued jobs of one kind in the order of their turns (concurrency/fair-queue.ts). The store has the jobs; this is
 * a view of one process, read anew before a job is started, so that the order by owner holds after a restart too.
 */
import type { Clock } from "../clock.js";
import { FairQueue, type Place } from "../concurrency/fair-queue.js";
import { GiveWay } from "../concurrency/give-way.js";
import type { LaneFigures } from "../pool/lane.js";
import type { JobRunner } from "./job-runner.js";
import type { Job } from "./job.js";

/** A job whose turn has come. */
export interface NextJob {
  readonly id: string;
  readonly owner: string;
}

interface QueuedJob {
  readonly id: string;
  /** When it was queued, by the wall clock. */
  readonly sinceMs: number;
}

/** Weight of the newest job in the average of their durations: about the last ten count. */
const EWMA_SHARE = 0.2;

interface JobLineDependencies {
  readonly clock: Clock;
  /** Aborts the job of the owner that was started last, so that it waits for its turn again. */
  readonly endYoungest: (owner: string) => void;
}

export class JobLine {
  readonly #runner: JobRunner;
  readonly #clock: Clock;
  readonly #queue = new FairQueue<QueuedJob>();
  readonly #places = new Map<string, Place<QueuedJob>>();
  readonly #giveWay: GiveWay | undefined;
  #running = 0;
  #started = 0;
  #waitMs = 0;
  /** Of the jobs that have ended; undefined before the first. */
  #averageMs: number | undefined;
  /** Whether all that is queued is in the line, as far as this process knows. */
  #isRead = false;

  constructor(runner: JobRunner, { clock, endYoungest }: JobLineDependencies) {
    this.#runner = runner;
    this.#clock = clock;
    const { giveWayMs } = runner;
    if (giveWayMs !== undefined)
      this.#giveWay = new GiveWay(this.#queue, { afterMs: giveWayMs, end: (owner) => endYoungest(owner) });
  }

  /** The figures for metrics, but for what waits: the store knows that. A job that is queued again starts again. */
  get figures(): Omit<LaneFigures, "waiting"> {
    return { running: this.#running, started: this.#started, refused: 0, waitSeconds: this.#waitMs / 1000 };
  }

  /** True when another job may run now. */
  get hasRoom(): boolean {
    return this.#running < (this.#runner.concurrency ?? 1);
  }

  /** True when the store need not be read: every job is announced, and none has come otherwise since it was read. */
  get isKnown(): boolean {
    return this.#isRead && this.#runner.isAnnounced === true;
  }

  /** Has the store read again before the next job is started. */
  forget(): void {
    this.#isRead = false;
  }

  /** Adds a job that was just queued. */
  announce(job: Job): void {
    if (!this.#isRead || this.#places.has(job.id)) return;
    this.#add(job, { isFirst: hasBegun(job) });
    this.#giveWay?.check();
  }

  /** Takes a job out that was deleted. */
  remove(id: string): void {
    const place = this.#places.get(id);
    if (place === undefined) return;
    this.#queue.remove(place);
    this.#places.delete(id);
  }

  /** Returns how many jobs begin before a queued one; undefined for one that is not in the line. */
  aheadOf(id: string): number | undefined {
    const place = this.#places.get(id);
    return place === undefined ? undefined : this.#queue.aheadOfPlace(place);
  }

  /** Returns how long the work before a new job takes, or before a queued one, by the time that jobs took so far. */
  expectedWaitMs(jobsAhead: number): number {
    return ((jobsAhead + this.#running) * (this.#averageMs ?? 0)) / (this.#runner.concurrency ?? 1);
  }

  /** Returns how many jobs of all owners would begin before a new one of this owner. */
  aheadOfOwner(owner: string): number {
    return this.#queue.aheadOf(owner);
  }

  /** True when a newly queued job may matter: it can start, or the owner of running jobs can give way. */
  get isWorthReading(): boolean {
    return this.hasRoom || (this.#giveWay !== undefined && this.#running > this.#queue.ownersRunning);
  }

  /** Takes over what the store has: `queued` are all jobs of the kind that may be started, oldest first. */
  refresh(queued: readonly Job[]): void {
    this.#isRead = true;
    const ids = new Set(queued.map(({ id }) => id));
    for (const [id, place] of this.#places)
      if (!ids.has(id)) {
        this.#queue.remove(place);
        this.#places.delete(id);
      }
    const fresh = queued.filter(({ id }) => !this.#places.has(id));
    for (const job of fresh) if (!hasBegun(job)) this.#add(job, { isFirst: false });
    // Each is put before the one that was put first, so the oldest comes last.
    for (const job of fresh.toReversed()) if (hasBegun(job)) this.#add(job, { isFirst: true });
    this.#giveWay?.check();
  }

  /** Returns the job whose turn it is, which then counts as running until `ended`; undefined when none waits. */
  next(): NextJob | undefined {
    const place = this.#queue.take();
    if (place === undefined) return undefined;
    const { id, sinceMs } = place.item;
    this.#places.delete(id);
    this.#running += 1;
    this.#started += 1;
    this.#waitMs += Math.max(0, this.#clock.nowMs() - sinceMs);
    this.#giveWay?.check();
    return { id, owner: place.owner };
  }

  /** Counts a job as ended, however it ended. */
  ended(owner: string, ranMs: number): void {
    this.#running -= 1;
    this.#averageMs = this.#averageMs === undefined ? ranMs : this.#averageMs + EWMA_SHARE * (ranMs - this.#averageMs);
    this.#queue.release(owner);
    this.#giveWay?.check();
  }

  /** Ends the watch over owners with more than their share. */
  stop(): void {
    this.#giveWay?.stop();
  }

  #add(job: Job, options: { readonly isFirst: boolean }): void {
    const queued: QueuedJob = { id: job.id, sinceMs: Date.parse(job.updated_at) };
    const { place } = this.#queue.add(this.#runner.ownerOf?.(job) ?? "", queued, options);
    if (place !== undefined) this.#places.set(job.id, place);
  }
}

/** A job that was started before goes before its owner's other jobs; one that was only handed over has its turn yet. */
function hasBegun(job: Job): boolean {
  return job.updated_at !== (job.moved_at ?? job.created_at);
}
