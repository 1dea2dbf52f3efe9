/**
 * Subscribers grouped by what they receive: one audience and one set of filters. An event is matched and encoded once
 * for each group, however many listen.
 */
import type { StreamChannel, StreamMessage } from "../contract/stream.js";
import type { SubjectFilter } from "./subject-filter.js";

/** A subscriber that has caught up and is sent each message by itself. */
export interface LiveReader {
  /** Number of the last event that was sent or passed over. */
  position: number;
  send(message: StreamMessage): boolean;
}

/** The subscribers of one audience with the same filters. */
export interface SubscriberGroup {
  readonly key: string;
  /** `user:<uuid>` and the like. */
  readonly audience: string;
  /** None: everything that the audience may see. */
  readonly filters: readonly SubjectFilter[];
  /** Caught-up subscribers without a channel. */
  readonly single: Set<LiveReader>;
  /** Channels that publish under the group's key, each with its number of caught-up subscribers. */
  readonly channels: Map<StreamChannel, number>;
  /** Open subscriptions, caught up or not. */
  members: number;
}

export class SubscriberGroups {
  readonly #groups = new Map<string, SubscriberGroup>();
  readonly #byAudience = new Map<string, Set<SubscriberGroup>>();

  /**
   * Returns the group of an audience and its filters, which is made at its first use.
   * @param filters in the order of their texts, so that the same filters give the same group
   */
  of(audience: string, filters: readonly SubjectFilter[]): SubscriberGroup {
    const key = [audience, ...filters.map((words) => words.join("."))].join(" ");
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const group: SubscriberGroup = { key, audience, filters, single: new Set(), channels: new Map(), members: 0 };
    this.#groups.set(key, group);
    const groups = this.#byAudience.get(audience) ?? new Set();
    this.#byAudience.set(audience, groups.add(group));
    return group;
  }

  /** All groups. */
  all(): Iterable<SubscriberGroup> {
    return this.#groups.values();
  }

  /** The groups of these audiences, each once. */
  ofAudiences(audiences: readonly string[]): Iterable<SubscriberGroup> {
    return new Set(audiences.flatMap((audience) => [...(this.#byAudience.get(audience) ?? [])]));
  }

  /** Open subscriptions of an audience. */
  countOf(audience: string): number {
    let count = 0;
    for (const group of this.#byAudience.get(audience) ?? []) count += group.members;
    return count;
  }

  /** Counts one subscription less, and drops the group with its last one. */
  leave(group: SubscriberGroup): void {
    group.members -= 1;
    if (group.members > 0) return;
    this.#groups.delete(group.key);
    const groups = this.#byAudience.get(group.audience);
    groups?.delete(group);
    if (groups?.size === 0) this.#byAudience.delete(group.audience);
  }
}

/** Sends a message to every caught-up subscriber of a group. */
export function deliver(group: SubscriberGroup, message: StreamMessage): void {
  for (const reader of [...group.single]) {
    // Set before the send, which may find the reader slow and hold the subscription at this very position.
    reader.position = message.id;
    reader.send(message);
  }
  for (const channel of group.channels.keys()) channel.publish(group.key, message);
}
