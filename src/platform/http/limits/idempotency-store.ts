/**
 * Idempotency keys over the store port. Keys:
 *   idempotency / subject / route id / key      -> the claim or the answer
 *   idempotency_expiry / expires at (ms) / subject / route id / key -> nothing; an index for sweeping
 */
import type { Clock } from "../../clock.js";
import { AppError } from "../../errors.js";
import type { Nodes } from "../../nodes/nodes.js";
import { soloNodes } from "../../nodes/solo-nodes.js";
import { StoreConflict, type Store, type StoreCommit, type StoreKey, type StoreValue } from "../../store/store.js";
import type { IdempotencyClaim, IdempotencyStore, KeptOutcome, StoredAnswer } from "./idempotency.js";

/** src/DECISIONS.md promises 24 hours. */
const RETENTION_MS = 24 * 60 * 60 * 1000;
/** Expired records that one commit of a sweep deletes. */
const SWEEP_BATCH = 256;
/** Expired records that each new claim deletes: more than one, so that the table shrinks under load without a timer. */
const SWEPT_PER_CLAIM = 4;

interface IdempotencyRecord {
  readonly request_hash: string;
  readonly expires_at_ms: number;
  /** Process that runs the first request; absent in records of earlier versions. */
  readonly holder?: string;
  /** Whether a request of which the record keeps nothing took no effect. */
  readonly keeps?: boolean;
  /** It has begun to take effect. */
  readonly begun?: boolean;
  /** Path of what it made, where its answer is not kept. */
  readonly location?: string;
  /** Absent while nothing is known of it. With `begun` it is what a request comes to that is cut off. */
  readonly answer?: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | null;
  };
}

export class StoredIdempotency implements IdempotencyStore {
  readonly #store: Store;
  readonly #clock: Clock;
  /** Keys whose first request runs in this process now. */
  readonly #running = new Set<string>();

  readonly #nodes: Nodes;

  constructor(dependencies: { readonly store: Store; readonly clock: Clock; readonly nodes?: Nodes }) {
    this.#store = dependencies.store;
    this.#clock = dependencies.clock;
    this.#nodes = dependencies.nodes ?? soloNodes();
  }

  /** Claims a key by a commit that fails when another request has claimed it meanwhile. */
  async claim(claim: IdempotencyClaim): Promise<StoredAnswer | undefined> {
    const key = recordKey(claim);
    const nowMs = this.#clock.nowMs();
    const found = this.#store.get<IdempotencyRecord>(key);
    if (found !== undefined && found.value.expires_at_ms > nowMs) {
      const answer = this.#existing(claim, found.value);
      if (answer !== undefined) return answer;
    }
    const expiresAtMs = nowMs + RETENTION_MS;
    const holder = this.#nodes.incarnation;
    const record: IdempotencyRecord = {
      ...{ request_hash: claim.requestHash, expires_at_ms: expiresAtMs, holder },
      ...(claim.keepsOnce === true ? { keeps: true } : {}),
    };
    this.#running.add(key.join("\0"));
    try {
      await this.#store.commit({
        checks: [{ key, version: found?.version ?? "absent" }],
        puts: [
          { key, value: asValue(record) },
          { key: expiryKey(claim, expiresAtMs), value: null },
        ],
        deletes: [
          ...(found === undefined ? [] : [expiryKey(claim, found.value.expires_at_ms)]),
          ...this.#expired(nowMs, SWEPT_PER_CLAIM)
            .filter((expiry) => !isSameKey(recordOf(expiry), key))
            .flatMap((expiry) => [expiry, recordOf(expiry)]),
        ],
      });
      return undefined;
    } catch (error) {
      const isOfThisNode = this.#store.get<IdempotencyRecord>(key)?.value.holder === holder;
      // Another request of this node may have claimed it at the same moment, and runs.
      if (!(error instanceof StoreConflict && isOfThisNode)) this.#running.delete(key.join("\0"));
      throw error instanceof StoreConflict ? inProgress() : error;
    }
  }

  /** Returns the put of the claim with what is kept; nothing for one that was swept meanwhile. */
  keeping(claim: IdempotencyClaim, kept: KeptOutcome): StoreCommit {
    const key = recordKey(claim);
    const found = this.#store.get<IdempotencyRecord>(key);
    return found === undefined ? {} : { puts: [{ key, value: asValue(withOutcome(found.value, kept)) }] };
  }

  /** Commits that the request has begun. */
  async begin(claim: IdempotencyClaim): Promise<void> {
    await this.#store.commit(this.keeping(claim, { begun: true }));
  }

  /** Returns whether the claim has an answer, or that its request has begun. */
  hasKept(claim: IdempotencyClaim): boolean {
    const record = this.#store.get<IdempotencyRecord>(recordKey(claim))?.value;
    return record?.answer !== undefined || record?.begun === true;
  }

  /** Stores the outcome with the claim, unless it has been kept with what the request did. */
  async settle(claim: IdempotencyClaim, outcome: KeptOutcome): Promise<void> {
    const key = recordKey(claim);
    try {
      const found = this.#store.get<IdempotencyRecord>(key);
      // The claim was swept meanwhile: the request ran for longer than claims are kept.
      if (found === undefined || isKept(found.value, outcome)) return;
      const value = asValue(withOutcome(found.value, outcome));
      await this.#store.commit({ checks: [{ key, version: found.version }], puts: [{ key, value }] });
    } finally {
      this.#running.delete(key.join("\0"));
    }
  }

  /** Deletes the claim. */
  async release(claim: IdempotencyClaim): Promise<void> {
    const key = recordKey(claim);
    try {
      const found = this.#store.get<IdempotencyRecord>(key);
      if (found === undefined) return;
      await this.#store.commit({ deletes: [key, expiryKey(claim, found.value.expires_at_ms)] });
    } finally {
      this.#running.delete(key.join("\0"));
    }
  }

  /** Leaves the claim as one that a process has left behind. */
  abandon(claim: IdempotencyClaim): void {
    this.#running.delete(recordKey(claim).join("\0"));
  }

  /** Deletes all expired records and returns how many. Called at start; later each claim deletes some. */
  async sweep(): Promise<number> {
    const nowMs = this.#clock.nowMs();
    let swept = 0;
    for (;;) {
      const expired = this.#expired(nowMs, SWEEP_BATCH);
      if (expired.length === 0) return swept;
      await this.#store.commit({ deletes: expired.flatMap((expiry) => [expiry, recordOf(expiry)]) });
      swept += expired.length;
    }
  }

  /** Keys of the expiry index whose time is over, oldest first. */
  #expired(nowMs: number, limit: number): StoreKey[] {
    return this.#store
      .range(["idempotency_expiry"], { limit })
      .map(({ key }) => key)
      .filter((key) => Number(key[1]) <= nowMs);
  }

  /**
   * Returns the answer of the first request; undefined when that was cut off before it took effect.
   * @throws idempotency_key_reused, idempotency_in_progress
   */
  #existing(claim: IdempotencyClaim, record: IdempotencyRecord): StoredAnswer | undefined {
    if (record.request_hash !== claim.requestHash) {
      throw new AppError("idempotency_key_reused", {
        message: "Idempotency-Key: was used for another request; take a new key",
      });
    }
    if (record.answer !== undefined && record.begun !== true) return record.answer;
    if (this.#isRunning(recordKey(claim), record)) throw inProgress();
    if (record.answer !== undefined) return record.answer;
    if (record.begun === true) throw lostAnswer(record);
    // What this process has abandoned may still be written.
    const hasEnded = record.holder !== undefined && record.holder !== this.#nodes.incarnation;
    if (hasEnded && record.keeps === true) return undefined;
    throw unknownOutcome();
  }

  #isRunning(key: StoreKey, { holder }: IdempotencyRecord): boolean {
    const { incarnation } = this.#nodes;
    if (holder === undefined || holder === incarnation) return this.#running.has(key.join("\0"));
    return this.#nodes.isAlive(holder);
  }
}

