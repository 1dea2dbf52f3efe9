/**
 * The stored jobs of one server process: reading, leasing and changing them, and telling listeners of each change. A
 * running job names the process that holds its lease (`boot_id`), so that a process which lost the lease commits
 * nothing.
 */
import { isoTimestamp, type Clock } from "../clock.js";
import type { Log } from "../log.js";
import type { Nodes } from "../nodes/nodes.js";
import { soloNodes } from "../nodes/solo-nodes.js";
import { mergeCommits, retryOnConflict } from "../store/commits.js";
import type { Store, StoreCommit, StoreRecord } from "../store/store.js";
import { SharedProgress } from "./shared-progress.js";
import { JOB_TABLE, jobTable, newJob, type Job, type JobTable, type NewJob } from "./job.js";

export interface JobEvent {
  readonly job: Job;
  /** 0 to 1 within the phase; absent when the event is about state or phase. */
  readonly progress?: number;
}

export interface JobRecordsDependencies {
  /** The nodes that share the store; without it there is no other. */
  readonly nodes?: Nodes;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/** Finished jobs are kept for a day, for the operator. */
const FINISHED_KEPT_MS = 24 * 3_600_000;
/** Finished jobs deleted per commit. */
const PRUNE_BATCH = 500;

export class JobRecords {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #table: JobTable;
  readonly #listeners = new Set<(event: JobEvent) => void>();
  readonly #nodes: Nodes;
  readonly #progress: SharedProgress;

  constructor(dependencies: JobRecordsDependencies) {
    this.#store = dependencies.store;
    this.#clock = dependencies.clock;
    this.#log = dependencies.log;
    this.#nodes = dependencies.nodes ?? soloNodes();
    this.#progress = new SharedProgress({ ...dependencies, nodes: this.#nodes });
    this.#table = jobTable(dependencies.store);
  }

