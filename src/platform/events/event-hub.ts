/**
 * Passes events on as they are committed. Subscribers with the same audience and filters form a group, so that an event
 * is matched and spelled once a group, however many listen. Who joins late or falls behind reads from the log until it
 * has caught up: nobody's backlog lies in memory, and nobody misses an event or gets it out of order.
 */
import type { StreamChannel, StreamMessage } from "../contract/stream.js";
import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import { EVERYONE, type EventLog, type LoggedEvent } from "./event-log.js";
import type { Subscription } from "./subscription.js";
import { matches, type SubjectFilter } from "./subject-filter.js";

export interface EventHubDependencies {
  readonly log: EventLog;
  readonly clock: Clock;
  readonly logger: Log;
}

/** Those who get the same events: one audience, one set of filters. */
export interface SubscriberGroup {
  readonly key: string;
  /** `user:<uuid>` and the like. */
  readonly audience: string;
  /** None: everything that the audience may see. */
  readonly filters: readonly SubjectFilter[];
  /** Those that have caught up and are sent to one by one. */
  readonly single: Set<Subscription>;
  /** Those that have caught up and are reached by publishing under the group's key, counted by channel. */
  readonly channels: Map<StreamChannel, number>;
  /** Open subscriptions, caught up or not. */
  members: number;
}

/** Events per turn of the event loop; each costs a read and its group's sends. */
const EVENTS_PER_TURN = 64;
/** Events that one subscriber gets of its replay before the next one's turn. */
const REPLAY_PAGE = 64;
/** Keeps proxies from closing a quiet stream, and the reader's position near the head. */
const HEARTBEAT_MS = 15_000;
/** A subscriber that takes nothing for this long is let go; it can resume from its last event. */
const STALL_MS = 30_000;
const STALL_TICK_MS = 1000;

export class EventHub {
  readonly #log: EventLog;
  readonly #clock: Clock;
  readonly #logger: Log;
  readonly #groups = new Map<string, SubscriberGroup>();
  readonly #byAudience = new Map<string, Set<SubscriberGroup>>();
  readonly #subscriptions = new Set<Subscription>();
  /** Subscriptions that have something to read from the log, in the order of their turns. */
  readonly #replaying = new Set<Subscription>();
  #seen = 0;
  #turn: NodeJS.Immediate | undefined;
  #timers: NodeJS.Timeout[] = [];
  #stopListening: (() => void) | undefined;

  constructor(dependencies: EventHubDependencies) {
    this.#log = dependencies.log;
    this.#clock = dependencies.clock;
    this.#logger = dependencies.logger;
  }

  /** Open subscriptions. */
  get size(): number {
    return this.#subscriptions.size;
  }

  /** Number of the newest event that was passed on. */
  get seen(): number {
    return this.#seen;
  }

