/**
 * The events port: what areas may say to the bus. An event is part of the commit that makes it true, so it is never
 * lost and never announced for something that did not happen. Delivery (SSE, WebSocket) reads the log behind it.
 */
import type { Subject } from "../auth/principal.js";
import type { StoreCommit, StoreValue } from "../store/store.js";

export interface EventDraft {
  /** Dot-separated words of letters, digits and `_ : $ ~ -`, such as `network.<id>.status`. */
  readonly subject: string;
  /** Other subjects of the same event: whoever listens to several of them still gets it once. */
  readonly also?: readonly string[];
  /** JSON of at most 64 KiB; a longer one is left out, and the event says so by `truncated: true`. */
  readonly payload: StoreValue;
  /** Whose tokens may see it; `everyone` is for events about what everybody may read. */
  readonly audience: readonly Subject[] | "everyone";
}

export interface Events {
  /** What to add to a commit (with `mergeCommits`) so that these events happen with it, in this order. */
  commitOf(drafts: readonly EventDraft[]): StoreCommit;
  /** Says something that no stored record changes with, such as a network's new status. Durable once resolved. */
  publish(drafts: readonly EventDraft[]): Promise<void>;
}
