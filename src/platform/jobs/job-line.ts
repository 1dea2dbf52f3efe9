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

  /** True when a newly queued job may matter: it can start, or the owner of running jobs can give way. */
  get isWorthReading(): boolean {
    return this.hasRoom || (this.#giveWay !== undefined && this.#running > this.#queue.ownersRunning);
  }

  /** Takes over what the store has: `queued` are all jobs of the kind that may be started, oldest first. */
  refresh(queued: readonly Job[]): void {
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
  ended(owner: string): void {
    this.#running -= 1;
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
