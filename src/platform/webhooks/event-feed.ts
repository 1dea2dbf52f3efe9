/**
 * Turns events into deliveries. The place in the log of events moves in the commit that queues the deliveries, so that
 * each event is queued once for each webhook, whatever ends the process, and whichever node does it.
 */
import { formatSubject, ownerKey, parseSubject, type Subject } from "../auth/principal.js";
import type { Clock } from "../clock.js";
import { failureFields, type EventLog, type LoggedEvent } from "../events/event-log.js";
import { matches, parseFilter } from "../events/subject-filter.js";
import type { Log } from "../log.js";
import { mergeCommits } from "../store/commits.js";
import { StoreConflict, type Store, type StoreCommit, type StoreKey, type StoreRecord } from "../store/store.js";
import { eventTypeOf } from "./event-types.js";
import { newDelivery } from "./new-delivery.js";
import { placeOf, type WebhookRecords, type WebhookRow } from "./webhook-records.js";
import { unchanged, WAITING_MAX } from "./webhooks.js";

export interface EventFeedDependencies {
  readonly store: Store;
  readonly records: WebhookRecords;
  readonly events: Pick<EventLog, "after" | "head" | "firstKept" | "onAppend">;
  /** Called after deliveries of an owner were queued. */
  readonly onQueued: (owner: Subject) => void;
  /** Ends a webhook for which too many messages wait. */
  readonly onFull: (webhook: WebhookRow) => Promise<void>;
  /** True while an owner may hear events: its permissions may have been taken after it made webhooks. */
  readonly mayListen: (owner: Subject) => boolean;
  /** Ends a webhook whose owner may not. */
  readonly onForbidden: (webhook: WebhookRow) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

const CURSOR: StoreKey = ["webhook_feed"];
/** Events that one commit passes, and deliveries after which it passes no further one: far below a commit's limit. */
const PAGE = 64;
const DELIVERIES_PER_COMMIT = 100;
/** Events without a delivery that may be read again after a restart. */
const UNSAVED_MAX = 500;
/** Pause after a failure of the store. */
const RETRY_MS = 5_000;

export class EventFeed {
  readonly #with: EventFeedDependencies;
  /** Number of the last event that was passed. */
  #passed = 0;
  #running: Promise<void> | undefined;
  #isWoken = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #stopListening: (() => void) | undefined;

  constructor(dependencies: EventFeedDependencies) {
    this.#with = dependencies;
  }

