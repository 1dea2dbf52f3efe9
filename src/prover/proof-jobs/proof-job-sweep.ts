/**
 * Ends jobs whose deadline has passed and deletes ended ones whose time is up, while the server runs. What it does
 * follows from the records and the clock: a missed run is made up by the next one, and two servers may both sweep.
 */
import type { Clock } from "../../platform/clock.js";
import { Rounds } from "../../platform/concurrency/rounds.js";
import type { Log } from "../../platform/log.js";
import { StoreConflict, type Store } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type { ProofJobEnds } from "./proof-job-ends.js";
import type { ProofJobRecords } from "./proof-job-records.js";

interface ProofJobSweepDependencies {
  readonly store: Store;
  readonly records: ProofJobRecords;
  readonly ends: Pick<ProofJobEnds, "end">;
  readonly clock: Clock;
  readonly log: Log;
}

/** A job runs this much longer than its deadline at most. */
const SWEEP_EVERY_MS = 2_000;
/** Jobs of one commit, or of one look. */
const PAGE = 100;

export class ProofJobSweep {
  readonly #with: ProofJobSweepDependencies;
  readonly #rounds = new Rounds(SWEEP_EVERY_MS, async () => {
    await this.sweep();
  });

  constructor(dependencies: ProofJobSweepDependencies) {
    this.#with = dependencies;
  }

  /** Begins to sweep; now and every two seconds. */
  async start(): Promise<void> {
    await this.#rounds.start();
  }

  /** Ends the sweeping. */
  stop(): void {
    this.#rounds.stop();
  }

  /** Expires and deletes what is due, a page of each. */
  async sweep(): Promise<void> {
    const { store, records, ends, clock, log } = this.#with;
    const nowMs = clock.nowMs();
    for (const record of records.due("open", PAGE)) {
      if (Date.parse(record.value.deadline) > nowMs) break;
      try {
        await ends.end(record, "expired");
      } catch (error) {
        // It ended by itself, or the store takes no writes now; the next round sees.
        if (!(error instanceof StoreConflict)) log.warn("job not expired", { job_id: record.value.id, error });
      }
    }
    const old = records.due("ended", PAGE).filter(({ value }) => Date.parse(value.expires_at ?? "") <= nowMs);
    if (old.length === 0) return;
    try {
      await store.commit(mergeCommits(...old.map((record) => records.deletion(record))));
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
    }
  }
}
