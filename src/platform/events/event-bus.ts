/** The event bus: the log, the hub, and the rules of who may listen to which events. Knows no HTTP. */
import type { Principal } from "../auth/principal.js";
import { formatSubject } from "../auth/principal.js";
import type { StreamSource } from "../contract/stream.js";
import { AppError, invalidMember } from "../errors.js";
import type { EventDraft, Events } from "./events.js";
import type { StoreCommit } from "../store/store.js";
import { EventHub } from "./event-hub.js";
import { EventLog, type EventLogDependencies, type EventLogOptions } from "./event-log.js";
import { gapMessage, readyMessage } from "./event-messages.js";
import { Subscription } from "./subscription.js";
import { isWithin, parseFilter, type SubjectFilter } from "./subject-filter.js";

export interface EventBusOptions extends EventLogOptions {
  /** Open streams of all subjects together. */
  readonly streamsMax: number;
  /** Open streams of one subject with its own tokens. */
  readonly streamsPerSubjectMax: number;
  /** Open streams with one subscription token. */
  readonly streamsPerTokenMax: number;
}

export interface EventBusDependencies extends EventLogDependencies {
  /** Brings this node to where any other stands; absent in a single server. */
  readonly confirm?: () => Promise<void>;
}

export interface ListenRequest {
  /** Filters as texts; undefined for everything that the principal may see. */
  readonly subjects: readonly string[] | undefined;
  /** Number of the last event that the reader has; undefined to begin now. */
  readonly lastEventId: number | undefined;
}

/** Sent as Retry-After. Clients open an ended stream anew at once; waiting spreads their requests. */
const RETRY_SEC = 5;
/**
 * Part of all streams that one subject may have with all its subscription tokens: anybody can make more tokens, and a
 * few subjects must not take the streams of all.
 */
const SUBJECT_SHARE = 0.05;

export class EventBus implements Events {
  readonly #options: EventBusOptions;
  readonly #log: EventLog;
  readonly #hub: EventHub;
  readonly #dependencies: EventBusDependencies;

  constructor(options: EventBusOptions, dependencies: EventBusDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#log = new EventLog(options, dependencies);
    this.#hub = new EventHub({ log: this.#log, clock: dependencies.clock, logger: dependencies.log });
  }

  /** Returns the commit that publishes these events; see Events. */
  commitOf(drafts: readonly EventDraft[]): StoreCommit {
    return this.#log.commitOf(drafts);
  }

  /** Publishes these events by a commit of their own; see Events. */
  async publish(drafts: readonly EventDraft[]): Promise<void> {
    await this.#log.publish(drafts);
  }

  /** The log behind the streams, for readers other than streams. */
  get log(): EventLog {
    return this.#log;
  }

  /** Number of open streams. */
  get streams(): number {
    return this.#hub.size;
  }

  /** Starts to pass events on and to delete expired ones. */
  start(): void {
    this.#hub.start();
    this.#log.start();
  }

  /** Stops both; resolves when no deletion is running. */
  async stop(): Promise<void> {
    this.#hub.stop();
    await this.#log.stop();
  }

  /** Whether an event that a reader has may be one that other nodes have and this one has not read yet. */
  mayBeElsewhere(eventId: number): boolean {
    return this.#dependencies.confirm !== undefined && eventId > this.#log.head();
  }

  /** Resolves when this node has every event that any node had at the call. @throws store_unreachable */
  async catchUp(): Promise<void> {
    await this.#dependencies.confirm?.();
  }

  /**
   * Returns a stream of the events that the principal may see.
   * @throws invalid_request for a malformed filter
   * @throws forbidden for a filter beyond those that the token is limited to
   * @throws too_many_requests when too many streams are open
   */
  listen(principal: Principal, request: ListenRequest): StreamSource {
    const audience = formatSubject(principal.subject);
    const filters = filtersOf(principal, request.subjects);
    const quota = quotaOf(principal);
    this.#requireRoom(principal, { audience, quota });
    return {
      open: (sink) => {
        const { position, isUnknown } = this.#startOf(request.lastEventId);
        const subscription = new Subscription(
          { group: this.#hub.groupOf(audience, filters), quota, position, sink },
          { hub: this.#hub, clock: this.#dependencies.clock },
        );
        subscription.send(readyMessage(position));
        if (isUnknown) subscription.send(gapMessage(position));
        this.#hub.add(subscription);
        return subscription;
      },
    };
  }

  /**
   * Returns where a stream begins. A number that was never assigned (an older backup was restored) says nothing about
   * what the reader has: its stream begins now, with a gap.
   */
  #startOf(lastEventId: number | undefined): { position: number; isUnknown: boolean } {
    const now = this.#hub.lastPassedOn;
    if (lastEventId === undefined) return { position: now, isUnknown: false };
    return lastEventId > this.#log.head()
      ? { position: now, isUnknown: true }
      : { position: lastEventId, isUnknown: false };
  }

  #requireRoom(
    { limitedTo }: Principal,
    { audience, quota }: { readonly audience: string; readonly quota: string },
  ): void {
    const { streamsMax, streamsPerSubjectMax, streamsPerTokenMax } = this.#options;
    if (limitedTo === undefined && this.#hub.countWithin(quota) >= streamsPerSubjectMax)
      throw tooMany(`at most ${String(streamsPerSubjectMax)} event streams of one subject may be open`);
    if (limitedTo !== undefined && this.#hub.countWithin(quota) >= streamsPerTokenMax)
      throw tooMany(`at most ${String(streamsPerTokenMax)} event streams of one subscription token may be open`);
    const tokensMax = Math.max(streamsPerSubjectMax, Math.ceil(streamsMax * SUBJECT_SHARE));
    // The subject's own streams have their own limit.
    const ofTokens = this.#hub.countOf(audience) - this.#hub.countWithin(audience);
    if (limitedTo !== undefined && ofTokens >= tokensMax)
      throw tooMany(`at most ${String(tokensMax)} event streams of one subject's subscription tokens may be open`);
    if (this.#hub.size >= streamsMax) throw tooMany("too many event streams are open");
  }
}

/** What a stream counts towards: a subscription token has its own limit and takes nothing from its subject's. */
function quotaOf({ subject, tokenId, limitedTo }: Principal): string {
  return limitedTo === undefined ? formatSubject(subject) : `token:${tokenId}`;
}

function tooMany(message: string): AppError {
  return new AppError("too_many_requests", { message, retryAfterSec: RETRY_SEC });
}

function filtersOf({ limitedTo }: Principal, texts: readonly string[] | undefined): SubjectFilter[] {
  const asked = texts === undefined || texts.length === 0 ? (limitedTo ?? []) : texts;
  const filters = [...new Set(asked)].sort().map(requiredFilter);
  if (limitedTo === undefined) return filters;
  const allowed = limitedTo.map(requiredFilter);
  // A limited token without filters must not match: no filter would mean everything.
  if (filters.length === 0 || !filters.every((filter) => allowed.some((outer) => isWithin(filter, outer)))) {
    throw new AppError("forbidden", { message: "the token does not allow these subjects" });
  }
  return filters;
}

function requiredFilter(text: string): SubjectFilter {
  const filter = parseFilter(text);
  if (filter === undefined)
    throw invalidMember("subject", "subject: expected words between dots, `*` for one word, `>` at the end");
  return filter;
}
