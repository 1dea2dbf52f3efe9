/**
 * One subscriber of the events: its position, and whether its reader keeps up. The hub decides which events it gets.
 */
import type { Clock } from "../clock.js";
import type { OpenStream, StreamEnd, StreamMessage, StreamSink } from "../contract/stream.js";
import type { LiveReader, SubscriberGroup } from "./subscriber-groups.js";

/** What a subscription asks of the hub that serves it. */
export interface SubscriptionHub {
  /** Sends nothing more: the reader does not keep up. */
  hold(subscription: Subscription): void;
  /** Continues from the subscription's position. */
  resume(subscription: Subscription): void;
  /** Forgets a subscription that is over. */
  remove(subscription: Subscription): void;
}

export interface SubscriptionOptions {
  readonly group: SubscriberGroup;
  /** What it counts towards. */
  readonly quota: string;
  /** Number of the last event that the subscriber has. */
  readonly position: number;
  readonly sink: StreamSink;
}

export class Subscription implements OpenStream, LiveReader {
  readonly group: SubscriberGroup;
  readonly quota: string;
  readonly sink: StreamSink;
  position: number;
  /** The subscriber has caught up and receives what its group receives. */
  isLive = false;
  /** Monotonic time since which the reader takes nothing; undefined while it keeps up. */
  heldSinceMs: number | undefined;
  readonly #hub: SubscriptionHub;
  readonly #clock: Clock;
  #hasEnded = false;

  constructor(options: SubscriptionOptions, dependencies: { readonly hub: SubscriptionHub; readonly clock: Clock }) {
    this.group = options.group;
    this.quota = options.quota;
    this.sink = options.sink;
    this.position = options.position;
    this.#hub = dependencies.hub;
    this.#clock = dependencies.clock;
  }

  /** Sends a message and moves the position. Returns false when the reader does not keep up; it is held then. */
  send(message: StreamMessage): boolean {
    if (this.#hasEnded) return false;
    this.position = message.id;
    if (this.sink.send(message)) return true;
    this.heldSinceMs ??= this.#clock.monotonicMs();
    this.#hub.hold(this);
    return false;
  }

  /** Ends the stream and tells the reader why. */
  end(reason: StreamEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#hub.remove(this);
    this.sink.end(reason);
  }

  /** Continues: the reader took everything that was held back. */
  writable(): void {
    if (this.heldSinceMs === undefined || this.#hasEnded) return;
    this.heldSinceMs = undefined;
    this.#hub.resume(this);
  }

  /** Holds the subscription at the position before a dropped message, which it later gets from the log. */
  dropped(position: number): void {
    if (this.#hasEnded || this.heldSinceMs !== undefined) return;
    this.position = position;
    this.heldSinceMs = this.#clock.monotonicMs();
    this.#hub.hold(this);
  }

  /** Ends the subscription: its connection is gone. */
  closed(): void {
    this.#hasEnded = true;
    this.#hub.remove(this);
  }
}
