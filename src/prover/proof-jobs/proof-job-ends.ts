/**
 * The ends of jobs. One commit changes the record, deletes the sealed input and the durable job, and publishes the
 * event; of a proof it is the proof's own commit. Of two ends the first one counts: both check the record.
 */
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Events } from "../../platform/events/events.js";
import type { Jobs } from "../../platform/jobs/jobs.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type { Store, StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { proofJobEnded } from "../prover-events.js";
import type { StatusWatch } from "../provisioning/status-watch.js";
import type { ProofJobEnd, ProofJobRecords, StoredProofJob } from "./proof-job-records.js";

interface ProofJobEndsDependencies {
  readonly store: Store;
  readonly records: ProofJobRecords;
  readonly jobs: Jobs;
  readonly watch: StatusWatch;
  readonly events: Pick<Events, "commitOf">;
  readonly clock: Clock;
}

/** Results are there for a day; the proof's record and note stay. */
const KEPT_MS = 24 * 3_600_000;

export class ProofJobEnds {
  readonly #with: ProofJobEndsDependencies;

  constructor(dependencies: ProofJobEndsDependencies) {
    this.#with = dependencies;
  }

  /**
   * Prepares the end of a job but for its durable job.
   * @param change what the end adds to the record
   */
  prepare(
    record: StoreRecord<StoredProofJob>,
    state: ProofJobEnd,
    change: Partial<Pick<StoredProofJob, "proof_id" | "failure">> = {},
  ): StoreCommit {
    const { records, events, clock } = this.#with;
    const nowMs = clock.nowMs();
    const finished_at = isoTimestamp(nowMs);
    const ended = { state, ...change, updated_at: finished_at, finished_at, expires_at: isoTimestamp(nowMs + KEPT_MS) };
    return mergeCommits(
      records.update(record, ended),
      records.inputDeletion(record.value),
      events.commitOf([proofJobEnded({ ...record.value, ...ended })]),
    );
  }

  /** Ends a job from outside of its run, and then the run. Throws StoreConflict. */
  async end(
    record: StoreRecord<StoredProofJob>,
    state: ProofJobEnd,
    change: Partial<Pick<StoredProofJob, "failure">> = {},
  ): Promise<void> {
    const { id } = record.value;
    const commit = mergeCommits(this.prepare(record, state, change), this.#with.jobs.ending(id));
    await this.#with.store.commit(commit);
    await this.abort(id);
  }

  /** Tells who waits for the end, and frees the thread of a run that is not wanted any more. */
  async abort(id: string): Promise<void> {
    this.#with.watch.notify(id);
    await this.#with.jobs.cancel(id);
  }

  /** Tells who waits for the end. */
  told(id: string): void {
    this.#with.watch.notify(id);
  }
}
