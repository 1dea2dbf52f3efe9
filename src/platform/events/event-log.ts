/**
 * The durable log behind the events port: numbered records in commit order (an unlinked log of the store), an index per
 * audience so that a reader never scans other tenants' events, and retention by number and by age.
 *
 *   record   ["events", number]               -> StoredEvent
 *   index    ["events#to", audience, number]  -> true; audience is `user:<uuid>` and the like, or `everyone`
 */
import { formatSubject } from "../auth/principal.js";
import { isoTimestamp, type Clock } from "../clock.js";
import { assert } from "../errors.js";
import type { Log, LogFields } from "../log.js";
import { chainHeadKey, type LogHead } from "../store/chain.js";
import type { AppendFeed, Store, StoreAppend, StoreCommit, StoreKey, StoreValue } from "../store/store.js";
import type { EventDraft, Events } from "./events.js";
import { isSubject } from "./subject-filter.js";
import type { Nodes } from "../nodes/nodes.js";
import { soloNodes } from "../nodes/solo-nodes.js";

export interface EventLogOptions {
  /** Number of events kept; older ones are deleted. */
  readonly eventsMax: number;
  /** Days after which an event is deleted. */
  readonly daysMax: number;
}

export interface EventLogDependencies {
  readonly store: Store & AppendFeed;
  /** The nodes that share the store; without it there is no other. */
  readonly nodes?: Nodes;
  readonly clock: Clock;
  readonly log: Log;
}

/** A type, because an interface would not be assignable to StoreValue. */
export type StoredEvent = {
  /** The event's own subject, then its other ones. */
  readonly subjects: readonly string[];
  readonly at: string;
  readonly to: readonly string[] | typeof EVERYONE;
  readonly payload: StoreValue;
  readonly truncated?: true;
};

/** An event with its place in the order of all events. */
export interface LoggedEvent extends StoredEvent {
  readonly number: number;
}

const EVENT_CHAIN = "events";
export const EVERYONE = "everyone";
const AUDIENCE_INDEX = "events#to";
/** Bounds the memory of a subscriber's queue and of a replay page. */
const PAYLOAD_CHARACTERS_MAX = 64 * 1024;
const AUDIENCE_MAX = 16;
const SUBJECTS_MAX = 8;
/** Records that one commit deletes; with their index entries far below the limit of a commit. */
const TRIM_PAGE = 500;
const TRIM_EVERY_APPENDS = 1000;
const TRIM_EVERY_MS = 3_600_000;
const DAY_MS = 24 * 3_600_000;

export class EventLog implements Events {
  readonly #options: EventLogOptions;
  readonly #store: Store & AppendFeed;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #nodes: Nodes | undefined;
  #trimming: Promise<void> | undefined;
  #trimmedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #stopListening: (() => void) | undefined;

  constructor(options: EventLogOptions, dependencies: EventLogDependencies) {
    this.#options = options;
    this.#store = dependencies.store;
    this.#clock = dependencies.clock;
    this.#log = dependencies.log;
    this.#nodes = dependencies.nodes;
  }

  /** Returns the commit that publishes these events; see Events. */
  commitOf(drafts: readonly EventDraft[]): StoreCommit {
    return eventCommit(drafts, this.#clock);
  }

  /** Publishes these events by a commit of their own; see Events. */
  async publish(drafts: readonly EventDraft[]): Promise<void> {
    if (drafts.length > 0) await this.#store.commit(this.commitOf(drafts));
  }

  /** Number of the newest event; 0 before the first. */
  head(): number {
    return this.#store.get<LogHead>(chainHeadKey(EVENT_CHAIN))?.value.number ?? 0;
  }

  /** Number of the oldest event that is kept; head + 1 when there is none. */
  firstKept(): number {
    const [first] = this.#store.range([EVENT_CHAIN], { limit: 1 });
    return first === undefined ? this.head() + 1 : Number(first.key[1]);
  }

  /** Events of all audiences after a number, oldest first. */
  after(number: number, limit: number): LoggedEvent[] {
    return this.#store
      .range<StoredEvent>([EVENT_CHAIN], { limit, after: [EVENT_CHAIN, number] })
      .map(({ key, value }) => ({ ...value, number: Number(key[1]) }));
  }

  /**
   * Returns the events after a number that one audience may see, oldest first; fewer than `limit` means that there are
   * no more up to `upTo`.
   */
  visibleAfter(
    audience: string,
    number: number,
    limits: { readonly upTo: number; readonly limit: number },
  ): LoggedEvent[] {
    const numbers = [audience, EVERYONE].flatMap((to) =>
      this.#store
        .range([AUDIENCE_INDEX, to], { limit: limits.limit, after: [AUDIENCE_INDEX, to, number] })
        .map(({ key }) => Number(key[2])),
    );
    const page = numbers
      .filter((found) => found <= limits.upTo)
      .sort((a, b) => a - b)
      .slice(0, limits.limit);
    return page.flatMap((found) => {
      const record = this.#store.get<StoredEvent>([EVENT_CHAIN, found]);
      return record === undefined ? [] : [{ ...record.value, number: found }];
    });
  }

  /** Calls the listener after each commit with events. Returns a function that ends this. */
  onAppend(listener: () => void): () => void {
    return this.#store.onAppend(EVENT_CHAIN, listener);
  }

  /** Starts to delete expired events, at once and from then on; of several nodes one does. */
  start(): void {
    (this.#nodes ?? soloNodes()).take("expired-events", () => {
      this.#startTrimming();
    });
  }