  start(): void {
    this.#seen = this.#log.head();
    this.#stopListening = this.#log.onAppend(() => {
      this.#wake();
    });
    this.#timers = [
      setInterval(() => {
        this.#heartbeat();
      }, HEARTBEAT_MS).unref(),
      setInterval(() => {
        this.#endStalled();
      }, STALL_TICK_MS).unref(),
    ];
  }

  stop(): void {
    this.#stopListening?.();
    for (const timer of this.#timers) clearInterval(timer);
    clearImmediate(this.#turn);
    this.#turn = undefined;
  }

  countOf(audience: string): number {
    let count = 0;
    for (const group of this.#byAudience.get(audience) ?? []) count += group.members;
    return count;
  }

  /** Takes a subscription in; it goes on from its own position. */
  add(subscription: Subscription): void {
    this.#subscriptions.add(subscription);
    subscription.group.members += 1;
    if (subscription.heldSinceMs === undefined) this.goOn(subscription);
  }

  remove(subscription: Subscription): void {
    if (!this.#subscriptions.delete(subscription)) return;
    const { group } = subscription;
    this.#replaying.delete(subscription);
    this.#leave(subscription);
    group.members -= 1;
    if (group.members > 0) return;
    this.#groups.delete(group.key);
    const groups = this.#byAudience.get(group.audience);
    groups?.delete(group);
    if (groups?.size === 0) this.#byAudience.delete(group.audience);
  }

  /** The group of an audience and its filters, whose texts are sorted. */
  groupOf(audience: string, filters: readonly SubjectFilter[]): SubscriberGroup {
    const key = [audience, ...filters.map((words) => words.join("."))].join(" ");
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const group: SubscriberGroup = { key, audience, filters, single: new Set(), channels: new Map(), members: 0 };
    this.#groups.set(key, group);
    const groups = this.#byAudience.get(audience) ?? new Set();
    this.#byAudience.set(audience, groups.add(group));
    return group;
  }

  /** The subscription can take more: what it missed from the log, then what comes. */
  goOn(subscription: Subscription): void {
    if (!this.#subscriptions.has(subscription)) return;
    if (subscription.position >= this.#seen) {
      this.#goLive(subscription);
      return;
    }
    this.#replaying.add(subscription);
    this.#wake();
  }

  /** The subscription cannot take more for now. */
  hold(subscription: Subscription): void {
    this.#replaying.delete(subscription);
    this.#leave(subscription);
  }

  #goLive(subscription: Subscription): void {
    const { group, sink } = subscription;
    this.#replaying.delete(subscription);
    subscription.isLive = true;
    if (sink.channel === undefined) {
      group.single.add(subscription);
      return;
    }
    group.channels.set(sink.channel, (group.channels.get(sink.channel) ?? 0) + 1);
    sink.join(group.key);
  }

  #leave(subscription: Subscription): void {
    if (!subscription.isLive) return;
    subscription.isLive = false;
    const { group, sink } = subscription;
    group.single.delete(subscription);
    if (sink.channel === undefined) return;
    sink.leave(group.key);
    const left = (group.channels.get(sink.channel) ?? 1) - 1;
    if (left === 0) group.channels.delete(sink.channel);
    else group.channels.set(sink.channel, left);
  }

  #wake(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      this.#work();
    });
  }

  /** One turn: some new events, and one page for one of those who are behind. */
  #work(): void {
    try {
      const isBusy = this.#passOn();
      const [next] = this.#replaying;
      if (next !== undefined) this.#replay(next);
      if (isBusy || this.#replaying.size > 0) this.#wake();
    } catch (error) {
      // The log cannot be read: whoever listens is told to come again, rather than left in silence.
      this.#logger.error(
        "events cannot be passed on",
        error instanceof Error && "code" in error ? { code: String(error.code) } : {},
      );
      for (const subscription of [...this.#subscriptions]) subscription.end("failed");
      this.#seen = Math.max(this.#seen, this.#headOrSeen());
    }
  }

  #headOrSeen(): number {
    try {
      return this.#log.head();
    } catch {
      return this.#seen;
    }
  }

  /** True when there may be more. */
  #passOn(): boolean {
    if (this.#subscriptions.size === 0) {
      this.#seen = this.#log.head();
      return false;
    }
    const events = this.#log.after(this.#seen, EVENTS_PER_TURN);
    for (const event of events) {
      this.#dispatch(event);
      this.#seen = event.number;
    }
    return events.length === EVENTS_PER_TURN;
  }

  #dispatch(event: LoggedEvent): void {
    const spelled = new Map<string, StreamMessage>();
    const groups =
      event.to === EVERYONE
        ? this.#groups.values()
        : new Set(event.to.flatMap((audience) => [...(this.#byAudience.get(audience) ?? [])]));
    for (const group of groups) {
      const subject = matchingSubject(event, group.filters);
      if (subject === undefined) continue;
      const message = spelled.get(subject) ?? eventMessage(event, subject);
      spelled.set(subject, message);
      deliver(group, message);
    }
  }

  #replay(subscription: Subscription): void {
    // To the end of the line, so that everybody who is behind gets a turn.
    this.#replaying.delete(subscription);
    const firstKept = this.#log.firstKept();
    if (
      subscription.position > 0 &&
      firstKept > subscription.position + 1 &&
      !subscription.send(gapMessage(firstKept - 1))
    )
      return;
    const events = this.#log.visibleAfter(subscription.group.audience, subscription.position, {
      upTo: this.#seen,
      limit: REPLAY_PAGE,
    });
    for (const event of events) {
      const subject = matchingSubject(event, subscription.group.filters);
      if (subject !== undefined && !subscription.send(eventMessage(event, subject))) return;
      subscription.position = event.number;
    }
    if (events.length < REPLAY_PAGE) subscription.position = Math.max(subscription.position, this.#seen);
    this.goOn(subscription);
  }

  #heartbeat(): void {
    const message: StreamMessage = {
      id: this.#seen,
      type: "heartbeat",
      json: JSON.stringify({ id: this.#seen, type: "heartbeat" }),
    };
    for (const group of this.#groups.values()) deliver(group, message);
  }

  #endStalled(): void {
    const before = this.#clock.monotonicMs() - STALL_MS;
    for (const subscription of [...this.#subscriptions]) {
      if (subscription.heldSinceMs !== undefined && subscription.heldSinceMs <= before)
        subscription.end("slow_consumer");
    }
  }
}

function deliver(group: SubscriberGroup, message: StreamMessage): void {
  for (const subscription of [...group.single]) {
    // Before the send: it may find the reader slow and hold the subscription at this very position.
    subscription.position = message.id;
    subscription.send(message);
  }
  for (const channel of group.channels.keys()) channel.publish(group.key, message);
}

/** The first of an event's subjects that a filter lets through; undefined when none does. */
function matchingSubject(event: LoggedEvent, filters: readonly SubjectFilter[]): string | undefined {
  if (filters.length === 0) return event.subjects[0];
  return event.subjects.find((subject) => {
    const words = subject.split(".");
    return filters.some((filter) => matches(filter, words));
  });
}

/** Events up to this number are no longer kept; some of them may have been the reader's. */
export function gapMessage(upTo: number): StreamMessage {
  return { id: upTo, type: "gap", json: JSON.stringify({ id: upTo, type: "gap" }) };
}

function eventMessage(event: LoggedEvent, subject: string): StreamMessage {
  const { number: id, at: created_at, payload, truncated } = event;
  return {
    id,
    json: JSON.stringify({ id, subject, created_at, payload, ...(truncated === undefined ? {} : { truncated }) }),
  };
}
