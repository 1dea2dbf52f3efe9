/**
 * Passes events on as they are committed. A subscriber that joins late or falls behind reads from the log until it has
 * caught up, so that no backlog lies in memory and every subscriber gets every event in order.
 */
import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import { EVERYONE, failureFields, type EventLog, type LoggedEvent } from "./event-log.js";
import { eventMessage, gapMessage, heartbeatMessage, matchingSubject } from "./event-messages.js";
import type { StreamMessage } from "../contract/stream.js";
import { SubscriberGroups, deliver, type SubscriberGroup } from "./subscriber-groups.js";
import type { Subscription, SubscriptionHub } from "./subscription.js";
import type { SubjectFilter } from "./subject-filter.js";

export interface EventHubDependencies {
  readonly log: EventLog;
  readonly clock: Clock;
  readonly logger: Log;
}

/** Events per turn of the event loop; each costs a read and its group's sends. */
const EVENTS_PER_TURN = 64;
/** Events of its replay that one subscriber gets before the next subscriber's turn. */
const REPLAY_PAGE = 64;
/** Keeps proxies from closing a quiet stream, and the reader's position near the head. */
const HEARTBEAT_MS = 15_000;
/** A subscriber that takes nothing for this long is disconnected; it can resume from its last event. */
const STALL_MS = 30_000;
const STALL_TICK_MS = 1000;

export class EventHub implements SubscriptionHub {
  readonly #log: EventLog;
  readonly #clock: Clock;
  readonly #logger: Log;
  readonly #groups = new SubscriberGroups();
  readonly #subscriptions = new Set<Subscription>();
  /** Open subscriptions of each quota. Of this process only: each node of a service has limits of its own. */
  readonly #withinQuota = new Map<string, number>();
  /** Subscriptions that have something to read from the log, in the order of their turns. */
  readonly #replaying = new Set<Subscription>();
  /** Those whose readers have events that other nodes passed on and this one has not yet. */
  readonly #ahead = new Set<Subscription>();
  #lastPassedOn = 0;
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
  get lastPassedOn(): number {
    return this.#lastPassedOn;
  }

  /** Passes on every event after the present head of the log. */
  start(): void {
    this.#lastPassedOn = this.#log.head();
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

  /** Passes nothing more on. Subscriptions stay open; the server ends them. */
  stop(): void {
    this.#stopListening?.();
    for (const timer of this.#timers) clearInterval(timer);
    clearImmediate(this.#turn);
    this.#turn = undefined;
  }

  /** Open subscriptions of an audience. */
  countOf(audience: string): number {
    return this.#groups.countOf(audience);
  }

  /** Open subscriptions that count towards a quota. */
  countWithin(quota: string): number {
    return this.#withinQuota.get(quota) ?? 0;
  }

  /** Returns the group of an audience and its filters, whose texts are sorted. */
  groupOf(audience: string, filters: readonly SubjectFilter[]): SubscriberGroup {
    return this.#groups.of(audience, filters);
  }

  /** Adds a subscription, which continues from its own position. */
  add(subscription: Subscription): void {
    this.#subscriptions.add(subscription);
    subscription.group.members += 1;
    this.#withinQuota.set(subscription.quota, this.countWithin(subscription.quota) + 1);
    if (subscription.heldSinceMs === undefined) this.resume(subscription);
  }

  /** Removes a subscription; does nothing when it was removed before. */
  remove(subscription: Subscription): void {
    if (!this.#subscriptions.delete(subscription)) return;
    this.hold(subscription);
    this.#groups.leave(subscription.group);
    const left = this.countWithin(subscription.quota) - 1;
    if (left === 0) this.#withinQuota.delete(subscription.quota);
    else this.#withinQuota.set(subscription.quota, left);
  }

  /** Sends what the subscription missed from the log, then what its group receives. */
  resume(subscription: Subscription): void {
    if (!this.#subscriptions.has(subscription)) return;
    this.#ahead.delete(subscription);
    if (subscription.position === this.#lastPassedOn) {
      this.#goLive(subscription);
      return;
    }
    (subscription.position < this.#lastPassedOn ? this.#replaying : this.#ahead).add(subscription);
    this.#wake();
  }

  /** Sends nothing more to the subscription until it resumes. */
  hold(subscription: Subscription): void {
    this.#replaying.delete(subscription);
    this.#ahead.delete(subscription);
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

  #wake(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      this.#work();
    });
  }

  /** One turn: some new events, and one page for one of the subscribers that are behind. */
  #work(): void {
    try {
      const isBusy = this.#passOn();
      for (const subscription of [...this.#ahead])
        if (subscription.position <= this.#lastPassedOn) this.resume(subscription);
      const [next] = this.#replaying;
      if (next !== undefined) this.#replay(next);
      if (isBusy || this.#replaying.size > 0) this.#wake();
    } catch (error) {
      // The log cannot be read. Ended streams are opened anew by their readers; silent ones would look healthy.
      this.#logger.error("events cannot be passed on", failureFields(error));
      for (const subscription of [...this.#subscriptions]) subscription.end("failed");
      this.#lastPassedOn = Math.max(this.#lastPassedOn, this.#headIfReadable());
    }
  }

  #headIfReadable(): number {
    try {
      return this.#log.head();
    } catch {
      return this.#lastPassedOn;
    }
  }

  /** Passes a page of new events on. Returns true when there may be more. */
  #passOn(): boolean {
    if (this.#subscriptions.size === 0) {
      this.#lastPassedOn = this.#log.head();
      return false;
    }
    const events = this.#log.after(this.#lastPassedOn, EVENTS_PER_TURN);
    for (const event of events) {
      this.#dispatch(event);
      this.#lastPassedOn = event.number;
    }
    return events.length === EVENTS_PER_TURN;
  }

  #dispatch(event: LoggedEvent): void {
    const messages = new Map<string, StreamMessage>();
    const groups = event.to === EVERYONE ? this.#groups.all() : this.#groups.ofAudiences(event.to);
    for (const group of groups) {
      const subject = matchingSubject(event, group.filters);
      if (subject === undefined) continue;
      const message = messages.get(subject) ?? eventMessage(event, subject);
      messages.set(subject, message);
      deliver(group, message);
    }
  }

  #replay(subscription: Subscription): void {
    // `resume` adds it again at the end, so that every subscriber that is behind gets a turn.
    this.#replaying.delete(subscription);
    const firstKept = this.#log.firstKept();
    const hasGap = subscription.position > 0 && firstKept > subscription.position + 1;
    if (hasGap && !subscription.send(gapMessage(firstKept - 1))) return;
    const events = this.#log.visibleAfter(subscription.group.audience, subscription.position, {
      upTo: this.#lastPassedOn,
      limit: REPLAY_PAGE,
    });
    for (const event of events) {
      const subject = matchingSubject(event, subscription.group.filters);
      if (subject !== undefined && !subscription.send(eventMessage(event, subject))) return;
      subscription.position = event.number;
    }
    if (events.length < REPLAY_PAGE) subscription.position = Math.max(subscription.position, this.#lastPassedOn);
    this.resume(subscription);
  }

  #heartbeat(): void {
    const message = heartbeatMessage(this.#lastPassedOn);
    for (const group of this.#groups.all()) deliver(group, message);
  }

  #endStalled(): void {
    const before = this.#clock.monotonicMs() - STALL_MS;
    for (const subscription of [...this.#subscriptions]) {
      if (subscription.heldSinceMs !== undefined && subscription.heldSinceMs <= before)
        subscription.end("slow_consumer");
    }
  }
}
