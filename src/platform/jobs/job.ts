/**
 * The record of a durable job: background work, stored in the same commit as the record that it is for. A job outlives
 * the process, and the next process continues it at the phase that was last committed.
 */
import type { Clock } from "../clock.js";
import { isoTimestamp } from "../clock.js";
import { newId } from "../ids.js";
import { defineTable } from "../store/tables.js";
import type { Store, StoreCommit, StoreKey, StoreValue } from "../store/store.js";
import type { Table } from "../store/tables.js";

export type JobState = "queued" | "running" | "done" | "failed";

/** Why a job failed; for people, without secrets. */
export interface JobFault {
  readonly code: string;
  readonly message: string;
}

export interface Job {
  readonly id: string;
  readonly created_at: string;
  /** Name of its runner. */
  readonly kind: string;
  /** Key of the record that the job is for, such as a prover's. */
  readonly subject_key: StoreKey;
  /** Further input of the runner; small, never a secret. */
  readonly input: StoreValue;
  /** The runner's own name of the current step. */
  readonly phase: string;
  /** Starts in the current phase, without those that the end of the process cut off. */
  readonly attempt: number;
  /** How often the end of the process cut it off in the current phase. */
  readonly cut_offs: number;
  readonly state: JobState;
  /**
   * Who runs it: the incarnation of a node, new with each start of its process, so that it names the node and the run
   * of it; null while it is not running.
   */
  readonly boot_id: string | null;
  readonly updated_at: string;
  /** When another kind's runner handed it over; absent where none did. */
  readonly moved_at?: string;
  /** When it may be tried again after a failure, ISO 8601; absent where it need not wait. */
  readonly not_before?: string;
  /**
   * What a node must have to run it, in the words of its runner, which has said so in the present phase; absent where
   * any node can.
   */
  readonly needs?: StoreValue;
  /** True once it was cancelled while it runs: whoever runs it ends the run and deletes it then. */
  readonly is_cancelled?: true;
  readonly error: JobFault | null;
}

/** What a service gives to queue a job. */
export interface NewJob {
  readonly kind: string;
  readonly subject_key: StoreKey;
  readonly phase: string;
  readonly input?: StoreValue;
  /** Chosen by the caller when the subject's record names its job. */
  readonly id?: string;
}

export const JOB_TABLE = "job";

export type JobTable = Table<Job, "state" | "subject", never>;

/** Defines the table of jobs, with indexes by state and kind, for the queue, and by subject. */
export function jobTable(store: Pick<Store, "get" | "range" | "count">): JobTable {
  return defineTable<Job, "state" | "subject">(
    {
      name: JOB_TABLE,
      key: (job) => [job.id],
      indexes: {
        state: (job) => [job.state, job.kind],
        subject: (job) => job.subject_key,
      },
    },
    { store },
  );
}

/** Returns a job as it is stored first, and the commit that stores it. */
export function newJob(table: JobTable, job: NewJob, clock: Clock): { job: Job; commit: StoreCommit } {
  const now = isoTimestamp(clock.nowMs());
  const record: Job = {
    id: job.id ?? newId(),
    created_at: now,
    kind: job.kind,
    subject_key: job.subject_key,
    input: job.input ?? null,
    phase: job.phase,
    attempt: 0,
    cut_offs: 0,
    state: "queued",
    boot_id: null,
    updated_at: now,
    error: null,
  };
  return { job: record, commit: table.insertCommit(record) };
}