  #startTrimming(): void {
    this.#trimmedAt = this.head();
    this.#stopListening = this.onAppend(() => {
      if (this.head() - this.#trimmedAt >= TRIM_EVERY_APPENDS) this.#trimSoon();
    });
    this.#timer = setInterval(() => {
      this.#trimSoon();
    }, TRIM_EVERY_MS).unref();
    this.#trimSoon();
  }

  /** Stops deleting; resolves when no deletion is running. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopListening?.();
    await this.#trimming;
  }

  /** Deletes the events that are too many or too old. */
  async trim(): Promise<void> {
    const oldestMs = this.#clock.nowMs() - this.#options.daysMax * DAY_MS;
    for (;;) {
      const lastGone = this.head() - this.#options.eventsMax;
      const page = this.#store.range<StoredEvent>([EVENT_CHAIN], { limit: TRIM_PAGE });
      const gone = page.filter(({ key, value }) => Number(key[1]) <= lastGone || Date.parse(value.at) < oldestMs);
      if (gone.length === 0) return;
      await this.#store.commit({
        deletes: gone.flatMap(({ key, value }) => [
          key,
          ...audienceNames(value.to).map((name): StoreKey => [AUDIENCE_INDEX, name, Number(key[1])]),
        ]),
      });
      if (gone.length < page.length) return;
    }
  }

  #trimSoon(): void {
    if (this.#trimming !== undefined) return;
    this.#trimmedAt = this.head();
    this.#trimming = this.trim()
      .catch((error: unknown) => {
        this.#log.warn("old events were not deleted; the next round tries again", failureFields(error));
      })
      .finally(() => {
        this.#trimming = undefined;
      });
  }
}

/** What the log says of a failure of the store: its code, where it has one, and its frames. */
export function failureFields(error: unknown): LogFields {
  return { error, ...(error instanceof Error && "code" in error ? { code: String(error.code) } : {}) };
}

/** Returns the commit that publishes these events at the present time; see Events. */
export function eventCommit(drafts: readonly EventDraft[], clock: Clock): StoreCommit {
  const at = isoTimestamp(clock.nowMs());
  return { appends: drafts.map((draft) => toAppend(draft, at)) };
}

function toAppend({ subject, also = [], payload, audience }: EventDraft, at: string): StoreAppend {
  const subjects = [...new Set([subject, ...also])];
  assert(
    subjects.length <= SUBJECTS_MAX && subjects.every(isSubject),
    `an event's subjects are words between dots: ${subject}`,
  );
  const to = audience === EVERYONE ? EVERYONE : [...new Set(audience.map(formatSubject))];
  assert(
    to === EVERYONE || (to.length > 0 && to.length <= AUDIENCE_MAX),
    `an event has an audience of 1 to ${String(AUDIENCE_MAX)} subjects`,
  );
  const isLong = JSON.stringify(payload).length > PAYLOAD_CHARACTERS_MAX;
  const value: StoredEvent = {
    subjects,
    at,
    to,
    payload: isLong ? null : payload,
    ...(isLong ? { truncated: true } : {}),
  };
  return {
    chain: EVENT_CHAIN,
    value,
    unlinked: true,
    indexes: audienceNames(to).map((name) => [AUDIENCE_INDEX, name]),
  };
}

function audienceNames(to: StoredEvent["to"]): readonly string[] {
  return to === EVERYONE ? [EVERYONE] : to;
}