  /** Passes on what happened since the last stop, and everything from then on. */
  async start(): Promise<void> {
    const { store, events, log } = this.#with;
    this.#isStopped = false;
    const cursor = store.get<number>(CURSOR);
    // A restored backup may know fewer events than the number says.
    this.#passed = Math.min(cursor?.value ?? events.head(), events.head());
    if (cursor?.value !== this.#passed) await store.commit(cursorCommit(cursor, this.#passed));
    if (events.firstKept() > this.#passed + 1 && events.head() > this.#passed)
      log.warn("webhooks are not told events that were deleted meanwhile; see the settings of kept events");
    this.#stopListening = events.onAppend(() => this.wake());
    this.wake();
  }

  /** Stops; resolves when nothing is being written. `start` may follow, after another node had the feed. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#stopListening?.();
    await this.#running;
  }

  /** Resolves when all present events were passed. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** Passes new events on soon. */
  wake(): void {
    if (this.#isStopped) return;
    this.#isWoken = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#isWoken) this.wake();
    });
  }

  async #run(): Promise<void> {
    try {
      do this.#isWoken = false;
      while (await this.#step());
    } catch (error) {
      this.#with.log.error("events were not queued for webhooks; the next round tries again", failureFields(error));
      this.#isWoken = false;
      this.#timer = setTimeout(() => this.wake(), RETRY_MS).unref();
    }
  }

  /** Passes one page unless stopped. Returns true when there may be more, or something happened meanwhile. */
  async #step(): Promise<boolean> {
    if (this.#isStopped) return false;
    return (await this.#passPage()) || this.#isWoken;
  }

  /** Passes one page. Returns true when there may be more. */
  async #passPage(): Promise<boolean> {
    const { store, records, events, onQueued } = this.#with;
    const cursor = store.get<number>(CURSOR);
    // Another node may be ahead.
    const from = Math.max(this.#passed, cursor?.value ?? 0);
    const page = events.after(from, PAGE);
    if (page.length === 0) return false;
    const { commits, owners, upTo } =
      records.webhooks.count("owner", []) === 0
        ? { commits: [], owners: [], upTo: page.at(-1)?.number ?? from }
        : await this.#deliveries(page, from);
    if (commits.length > 0 || upTo - (cursor?.value ?? 0) >= UNSAVED_MAX) {
      try {
        await store.commit(mergeCommits(cursorCommit(cursor, upTo), ...commits));
      } catch (error) {
        // Another node was first, or a webhook was changed meanwhile: both are read again.
        if (error instanceof StoreConflict) return true;
        throw error;
      }
    }
    this.#passed = upTo;
    for (const owner of owners) onQueued(owner);
    return true;
  }

  /** Returns the commits that queue the messages of a page, or of its first events; their owners; the last event. */
  async #deliveries(
    page: readonly LoggedEvent[],
    from: number,
  ): Promise<{ commits: StoreCommit[]; owners: Iterable<Subject>; upTo: number }> {
    const commits: StoreCommit[] = [];
    const owners = new Map<string, Subject>();
    const waiting = new Map<string, number>();
    let upTo = from;
    for (const event of page) {
      const type = eventTypeOf(event);
      for (const webhook of this.#listening(event, type)) {
        if (!(await this.#isPermitted(webhook.value)) || !(await this.#hasRoom(webhook.value, waiting))) continue;
        commits.push(this.#deliveryOf(event, type, webhook));
        owners.set(formatSubject(webhook.value.owner), webhook.value.owner);
      }
      upTo = event.number;
      if (commits.length >= DELIVERIES_PER_COMMIT) break;
    }
    return { commits, owners: owners.values(), upTo };
  }

  /** Returns false, and ends the webhook, when its owner may hear no events. */
  async #isPermitted(webhook: WebhookRow): Promise<boolean> {
    if (this.#with.mayListen(webhook.owner)) return true;
    await this.#with.onForbidden(webhook);
    return false;
  }

  /** Counts one message more for a webhook. Returns false, and ends the webhook, when too many wait. */
  async #hasRoom(webhook: WebhookRow, waiting: Map<string, number>): Promise<boolean> {
    const count = waiting.get(webhook.id) ?? this.#with.records.countWaiting(placeOf(webhook));
    waiting.set(webhook.id, count + 1);
    if (count < WAITING_MAX) return true;
    await this.#with.onFull(webhook);
    return false;
  }

  #deliveryOf(event: LoggedEvent, type: string, webhook: StoreRecord<WebhookRow>): StoreCommit {
    const { records, clock } = this.#with;
    const { number: id, at, payload, truncated } = event;
    const data = { id, subject: event.subjects[0] ?? "", payload, ...(truncated === undefined ? {} : { truncated }) };
    const delivery = newDelivery(placeOf(webhook.value), { type, id, at, data }, clock);
    return mergeCommits(unchanged(webhook), records.deliveries.insertCommit(delivery));
  }

  #listening(event: LoggedEvent, type: string): StoreRecord<WebhookRow>[] {
    const { webhooks } = this.#with.records;
    // Events for everyone are about public networks, and would be as many messages as there are webhooks.
    const owners = event.to === "everyone" ? [] : event.to.flatMap((name) => parseSubject(name) ?? []);
    const words = type.split(".");
    return owners
      .flatMap((owner) => webhooks.records("owner", ownerKey(owner)))
      .filter(({ value }) => value.enabled && value.since_event < event.number)
      .filter(({ value }) => fits(value.types, [words]))
      .filter(({ value }) =>
        fits(
          value.subjects,
          event.subjects.map((subject) => subject.split(".")),
        ),
      );
  }
}

function fits(filters: readonly string[], texts: readonly (readonly string[])[]): boolean {
  return filters.length === 0 || filters.some((text) => texts.some((words) => matches(parseFilter(text) ?? [], words)));
}

function cursorCommit(current: StoreRecord<number> | undefined, value: number): StoreCommit {
  return { checks: [{ key: CURSOR, version: current?.version ?? "absent" }], puts: [{ key: CURSOR, value }] };
}
