/**
 * Idempotency-Key on routes that create: the same key with the same request gets the first answer again instead of a
 * second record (draft-ietf-httpapi-idempotency-key-header). Answers with secrets are never stored: their routes do not
 * set `creates`.
 */
import { createHmac } from "node:crypto";
import { AppError } from "../../errors.js";
import type { Once, OnceReply } from "../../contract/once.js";
import type { AnyReply } from "../../contract/route.js";
import type { StoreCommit } from "../../store/store.js";

/** What identifies a request that may be repeated. */
export interface IdempotencyClaim {
  /** `user:<uuid>` and the like; keys of two subjects never meet. */
  readonly subject: string;
  readonly routeId: string;
  readonly key: string;
  /** See `hashRequest`; distinguishes a repeat from another request under the same key. */
  readonly requestHash: string;
  /** Whether the handler takes effect with what it keeps alone, so that one of which nothing is kept may run again. */
  readonly keepsOnce?: boolean;
}

/** A stored answer. Its body is JSON text, so that the repeat is equal to the first byte for byte. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** What is kept of a request. */
export interface KeptOutcome {
  readonly answer?: StoredAnswer | undefined;
  /** The request has begun to take effect: without an answer none is known, and with one a better one is to come. */
  readonly begun?: true;
  /** Path of what it made, where the answer itself is not kept. */
  readonly location?: string | undefined;
}

export interface IdempotencyStore {
  /**
   * Claims the key for this request, durably, or returns the stored answer of the first.
   * @throws idempotency_key_reused when the key belongs to another request
   * @throws idempotency_in_progress while the first is running, or when its outcome is not known
   */
  claim(claim: IdempotencyClaim): Promise<StoredAnswer | undefined>;
  /** Returns the commit that keeps what a claimed request has come to, in place of what it kept before. */
  keeping(claim: IdempotencyClaim, kept: KeptOutcome): StoreCommit;
  /** Commits that it has begun. */
  begin(claim: IdempotencyClaim): Promise<void>;
  /** Returns whether something of a claimed request is kept. */
  hasKept(claim: IdempotencyClaim): boolean;
  /** Stores what a claimed request came to. */
  settle(claim: IdempotencyClaim, outcome: KeptOutcome): Promise<void>;
  /** Frees the key: the request failed and may be tried again. */
  release(claim: IdempotencyClaim): Promise<void>;
  /** Ends the request with what is kept of it: where that is nothing, nobody knows whether it took effect. */
  abandon(claim: IdempotencyClaim): void;
}

/** Of longer answers only the place of what was made is stored. Answers are usually a few KiB. */
const ANSWER_BYTES_MAX = 256 * 1024;
const BEGUN: KeptOutcome = { begun: true };
const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * Returns the key of an Idempotency-Key header.
 * @throws malformed_request
 */
export function checkedIdempotencyKey(key: string): string {
  if (!KEY.test(key))
    throw new AppError("malformed_request", { message: "Idempotency-Key: expected 1 to 255 visible ASCII characters" });
  return key;
}

/**
 * Returns HMAC-SHA256(hashKey, path || 0x00 || query || 0x00 || body) in hex. Keyed, because a bare hash of a body that
 * holds a secret would let a thief of the store try guesses.
 */
export function hashRequest(
  hashKey: Uint8Array,
  request: { readonly path: string; readonly query: string; readonly body: Uint8Array },
): string {
  const { path, query, body } = request;
  return createHmac("sha256", hashKey).update(path).update("\0").update(query).update("\0").update(body).digest("hex");
}

/** Runs a handler once per claim. A repeat gets the stored answer with `Idempotency-Replayed: true`. */
export async function runOnce(
  store: IdempotencyStore,
  claim: IdempotencyClaim,
  handler: (once: Once) => AnyReply | Promise<AnyReply>,
): Promise<AnyReply> {
  const stored = await store.claim(claim);
  if (stored !== undefined) {
    const body = stored.body === null ? {} : { body: JSON.parse(stored.body) as unknown };
    return { status: stored.status, headers: { ...stored.headers, "Idempotency-Replayed": "true" }, ...body };
  }
  const once = new ClaimedOnce(store, claim);
  let reply: AnyReply;
  try {
    reply = await handler(once);
  } catch (error) {
    if (isOutcomeUnknown(error) || (once.mayHaveKept && !isRefusal(error) && store.hasKept(claim)))
      store.abandon(claim);
    // The failure itself says more than one to free the key, after which a repeat is refused as of unknown outcome.
    else await store.release(claim).catch(() => undefined);
    throw error;
  }
  if (reply.status < 300 && isPlain(reply)) await store.settle(claim, outcomeOf(reply));
  else await store.release(claim);
  return reply;
}

class ClaimedOnce implements Once {
  readonly #store: IdempotencyStore;
  readonly #claim: IdempotencyClaim;
  #mayHaveKept = false;

  constructor(store: IdempotencyStore, claim: IdempotencyClaim) {
    this.#store = store;
    this.#claim = claim;
  }

  /** Whether a commit of the handler may have kept something, and with it what the request does. */
  get mayHaveKept(): boolean {
    return this.#mayHaveKept;
  }

  answered(reply: OnceReply): StoreCommit {
    return this.#keeping(outcomeOf(reply));
  }

  begun(): StoreCommit {
    return this.#keeping(BEGUN);
  }

  cutOff(reply: OnceReply): StoreCommit {
    return this.#keeping({ ...outcomeOf(reply), ...BEGUN });
  }

  async begin(): Promise<void> {
    await this.#store.begin(this.#claim);
  }

  #keeping(outcome: KeptOutcome): StoreCommit {
    this.#mayHaveKept = true;
    return this.#store.keeping(this.#claim, outcome);
  }
}

function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof AppError && error.code === "outcome_unknown";
}

/** Whether a handler says that the request is not to be done, after which nothing of it goes on. */
function isRefusal(error: unknown): boolean {
  return error instanceof AppError && error.status < 500;
}

function isPlain(reply: AnyReply): boolean {
  return reply.file === undefined && reply.bytes === undefined;
}

/** Returns what is stored of an answer. */
function outcomeOf({ status, headers = {}, body }: OnceReply): KeptOutcome {
  const text = body === undefined ? null : JSON.stringify(body);
  if (text !== null && Buffer.byteLength(text) > ANSWER_BYTES_MAX)
    return { ...BEGUN, location: headers.Location ?? headers.location };
  return { answer: { status, headers, body: text } };
}
