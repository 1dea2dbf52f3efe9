/**
 * Tells of verifiers that do not agree: log, count, audit and event, the same for those in this process and for
 * contracts on a chain. One of them is then wrong, so that it must be heard also where one of the ways fails.
 */
import type { AuditEvent } from "../../platform/audit/audit-event.js";
import type { EventDraft, Events } from "../../platform/events/events.js";
import type { Log, LogFields } from "../../platform/log.js";
import type { Store } from "../../platform/store/store.js";

interface DisagreementsDependencies {
  readonly store: Pick<Store, "commit">;
  readonly events: Pick<Events, "commitOf">;
  /** Writes a row of the audit log; nowhere unless given. */
  readonly audit?: ((event: AuditEvent) => Promise<void>) | undefined;
  readonly log: Log;
}

interface Disagreement {
  /** For the log, with the ids that find it. */
  readonly message: string;
  readonly fields: LogFields;
  /** For the audit log. */
  readonly row: AuditEvent;
  /** For the owner. */
  readonly drafts: readonly EventDraft[];
}

export class Disagreements {
  readonly #with: DisagreementsDependencies;
  #count = 0;

  constructor(dependencies: DisagreementsDependencies) {
    this.#with = dependencies;
  }

  /** Told since the start of the process. */
  get count(): number {
    return this.#count;
  }

  /** Tells the operator in log, metrics and audit, and the owner by an event. Does not reject. */
  async tell({ message, fields, row, drafts }: Disagreement): Promise<void> {
    const { log, store, events, audit } = this.#with;
    this.#count += 1;
    log.error(message, fields);
    const told = await Promise.allSettled([audit?.(row), store.commit(events.commitOf([...drafts]))]);
    for (const outcome of told)
      if (outcome.status === "rejected")
        log.error("a disagreement of verifiers could not be recorded", {
          ...fields,
          error: outcome.reason as unknown,
        });
  }
}
