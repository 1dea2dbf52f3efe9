/**
 * Idempotency-Key on routes that create: the same key with the same request gets the first answer again instead of a
 * second record (draft-ietf-httpapi-idempotency-key-header). Answers that hand out secrets never come here: such routes
 * do not set `creates`.
 */
import { createHmac } from "node:crypto";
import { AppError } from "../../errors.js";
import type { AnyReply } from "../../contract/route.js";

/** What names a request that may be repeated. */
export interface IdempotencyClaim {
  /** `user:<uuid>` and the like; keys of two subjects never meet. */
  readonly subject: string;
  readonly routeId: string;
  readonly key: string;
  /** Keyed hash of path, query and body, hex; tells a repeat from another request under the same key. */
  readonly requestHash: string;
}

/** An answer as it is kept: JSON text, so that the repeat is byte for byte the first. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface IdempotencyStore {
  /**
   * Takes the key for this request, durably, or gives the answer that it had. Rejects with `idempotency_key_reused`
   * when the key belongs to another request, with `idempotency_in_progress` while the first is running or when its
   * outcome is not known.
   */
  claim(claim: IdempotencyClaim): Promise<StoredAnswer | undefined>;
  /** Keeps the answer of a claimed request. */
  settle(claim: IdempotencyClaim, answer: StoredAnswer): Promise<void>;
  /** Frees the key: the request failed and may be tried again. */
  release(claim: IdempotencyClaim): Promise<void>;
}

/** Answers beyond this are not kept: the repeat of such a request runs again. Records are a few KiB. */
const ANSWER_BYTES_MAX = 256 * 1024;
const KEY = /^[\x21-\x7e]{1,255}$/;

/** Checks the header's form. Throws `malformed_request`. */
export function checkedIdempotencyKey(key: string): string {
  if (!KEY.test(key))
    throw new AppError("malformed_request", { message: "Idempotency-Key: expected 1 to 255 visible ASCII characters" });
  return key;
}

/**
 * The keyed hash of a request: a bare hash of a body that holds a secret would let a thief of the store try guesses.
 */
export function hashRequest(hashKey: Uint8Array, path: string, query: string, body: Uint8Array): string {
  return createHmac("sha256", hashKey).update(path).update("\0").update(query).update("\0").update(body).digest("hex");
}

/** Runs a handler once per claim. A repeat gets the kept answer with `Idempotency-Replayed: true`. */
export async function runOnce(
  store: IdempotencyStore,
  claim: IdempotencyClaim,
  handler: () => AnyReply | Promise<AnyReply>,
): Promise<AnyReply> {
  const kept = await store.claim(claim);
  if (kept !== undefined) {
    const body = kept.body === null ? {} : { body: JSON.parse(kept.body) as unknown };
    return { status: kept.status, headers: { ...kept.headers, "Idempotency-Replayed": "true" }, ...body };
  }
  let reply: AnyReply;
  try {
    reply = await handler();
  } catch (error) {
    await store.release(claim);
    throw error;
  }
  const body = reply.body === undefined ? null : JSON.stringify(reply.body);
  const isKept =
    reply.file === undefined &&
    reply.bytes === undefined &&
    reply.status < 300 &&
    (body === null || body.length <= ANSWER_BYTES_MAX);
  if (isKept) await store.settle(claim, { status: reply.status, headers: reply.headers ?? {}, body });
  else await store.release(claim);
  return reply;
}
