/**
 * The requests that wait for one vault worker: bounded, in turns of the owners (concurrency/fair-queue.ts), and
 * measured. Requests wait and not messages, so that an owner with many does not fill all messages.
 */
import { FairQueue, type Place } from "../../platform/concurrency/fair-queue.js";
import { AppError } from "../../platform/errors.js";
import { RETRY_AFTER_MAX_SEC, type LaneFigures } from "../../platform/pool/lane.js";
import { findKeySpec } from "../key-specs/table.js";
import type { VaultRequest, VaultTaskName, VaultTaskResult } from "../protocol.js";

/** A request and what settles it. */
export interface WaitingRequest {
  readonly request: VaultRequest;
  readonly resolve: (result: VaultTaskResult<unknown>) => void;
  readonly reject: (error: unknown) => void;
}

/** A request that the queue has got: whose turn it takes, as it was said when it came. */
export interface QueuedRequest extends WaitingRequest {
  readonly owner: string;
  readonly askedMs: number;
}

/** Returns under which name the requests of a subject, such as `application:<uuid>`, wait for their turn. */
export type TurnOf = (owner: string) => string;

export interface RequestQueueOptions {
  readonly name: string;
  readonly lengthMax: number;
  /** The subject's own name unless given. */
  readonly turnOf?: TurnOf | undefined;
}

/** Longest work of one message, whose first answer waits for the last. */
export const MESSAGE_US = 1_000;
/** The server's own tasks, such as unsealing. */
const SERVER = "";
const SERVER_TASKS: ReadonlySet<VaultTaskName> = new Set(["unseal", "check_phrase", "lock", "forget_vault"]);
/** Reading one point of BLS12-381 and checking its subgroup. */
const BLS_POINT_US = 1_000;
/** Hashing one message to the curve, and its part of the pairings. */
const BLS_MESSAGE_US = 10_000;
/** Two points, one hash to the curve and two pairings. */
const BLS_PROOF_US = 21_000;
/** Weight of a new duration in the moving average for Retry-After: about the last ten messages count. */
const EWMA_SHARE = 0.2;

export class RequestQueue {
  readonly #name: string;
  readonly #turnOf: TurnOf;
  readonly #queue: FairQueue<QueuedRequest>;
  /** Work that waits, in microseconds. */
  #waitingUs = 0;
  #running = 0;
  #started = 0;
  #refused = 0;
  #waitMs = 0;
  /** Of one request; undefined until the first message has ended. */
  #averageMs: number | undefined;
  #lastEndedMs = 0;

  constructor(options: RequestQueueOptions) {
    this.#name = options.name;
    this.#turnOf = options.turnOf ?? ((owner) => owner);
    this.#queue = new FairQueue({ lengthMax: options.lengthMax });
  }

  /** Requests that wait. */
  get length(): number {
    return this.#queue.length;
  }

  /** Requests that wait or run. */
  get pending(): number {
    return this.#queue.length + this.#running;
  }

  /** Work that waits, in microseconds. */
  get waitingUs(): number {
    return this.#waitingUs;
  }

  /** The figures for metrics. */
  get figures(): LaneFigures {
    return {
      waiting: this.#queue.length,
      running: this.#running,
      started: this.#started,
      refused: this.#refused,
      waitSeconds: this.#waitMs / 1000,
    };
  }

  /** Lets a request wait, or rejects it with `overloaded` when the queue is full; see FairQueue.add. */
  add(waiting: WaitingRequest): void {
    const named = ownerOf(waiting.request);
    const owner = named === SERVER ? SERVER : this.#turnOf(named);
    const { place, displaced } = this.#queue.add(owner, { ...waiting, owner, askedMs: performance.now() });
    if (displaced !== undefined) {
      this.#waitingUs -= costOf(displaced.item.request);
      displaced.item.reject(this.#full(displaced.owner));
    }
    if (place === undefined) waiting.reject(this.#full(owner));
    else this.#waitingUs += costOf(waiting.request);
  }

  /** Takes the next requests, about as much work as there is room for, each owner's together: they can be joined. */
  take(roomUs: number): QueuedRequest[] {
    const byOwner = new Map<string, QueuedRequest[]>();
    const nowMs = performance.now();
    for (let us = 0; us < roomUs;) {
      const next: Place<QueuedRequest> | undefined = this.#queue.take();
      if (next === undefined) break;
      const costUs = costOf(next.item.request);
      us += costUs;
      this.#waitingUs -= costUs;
      this.#running += 1;
      this.#started += 1;
      this.#waitMs += nowMs - next.item.askedMs;
      const own = byOwner.get(next.owner);
      if (own === undefined) byOwner.set(next.owner, [next.item]);
      else own.push(next.item);
    }
    return [...byOwner.values()].flat();
  }

  /** Counts the requests of a message as ended, and measures how long they took from when the thread was free. */
  ended(requests: readonly QueuedRequest[], sentMs: number): void {
    if (requests.length === 0) return;
    const nowMs = performance.now();
    const eachMs = (nowMs - Math.max(sentMs, this.#lastEndedMs)) / requests.length;
    this.#lastEndedMs = nowMs;
    this.#averageMs =
      this.#averageMs === undefined ? eachMs : this.#averageMs + EWMA_SHARE * (eachMs - this.#averageMs);
    this.#running -= requests.length;
    for (const { owner } of requests) this.#queue.release(owner);
  }

  /** Rejects everything that waits. */
  refuseAll(error: AppError): void {
    for (let next = this.#queue.take(); next !== undefined; next = this.#queue.take()) {
      this.#queue.release(next.owner);
      next.item.reject(error);
    }
    this.#waitingUs = 0;
  }

  #full(owner: string): AppError {
    this.#refused += 1;
    const seconds = ((this.#queue.aheadOf(owner) + this.#running) * (this.#averageMs ?? 0)) / 1000;
    const retryAfterSec = Math.min(RETRY_AFTER_MAX_SEC, Math.max(1, Math.ceil(seconds)));
    return new AppError("overloaded", {
      message: `${this.#name}: the queue is full, try again in ${String(retryAfterSec)} s`,
      retryAfterSec,
    });
  }
}

/** Returns the work in microseconds, by the size of the request; a task of another kind counts as a whole message. */
export function costOf({ task, message }: VaultRequest): number {
  switch (task) {
    case "operate":
      return (findKeySpec(message.key.spec)?.operationUs ?? MESSAGE_US) * message.items.length;
    case "hand_signature":
      return findKeySpec(message.key.spec)?.operationUs ?? MESSAGE_US;
    case "bls_aggregate":
      return MESSAGE_US + BLS_POINT_US * message.signatures.length;
    case "bls_verify":
      return BLS_PROOF_US + BLS_POINT_US * message.public_keys.length + BLS_MESSAGE_US * message.messages.length;
    case "bls_fast_verify":
      return BLS_PROOF_US + BLS_POINT_US * message.public_keys.length;
    case "bls_verify_possession":
      return BLS_PROOF_US;
    default:
      return MESSAGE_US;
  }
}

/** Returns for whom a request is: who is said to ask, else the owner of its vault, or who asks where there is none. */
function ownerOf({ task, message }: VaultRequest): string {
  if (message === null || SERVER_TASKS.has(task)) return SERVER;
  if ("asker" in message && message.asker !== undefined) return message.asker;
  if ("vault" in message) return message.vault.owner;
  return "owner" in message ? message.owner : SERVER;
}