function inProgress(): AppError {
  return new AppError("idempotency_in_progress", {
    message: "the first request with this Idempotency-Key is still running",
  });
}

/** The process ended between what the request did and its answer, or the answer was too long. */
function lostAnswer({ location }: IdempotencyRecord): AppError {
  const first = "the first request with this Idempotency-Key";
  return new AppError("idempotency_in_progress", {
    message:
      location === undefined
        ? `${first} began to take effect, and its answer is not known: look for what it made, then use a new key`
        : `${first} made ${location}, and its answer was too long to be kept`,
  });
}

/** The process ended between the claim and the answer. Running the request again might create a second record. */
function unknownOutcome(): AppError {
  return new AppError("idempotency_in_progress", {
    message:
      "the first request with this Idempotency-Key was cut off and its outcome is not known: look whether it took effect, then use a new key",
  });
}

function recordKey(claim: IdempotencyClaim): StoreKey {
  return ["idempotency", claim.subject, claim.routeId, claim.key];
}

function expiryKey(claim: IdempotencyClaim, expiresAtMs: number): StoreKey {
  return ["idempotency_expiry", expiresAtMs, claim.subject, claim.routeId, claim.key];
}

/** Key of the record that an entry of the expiry index belongs to. */
function recordOf(expiry: StoreKey): StoreKey {
  return ["idempotency", ...expiry.slice(2)];
}

function isSameKey(a: StoreKey, b: StoreKey): boolean {
  return a.length === b.length && a.every((part, index) => part === b[index]);
}

/** Whether the record has the very answer of an outcome. */
function isKept({ begun, answer: kept }: IdempotencyRecord, { answer }: KeptOutcome): boolean {
  if (begun === true || kept === undefined || answer === undefined) return false;
  return (
    kept.status === answer.status &&
    kept.body === answer.body &&
    JSON.stringify(kept.headers) === JSON.stringify(answer.headers)
  );
}

/** Returns the record of a claim with what its request has come to. */
function withOutcome(
  { begun: _begun, answer: _answer, location: _location, ...claimed }: IdempotencyRecord,
  { answer, begun, location }: KeptOutcome,
): IdempotencyRecord {
  return {
    ...claimed,
    ...(answer === undefined ? {} : { answer }),
    ...(begun === undefined ? {} : { begun }),
    ...(location === undefined ? {} : { location }),
  };
}

function asValue(record: IdempotencyRecord): StoreValue {
  return { ...record };
}
