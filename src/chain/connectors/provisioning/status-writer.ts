/** Builds the commits that change a connector: the record together with its event. */
import { isoTimestamp, type Clock } from "../../../platform/clock.js";
import { assert } from "../../../platform/errors.js";
import type { Events } from "../../../platform/events/events.js";
import type { StoreCommit, StoreRecord } from "../../../platform/store/store.js";
import { mergeCommits } from "../../../platform/store/tables.js";
import { mayFollow } from "../connector-lifecycle.js";
import { connectorOnWire, type ConnectorRepository, type StoredConnector } from "../connector-repository.js";

/** Returns the subject of a connector's events. Existing clients subscribe to subjects of this form. */
export function eventSubject({ network_id, id }: Pick<StoredConnector, "network_id" | "id">): string {
  return `network.${network_id}.connector.${id}`;
}

export class StatusWriter {
  readonly #repository: ConnectorRepository;
  readonly #events: Events;
  readonly #clock: Clock;

  constructor(dependencies: {
    readonly repository: ConnectorRepository;
    readonly events: Events;
    readonly clock: Clock;
  }) {
    this.#repository = dependencies.repository;
    this.#events = dependencies.events;
    this.#clock = dependencies.clock;
  }

  /** Builds the commit that adds a connector. */
  creation(connector: StoredConnector): StoreCommit {
    return mergeCommits(this.#repository.insert(connector), this.#event(connector));
  }

  /** Builds the commit that changes a connector. A new status must be allowed to follow, and is published. */
  change(current: StoreRecord<StoredConnector>, change: Partial<StoredConnector>): StoreCommit {
    const before = current.value;
    const next = this.#touched({ ...before, ...change }, before);
    if (next.status === before.status) return this.#repository.update(current, next);
    assert(mayFollow(before.status, next.status), `a connector may go from ${before.status} to ${next.status}`);
    return mergeCommits(this.#repository.update(current, next), this.#event(next));
  }

  /** Builds the commit that deletes a connector. Unless published before, `deprovisioning` is. */
  removal(current: StoreRecord<StoredConnector>): StoreCommit {
    const gone = this.#repository.deletion(current);
    if (current.value.status === "deprovisioning") return gone;
    return mergeCommits(
      gone,
      this.#event(this.#touched({ ...current.value, status: "deprovisioning", errors: [] }, current.value)),
    );
  }

  #event(connector: StoredConnector): StoreCommit {
    const payload = connectorOnWire(connector);
    // The wire type is plain JSON, but lacks the index signature that stored values need.
    return this.#events.commitOf([
      {
        subject: eventSubject(connector),
        payload: JSON.parse(JSON.stringify(payload)) as Record<string, string>,
        audience: [connector.owner],
      },
    ]);
  }

  /** Gives every change a later time than the one before, even when the clock has stepped back. */
  #touched(next: StoredConnector, before: StoredConnector): StoredConnector {
    return { ...next, updated_at: isoTimestamp(Math.max(this.#clock.nowMs(), Date.parse(before.updated_at) + 1)) };
  }
}
