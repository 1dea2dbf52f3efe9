/** Builds the commits that move a connector: the record and the event that tells of it, together. */
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { assert } from "../../platform/errors.js";
import type { Events } from "../../platform/events/events.js";
import type { StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import { mayFollow } from "./connector-lifecycle.js";
import { connectorOnWire, type ConnectorRepository, type StoredConnector } from "./connector-repository.js";

/** Interoperability facts, 8.2. */
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

  creation(connector: StoredConnector): StoreCommit {
    return mergeCommits(this.#repository.insert(connector), this.#event(connector));
  }

  /** Changes a record; a new status is checked against the order of statuses and told to those who listen. */
  change(current: StoreRecord<StoredConnector>, change: Partial<StoredConnector>): StoreCommit {
    const before = current.value;
    const next = this.#touched({ ...before, ...change }, before);
    if (next.status === before.status) return this.#repository.update(current, next);
    assert(mayFollow(before.status, next.status), `a connector may go from ${before.status} to ${next.status}`);
    return mergeCommits(this.#repository.update(current, next), this.#event(next));
  }

  /** Removes a record; listeners hear of it as `deprovisioning` unless they did before. */
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
    // Wire shapes are plain JSON; their types lack the index signature that stored values ask for.
    return this.#events.commitOf([
      {
        subject: eventSubject(connector),
        payload: JSON.parse(JSON.stringify(payload)) as Record<string, string>,
        audience: [connector.owner],
      },
    ]);
  }

  /** Every change gets a later time than the one before, even when the clock has stepped back. */
  #touched(next: StoredConnector, before: StoredConnector): StoredConnector {
    return { ...next, updated_at: isoTimestamp(Math.max(this.#clock.nowMs(), Date.parse(before.updated_at) + 1)) };
  }
}
