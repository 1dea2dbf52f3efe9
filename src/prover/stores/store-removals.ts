/**
 * Removes what large deleted stores have left, as durable jobs: the request that deletes a store answers at once, and
 * its records go in pieces, in the turn of their owner, also after a crash. The job's lease keeps a second server from
 * the same work; to delete a piece twice changes nothing.
 */
import type { Subject } from "../../platform/auth/principal.js";
import type { JobContext } from "../../platform/jobs/job-runner.js";
import type { Job } from "../../platform/jobs/job.js";
import type { Jobs } from "../../platform/jobs/jobs.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type { Store, StoreCommit, StoreValue } from "../../platform/store/store.js";
import { PARTS_OF_STORE, keyIn, type StoreReference } from "./store-records.js";

interface StoreRemovalsDependencies {
  readonly store: Pick<Store, "range" | "commit">;
  readonly jobs: Pick<Jobs, "enqueueCommit" | "ofSubject" | "register" | "wake">;
}

const KIND = "remove_store";
/** Records of one commit: some 20 ms of the writer, which other requests wait for at most. */
const PIECE_RECORDS = 2000;
/** How long an owner may remove while another's store waits; nothing is lost by giving way. */
const GIVE_WAY_MS = 5_000;

export class StoreRemovals {
  readonly #with: StoreRemovalsDependencies;

  constructor(dependencies: StoreRemovalsDependencies) {
    this.#with = dependencies;
  }

  /** Sets what runs the jobs; before they are started. */
  register(turnOf: (subject: Subject) => string): void {
    this.#with.jobs.register(KIND, {
      ownerOf: (job) => turnOf(referenceOf(job).owner),
      giveWayMs: GIVE_WAY_MS,
      // A full disk must not keep anyone from making room.
      isUrgent: true,
      run: async (job, context) => {
        await this.#remove(referenceOf(job), context);
      },
    });
  }

  /** Prepares the removal of all that belongs to a store. Call `wake` after the commit. */
  prepare(reference: StoreReference): StoreCommit {
    const value = valueOf(reference);
    const key = keyIn("proof_store_removal", reference);
    return mergeCommits(this.#job(reference), { puts: [{ key, value }], urgent: true });
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
    for (const record of store.range<StoreReference>(["proof_store_removal"])) {
      const known = jobs.ofSubject(keyIn("proof_store_removal", record.value));
      if (known.some(({ state }) => state === "queued" || state === "running")) continue;
      await store.commit(mergeCommits(this.#job(record.value), { urgent: true }));
    }
  }

  #job(reference: StoreReference): StoreCommit {
    const subject_key = keyIn("proof_store_removal", reference);
    return this.#with.jobs.enqueueCommit({ kind: KIND, subject_key, phase: "begin", input: valueOf(reference) }).commit;
  }

  async #remove(reference: StoreReference, context: JobContext): Promise<void> {
    const { store } = this.#with;
    for (const table of PARTS_OF_STORE) {
      await context.setPhase(table);
      for (;;) {
        // The server stops, or another owner's store waits: the job is queued again.
        if (context.signal.aborted) return;
        const found = store.range(keyIn(table, reference), { limit: PIECE_RECORDS });
        if (found.length === 0) break;
        await store.commit({ deletes: found.map(({ key }) => key) });
      }
    }
    await store.commit({ deletes: [keyIn("proof_store_removal", reference)] });
  }
}

/** What is kept of a store that is still to be removed: its reference, as plain JSON. */
function valueOf({ owner: { kind, id: ownerId }, id }: StoreReference): StoreValue {
  return { owner: { kind, id: ownerId }, id };
}

/** The input is what `valueOf` wrote. */
function referenceOf(job: Job): StoreReference {
  return job.input as unknown as StoreReference;
}
