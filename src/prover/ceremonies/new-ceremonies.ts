/** Ceremonies as the registration and the deletion of provers see them: prepared commits, and files that they leave. */
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import type { StoreCommit } from "../../platform/store/store.js";
import { bringsKey } from "../circuit-origins.js";
import type { OfferedSystem } from "../providers/provider.js";
import type { CreateProver } from "../schemas.js";
import type { CeremonyRecords, CeremonySettings } from "./ceremony-records.js";
import { ceremonySettings, newCeremony } from "./ceremony-settings.js";
import type { Contributions } from "./contributions.js";

interface NewCeremoniesDependencies {
  readonly records: CeremonyRecords;
  readonly contributions: Pick<Contributions, "keepOnly">;
  /** Ends and deletes the job of a ceremony's end, if it has one. */
  readonly cancelEnding: (owner: Subject, id: string) => Promise<void>;
  readonly clock: Clock;
}

/** Each holds up to three files of its key's length, for weeks. */
const UNFINISHED_PER_OWNER_MAX = 8;
const RETRY_SEC = 3_600;

export class NewCeremonies {
  readonly #with: NewCeremoniesDependencies;

  constructor(dependencies: NewCeremoniesDependencies) {
    this.#with = dependencies;
  }

  /**
   * Returns the settings of the ceremony that a request asks for; undefined where it asks for none.
   * @throws AppError `invalid_request`, `prover_unsupported`, `too_many_requests`
   */
  settings(owner: Subject, request: CreateProver, system: OfferedSystem): CeremonySettings | undefined {
    const announced = request.import ?? undefined;
    const settings = ceremonySettings(request, {
      system,
      bringsKey: announced !== undefined && bringsKey(announced),
      nowMs: this.#with.clock.nowMs(),
    });
    if (settings === undefined) return undefined;
    if (this.#with.records.countUnfinished(owner) >= UNFINISHED_PER_OWNER_MAX)
      throw new AppError("too_many_requests", {
        message: `at most ${String(UNFINISHED_PER_OWNER_MAX)} ceremonies of one owner may be under way`,
        retryAfterSec: RETRY_SEC,
      });
    return settings;
  }

  /** Prepares the ceremony of a new prover; an empty commit without settings. */
  insertion(owner: Subject, id: string, settings: CeremonySettings | undefined): StoreCommit {
    if (settings === undefined) return {};
    const now = isoTimestamp(this.#with.clock.nowMs());
    return this.#with.records.insert(newCeremony(settings, { id, owner, now }));
  }

  /** Prepares the deletion of a prover's ceremony, if it has one, and names the files that nobody may need then. */
  deletion(owner: Subject, id: string): { readonly commit: StoreCommit; readonly files: readonly string[] } {
    const found = this.#with.records.find({ owner, id })?.value;
    const files = found === undefined ? [] : [found.initial, found.head, found.transcript];
    return {
      commit: this.#with.records.deletion({ owner, id }),
      files: files.flatMap((file) => (file === null ? [] : [file.sha256])),
    };
  }

  /** Ends what runs for the ceremony of a prover that was deleted: its job and its uploads. */
  async cancel(owner: Subject, id: string): Promise<void> {
    await this.#with.cancelEnding(owner, id);
    await this.#with.contributions.keepOnly({ owner, id }, undefined);
  }
}
