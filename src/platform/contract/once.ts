/**
 * What a request with an Idempotency-Key keeps in the commit by which it takes effect. When its server ends before the
 * answer is stored, a repeat gets the kept answer; one of which nothing was kept took no effect, and is run again.
 */
import type { StoreCommit } from "../store/store.js";

/** An answer of 2xx without files and bytes. */
export interface OnceReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Once {
  /** Returns what keeps the answer. Merge it with the commit that takes effect. */
  answered(reply: OnceReply): StoreCommit;
  /** Likewise where the answer is not known yet: a repeat is told that the request began to take effect. */
  begun(): StoreCommit;
  /**
   * Likewise an answer that says that something is missing which is still being made. It is for repeats of a request
   * that was cut off alone; while the first runs, they are told so.
   */
  cutOff(reply: OnceReply): StoreCommit;
  /** Keeps that it has begun at once, for what takes effect by several commits. */
  begin(): Promise<void>;
}

/**
 * Returns what keeps the answer to what is made, for a service to merge with the commit that makes it; undefined for a
 * request without a key.
 */
export function keepingAnswer<Made>(
  once: Once | undefined,
  replyOf: (made: Made) => OnceReply,
): ((made: Made) => StoreCommit) | undefined {
  return once === undefined ? undefined : (made) => once.answered(replyOf(made));
}
