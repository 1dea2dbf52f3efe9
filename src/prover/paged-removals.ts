/**
 * Removes what a deletion has left, as durable jobs: the request that deletes answers at once, and the records go in
 * pieces, in the turn of their owner, also after a crash. The job's lease keeps a second server from the same work; to
 * delete a piece twice changes nothing.
 */
import type { Subject } from "../platform/auth/principal.js";
import type { JobContext } from "../platform/jobs/job-runner.js";
import type { Job } from "../platform/jobs/job.js";
import type { Jobs } from "../platform/jobs/jobs.js";
import { mergeCommits } from "../platform/store/commits.js";
import type { Store, StoreCommit, StoreKey, StoreValue } from "../platform/store/store.js";

/** What was deleted, and whose it was. */
export interface RemovalReference {
  readonly owner: Subject;
  readonly id: string;
}

/** What is removed of a kind of things. */
export interface RemovalPlan<Table extends string> {
  /** Of the jobs. */
  readonly kind: string;
  /** Table of the records that say what is still to be removed. */
  readonly marks: string;
  /** Key of one of them. */
  readonly markOf: (reference: RemovalReference) => StoreKey;
  /** Phases of a job, in their order; each removes all records of one prefix. */
  readonly tables: readonly Table[];
  readonly prefixOf: (table: Table, reference: RemovalReference) => StoreKey;
}

export interface PagedRemovalsDependencies {
  readonly store: Pick<Store, "range" | "commit">;
  readonly jobs: Pick<Jobs, "enqueueCommit" | "ofSubject" | "register" | "wake">;
}

/** Records of one commit: some 20 ms of the writer, which other requests wait for at most. */
const PIECE_RECORDS = 2000;
/** How long an owner may remove while another's records wait; nothing is lost by giving way. */
const GIVE_WAY_MS = 5_000;

export class PagedRemovals<Table extends string> {
  readonly #plan: RemovalPlan<Table>;
  readonly #with: PagedRemovalsDependencies;

  constructor(plan: RemovalPlan<Table>, dependencies: PagedRemovalsDependencies) {
    this.#plan = plan;
    this.#with = dependencies;
  }

  /** Sets what runs the jobs; before they are started. */
  register(turnOf: (subject: Subject) => string): void {
    this.#with.jobs.register(this.#plan.kind, {
      ownerOf: (job) => turnOf(referenceOf(job).owner),
      giveWayMs: GIVE_WAY_MS,
      // A full disk must not keep anyone from making room.
      isUrgent: true,
      run: async (job, context) => {
        await this.#remove(referenceOf(job), context);
      },
    });
  }

  /** Prepares the removal of all that belongs to a reference. Call `wake` after the commit. */
  prepare(reference: RemovalReference): StoreCommit {
    const key = this.#plan.markOf(reference);
    return mergeCommits(this.#job(reference), { puts: [{ key, value: valueOf(reference) }], urgent: true });
  }

  /** Starts queued removals now. */
  wake(): void {
    this.#with.jobs.wake();
  }

  /**
   * Queues the removals that have no job any more: those that failed, such as on a disk with faults, and those that
   * were begun before removals were jobs. At start, before the jobs are started.
   */
  async resume(): Promise<void> {
    const { store, jobs } = this.#with;
    for (const { value } of store.range<RemovalReference>([this.#plan.marks])) {
      const known = jobs.ofSubject(this.#plan.markOf(value));
      if (known.some(({ state }) => state === "queued" || state === "running")) continue;
      await store.commit(mergeCommits(this.#job(value), { urgent: true }));
    }
  }

  #job(reference: RemovalReference): StoreCommit {
    const { kind, markOf } = this.#plan;
    const job = { kind, subject_key: markOf(reference), phase: "begin", input: valueOf(reference) };
    return this.#with.jobs.enqueueCommit(job).commit;
  }

  async #remove(reference: RemovalReference, context: JobContext): Promise<void> {
    const { store } = this.#with;
    const { tables, prefixOf, markOf } = this.#plan;
    for (const table of tables) {
      await context.setPhase(table);
      for (;;) {
        // The server stops, or another owner's records wait: the job is queued again.
        if (context.signal.aborted) return;
        const found = store.range(prefixOf(table, reference), { limit: PIECE_RECORDS });
        if (found.length === 0) break;
        await store.commit({ deletes: found.map(({ key }) => key) });
      }
    }
    await store.commit({ deletes: [markOf(reference)] });
  }
}

/** What is kept of what is still to be removed: its reference, as plain JSON. */
function valueOf({ owner: { kind, id: ownerId }, id }: RemovalReference): StoreValue {
  return { owner: { kind, id: ownerId }, id };
}

/** The input is what `valueOf` wrote. */
function referenceOf(job: Job): RemovalReference {
  return job.input as unknown as RemovalReference;
}
