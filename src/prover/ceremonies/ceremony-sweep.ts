/**
 * Passes on turns that are over and fails ceremonies whose deadline passed, while the server runs. What it does follows
 * from the records and the clock: a missed run is made up by the next one, and two servers may both sweep.
 */
import { Rounds } from "../../platform/concurrency/rounds.js";
import type { Log } from "../../platform/log.js";
import { AppError } from "../../platform/errors.js";
import type { Ceremonies } from "./ceremonies.js";
import type { CeremonyRecords } from "./ceremony-records.js";
import type { Contributions } from "./contributions.js";

interface CeremonySweepDependencies {
  readonly records: CeremonyRecords;
  readonly ceremonies: Pick<Ceremonies, "settle">;
  readonly contributions: Pick<Contributions, "sweep">;
  readonly log: Log;
}

/** A turn is passed on within this time; contributors ask about as often. */
const SWEEP_EVERY_MS = 10_000;

export class CeremonySweep {
  readonly #with: CeremonySweepDependencies;
  readonly #rounds = new Rounds(SWEEP_EVERY_MS, async () => {
    await this.sweep();
  });

  constructor(dependencies: CeremonySweepDependencies) {
    this.#with = dependencies;
  }

  /** Begins to sweep; now and every ten seconds. */
  async start(): Promise<void> {
    await this.#rounds.start();
  }

  /** Ends the sweeping. */
  stop(): void {
    this.#rounds.stop();
  }

  /** Settles all ceremonies that have not come to an end. One that cannot be settled holds up no other. */
  async sweep(): Promise<void> {
    await this.#with.contributions.sweep();
    for (const { value } of this.#with.records.unfinished()) {
      try {
        await this.#with.ceremonies.settle(value.owner, value.id);
      } catch (error) {
        // Deleted meanwhile, or changed again and again.
        if (!(error instanceof AppError)) this.#with.log.error("ceremony not settled", { prover_id: value.id, error });
      }
    }
  }
}
