/**
 * Durable jobs: what is left to do, kept in the store beside what it is for, so that one commit makes both. A job
 * outlives the process; whoever starts next takes it up at the phase that was last committed.
 */
import type { Clock } from "../clock.js";
import { isoTimestamp } from "../clock.js";
import { newId } from "../ids.js";
import { defineTable } from "../store/tables.js";
import type { Store, StoreCommit, StoreKey, StoreValue } from "../store/store.js";
import type { Table } from "../store/tables.js";

export type JobState = "queued" | "running" | "done" | "failed";

/** Why a job was given up. For people; without secrets. */
export interface JobFault {
  readonly code: string;
  readonly message: string;
}

export interface Job {
  readonly id: string;
  readonly created_at: string;
  /** Which runner it needs. */
  readonly kind: string;
  /** Key of the record that the job works for, such as a prover's. */
  readonly subject_key: StoreKey;
  /** What else the runner has to know; small, never a secret. */
  readonly input: StoreValue;
  /** The runner's own word for how far it is. */
  readonly phase: string;
  /** How often it has been started in its present phase, not counting starts that the end of the process cut off. */
  readonly attempt: number;
  /** How often the end of the process cut it off in its present phase. */
  readonly cut_offs: number;
  readonly state: JobState;
  /** The process that runs it; null while nobody does. */
  readonly boot_id: string | null;
  readonly updated_at: string;
  readonly error: JobFault | null;
}

/** What a service says of a new job. */
export interface NewJob {
  readonly kind: string;
  readonly subject_key: StoreKey;
  readonly phase: string;
  readonly input?: StoreValue;
  /** Chosen by the caller when the subject's record is to name its job. */
  readonly id?: string;
}

export type JobTable = Table<Job, "state" | "subject", never>;

/** Indexes: by state and kind, for the runner; by subject, to find the job of a record. */
export function jobTable(store: Pick<Store, "get" | "range" | "count">): JobTable {
  return defineTable<Job, "state" | "subject">(
    {
      name: "job",
      key: (job) => [job.id],
      indexes: {
        state: (job) => [job.state, job.kind],
        subject: (job) => job.subject_key,
      },
    },
    { store },
  );
}

/** The job as it is stored first, and the commit that stores it. */
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
