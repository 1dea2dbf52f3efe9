/**
 * The events port, through which areas publish. An event is part of the commit that makes it true, so that it is never
 * lost and never announced for something that did not happen. Delivery (SSE, WebSocket) reads the log behind it.
 */
import type { Subject } from "../auth/principal.js";
import type { StoreCommit, StoreValue } from "../store/store.js";

export interface EventDraft {
  /** Dot-separated words of letters, digits and `_ : $ ~ -`, such as `network.<id>.status`. */
  readonly subject: string;
  /** Other subjects of the same event; a listener to several of them gets it once. */
  readonly also?: readonly string[];
  /** JSON of at most 64 KiB; a longer one is replaced by null, and the event has `truncated: true`. */
  readonly payload: StoreValue;
  /** Subjects whose tokens may see it; `everyone` is for events about public things. */
  readonly audience: readonly Subject[] | "everyone";
}

export interface Events {
  /** Returns a commit to merge into another (`mergeCommits`), so that these events happen with it, in this order. */
  commitOf(drafts: readonly EventDraft[]): StoreCommit;
  /** Publishes events that belong to no change of a record, such as a network's new status. Durable once resolved. */
  publish(drafts: readonly EventDraft[]): Promise<void>;
}
