/**
 * One subscriber of the bus: where it stands, and what its transport tells of its reader. Decides nothing about events.
 */
import type { OpenStream, StreamEnd, StreamMessage, StreamSink } from "../contract/stream.js";
import type { Clock } from "../clock.js";
import type { EventHub, SubscriberGroup } from "./event-hub.js";

export interface SubscriptionOptions {
  readonly group: SubscriberGroup;
  /** Number of the last event that the subscriber has. */
  readonly position: number;
  readonly sink: StreamSink;
}

export class Subscription implements OpenStream {
  readonly group: SubscriberGroup;
  readonly sink: StreamSink;
  /** Number of the last event that was sent or passed over. */
  position: number;
  /** Has caught up, and gets what comes from its group. */
  isLive = false;
  /** Since when the reader takes nothing, on the monotonic clock; undefined while it does. */
  heldSinceMs: number | undefined;
  readonly #hub: EventHub;
  readonly #clock: Clock;
  #isOver = false;

  constructor(options: SubscriptionOptions, dependencies: { readonly hub: EventHub; readonly clock: Clock }) {
    this.group = options.group;
    this.sink = options.sink;
    this.position = options.position;
    this.#hub = dependencies.hub;
    this.#clock = dependencies.clock;
  }

  /** Sends and notes the position. False when the reader does not keep up; the subscription is held then. */
  send(message: StreamMessage): boolean {
    if (this.#isOver) return false;
    this.position = message.id;
    if (this.sink.send(message)) return true;
    this.heldSinceMs ??= this.#clock.monotonicMs();
    this.#hub.hold(this);
    return false;
  }

  end(reason: StreamEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#hub.remove(this);
    this.sink.end(reason);
  }

  writable(): void {
    if (this.heldSinceMs === undefined || this.#isOver) return;
    this.heldSinceMs = undefined;
    this.#hub.goOn(this);
  }

  /** It missed a message that others got, and gets it from the log once it reads again. */
  dropped(position: number): void {
    if (this.#isOver || this.heldSinceMs !== undefined) return;
    this.position = position;
    this.heldSinceMs = this.#clock.monotonicMs();
    this.#hub.hold(this);
  }

  closed(): void {
    this.#isOver = true;
    this.#hub.remove(this);
  }
}
