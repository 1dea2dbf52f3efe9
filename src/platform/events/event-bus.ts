/** The bus in one piece: the log, the hub, and who may listen to what. Knows no HTTP. */
import type { Principal } from "../auth/principal.js";
import { formatSubject } from "../auth/principal.js";
import type { StreamSource } from "../contract/stream.js";
import { AppError } from "../errors.js";
import type { EventDraft, Events } from "./events.js";
import type { StoreCommit } from "../store/store.js";
import { EventHub, gapMessage } from "./event-hub.js";
import { EventLog, type EventLogDependencies, type EventLogOptions } from "./event-log.js";
import { Subscription } from "./subscription.js";
import { isWithin, parseFilter, type SubjectFilter } from "./subject-filter.js";

export interface EventBusOptions extends EventLogOptions {
  /** Streams of everybody, and of one subject. */
  readonly streamsMax: number;
  readonly streamsPerSubjectMax: number;
}

export interface ListenRequest {
  /** Filters as texts; undefined for all that the principal may see. */
  readonly subjects: readonly string[] | undefined;
  /** Number of the last event that the reader has; undefined to begin now. */
  readonly lastEventId: number | undefined;
}

/** A stream that was ended is made anew at once; this spreads the herd. */
const RETRY_SEC = 5;

export class EventBus implements Events {
  readonly #options: EventBusOptions;
  readonly #log: EventLog;
  readonly #hub: EventHub;
  readonly #dependencies: EventLogDependencies;

  constructor(options: EventBusOptions, dependencies: EventLogDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#log = new EventLog(options, dependencies);
    this.#hub = new EventHub({ log: this.#log, clock: dependencies.clock, logger: dependencies.log });
  }

  commitOf(drafts: readonly EventDraft[]): StoreCommit {
    return this.#log.commitOf(drafts);
  }

  async publish(drafts: readonly EventDraft[]): Promise<void> {
    await this.#log.publish(drafts);
  }

  /** Open streams. */
  get streams(): number {
    return this.#hub.size;
  }

  /** Begins to pass events on, and to delete those past their time. */
  start(): void {
    this.#hub.start();
    this.#log.start();
  }

  async stop(): Promise<void> {
    this.#hub.stop();
    await this.#log.stop();
  }

  /**
   * A stream of the events that the principal may see. Throws `forbidden` for a filter beyond what its token is limited
   * to, `too_many_requests` over the limits.
   */
  listen(principal: Principal, request: ListenRequest): StreamSource {
    const audience = formatSubject(principal.subject);
    const filters = filtersOf(principal, request.subjects);
    this.#requireRoom(audience);
    return {
      open: (sink) => {
        const { position, isBeyond } = this.#position(request.lastEventId);
        const subscription = new Subscription(
          { group: this.#hub.groupOf(audience, filters), position, sink },
          { hub: this.#hub, clock: this.#dependencies.clock },
        );
        subscription.send({ id: position, type: "ready", json: JSON.stringify({ id: position, type: "ready" }) });
        if (isBeyond) subscription.send(gapMessage(position));
        this.#hub.add(subscription);
        return subscription;
      },
    };
  }

  /**
   * A number that was never given (an older backup was put back) is one that nothing can be said about: a gap up to
   * now.
   */
  #position(lastEventId: number | undefined): { position: number; isBeyond: boolean } {
    const { seen } = this.#hub;
    if (lastEventId === undefined) return { position: seen, isBeyond: false };
    return lastEventId > this.#log.head()
      ? { position: seen, isBeyond: true }
      : { position: lastEventId, isBeyond: false };
  }

  #requireRoom(audience: string): void {
    const { streamsMax, streamsPerSubjectMax } = this.#options;
    if (this.#hub.countOf(audience) >= streamsPerSubjectMax)
      throw new AppError("too_many_requests", {
        message: `at most ${String(streamsPerSubjectMax)} event streams of one subject may be open`,
        retryAfterSec: RETRY_SEC,
      });
    if (this.#hub.size >= streamsMax)
      throw new AppError("too_many_requests", { message: "too many event streams are open", retryAfterSec: RETRY_SEC });
  }
}

function filtersOf({ limitedTo }: Principal, texts: readonly string[] | undefined): SubjectFilter[] {
  const asked = texts === undefined || texts.length === 0 ? (limitedTo ?? []) : texts;
  const filters = [...new Set(asked)].sort().map(requiredFilter);
  if (limitedTo === undefined) return filters;
  const allowed = limitedTo.map(requiredFilter);
  // No filter at all would mean everything.
  if (filters.length === 0 || !filters.every((filter) => allowed.some((outer) => isWithin(filter, outer)))) {
    throw new AppError("forbidden", { message: "the token is not good for these subjects" });
  }
  return filters;
}

function requiredFilter(text: string): SubjectFilter {
  const filter = parseFilter(text);
  if (filter === undefined)
    throw new AppError("invalid_request", { message: "subject: words between dots, `*` for one word, `>` at the end" });
  return filter;
}