  /** Returns a job as it is stored first, and the commit that stores it. */
  prepare(job: NewJob): { job: Job; commit: StoreCommit } {
    return newJob(this.#table, job, this.#clock);
  }

  /** Returns a job's record, or undefined when there is none. */
  get(id: string): StoreRecord<Job> | undefined {
    return this.#table.get([id]);
  }

  /** Returns all jobs of a subject, oldest first. */
  ofSubject(subjectKey: Job["subject_key"]): Job[] {
    return this.#table.list("subject", subjectKey).rows;
  }

  /** Returns the queued jobs of a kind, oldest first. The services bound how many there are. */
  queued(kind: string): Job[] {
    return this.#table.list("state", ["queued", kind]).rows;
  }

  /** Returns how many jobs of a kind are queued. */
  countQueued(kind: string): number {
    return this.#table.count("state", ["queued", kind]);
  }

  /** True when this process holds the lease of the job. */
  isLeased(job: Job): boolean {
    return job.state === "running" && job.boot_id === this.#nodes.incarnation;
  }

  /** Marks a queued job as running in this process, and counts the attempt. Throws StoreConflict. */
  async lease(record: StoreRecord<Job>, commit?: StoreCommit): Promise<Job> {
    const change = { state: "running", boot_id: this.#nodes.incarnation, attempt: record.value.attempt + 1 } as const;
    const job = await this.update(record, change, commit);
    this.#progress.begin(job.id);
    return job;
  }

  /** Tells the listeners how much is done of the present step of a job that runs here, and other nodes now and then. */
  progress(job: Job, share: number): void {
    this.notify({ job, progress: share });
    this.#progress.tell(job.id, share);
  }

  /** Notes that this process does not run a job any more. Never rejects. */
  async left(id: string): Promise<void> {
    await this.#progress.end(id);
  }

  /**
   * Commits a change of a job, with another commit if given, and tells the listeners. A change ends the pause after a
   * failure unless it begins another, and one of the phase ends what the phase needed. Throws StoreConflict.
   */
  async update(record: StoreRecord<Job>, change: Partial<Job>, commit: StoreCommit = {}): Promise<Job> {
    const before = change.phase === undefined ? record.value : withoutNeeds(record.value);
    const next: Job = { ...withoutPause(before), ...change, updated_at: isoTimestamp(this.#clock.nowMs()) };
    const isStepOver = change.phase !== undefined || change.state !== undefined;
    const ended = isStepOver ? this.#progress.stepEnd(next.id) : {};
    await this.#store.commit(mergeCommits(this.#table.updateCommit(record, next), commit, ended));
    this.notify({ job: next });
    return next;
  }

  /**
   * Queues a leased job for the runner of another kind, or a node that has what it needs; the attempt is not counted.
   * Throws StoreConflict.
   */
  async move(record: StoreRecord<Job>, to: Partial<Pick<Job, "kind" | "needs">>): Promise<void> {
    const { attempt } = record.value;
    const movedAt = isoTimestamp(this.#clock.nowMs());
    const change = { ...to, state: "queued", boot_id: null, attempt: attempt - 1, cut_offs: 0 } as const;
    const next: Job = { ...record.value, ...change, updated_at: movedAt, moved_at: movedAt };
    await this.#store.commit(mergeCommits(this.#table.updateCommit(record, next), this.#progress.stepEnd(next.id)));
    this.notify({ job: next });
  }

  /**
   * Prepares the deletion of a job with what ends it; nothing when it is gone. It conflicts when the job was changed
   * since, such as by another process that took it over.
   */
  ending(id: string): StoreCommit {
    const record = this.get(id);
    return record === undefined ? {} : mergeCommits(this.#table.deleteCommit(record), this.#progress.stepEnd(id));
  }

  /** Deletes a job as it was read, with another commit if given. Throws StoreConflict. */
  async deleteRecord(record: StoreRecord<Job>, commit: StoreCommit = {}): Promise<void> {
    await this.#store.commit(mergeCommits(this.#table.deleteCommit(record), commit));
  }

  /** Deletes a job; a missing one is fine. */
  async delete(id: string): Promise<void> {
    await retryOnConflict(async () => {
      const record = this.get(id);
      if (record !== undefined) await this.deleteRecord(record);
    });
  }

  /**
   * Asks whoever runs a job to end it. Returns false where nobody alive does: it is deleted then.
   * @param isRunHere whether this process runs it
   */
  async askToEnd(id: string, { isRunHere }: { readonly isRunHere: boolean }): Promise<boolean> {
    return await retryOnConflict(async () => {
      const record = this.get(id);
      if (record === undefined) return false;
      const { value } = record;
      // One that this process holds and does not run is left of an outcome that could not be recorded.
      if (value.state === "running" && (this.isLeased(value) ? isRunHere : this.#isHeld(value))) {
        if (value.is_cancelled !== true) await this.update(record, { is_cancelled: true }, { urgent: true });
        return true;
      }
      await this.deleteRecord(record);
      return false;
    });
  }

  /** Queues the jobs of a kind whose holders have ended without them. The cut off attempt is not counted. */
  async requeueCutOff(kind: string, commit?: StoreCommit): Promise<void> {
    for (const { value } of this.#table.records("state", ["running", kind])) {
      await retryOnConflict(async () => {
        const record = this.get(value.id);
        if (record?.value.state !== "running" || this.#isHeld(record.value)) return;
        if (record.value.is_cancelled === true) {
          await this.deleteRecord(record, commit);
          return;
        }
        const { attempt, cut_offs } = record.value;
        const change = { state: "queued", boot_id: null, attempt: attempt - 1, cut_offs: cut_offs + 1 } as const;
        await this.update(record, change, commit);
      });
    }
  }

  #isHeld(job: Job): boolean {
    return this.isLeased(job) || (job.boot_id !== null && this.#nodes.isAlive(job.boot_id));
  }

  /**
   * Calls the listener with each job that other nodes have changed, or with the id of one that they deleted; those who
   * listen to changes are told before it. And calls `onEnded` when a node has ended, whose jobs are to be queued again.
   */
  async followOthers(onChanged: (id: string, job: Job | undefined) => void, onEnded: () => void): Promise<void> {
    this.#nodes.onChange(JOB_TABLE, (keys) => {
      for (const key of keys) {
        const id = String(key[1]);
        const job = this.get(id)?.value;
        if (job !== undefined) this.notify({ job });
        onChanged(id, job);
      }
    });
    this.#nodes.onEnded(onEnded);
    const runningOf = (id: string): Job | undefined => {
      const job = this.get(id)?.value;
      return job?.state === "running" ? job : undefined;
    };
    await this.#progress.follow(
      (id, progress) => {
        const job = runningOf(id);
        if (job !== undefined) this.notify({ job, progress });
      },
      (id) => runningOf(id) !== undefined,
    );
  }

  /** Deletes jobs that finished more than a day ago. */
  async prune(): Promise<void> {
    const before = isoTimestamp(this.#clock.nowMs() - FINISHED_KEPT_MS);
    for (const state of ["done", "failed"] as const) {
      const old = this.#table.records("state", [state]).filter((record) => record.value.updated_at < before);
      for (let from = 0; from < old.length; from += PRUNE_BATCH) {
        const batch = old.slice(from, from + PRUNE_BATCH);
        await this.#store.commit(mergeCommits(...batch.map((record) => this.#table.deleteCommit(record))));
      }
    }
  }

  /** Calls the listener for every change of state, phase and progress. Returns a function that ends it. */
  subscribe(listener: (event: JobEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Calls the listeners. A listener that throws is logged and does not affect the job. */
  notify(event: JobEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#log.error("job listener failed", { job_id: event.job.id, error });
      }
    }
  }
}

function withoutNeeds({ needs: _had, ...job }: Job): Job {
  return job;
}

function withoutPause({ not_before: _over, ...job }: Job): Job {
  return job;
}
