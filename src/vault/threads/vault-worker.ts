/**
 * One vault thread and what waits for it. Quick requests that come up together travel to the thread as one message and
 * back as one: waking a thread costs more than most of them.
 */
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import { workerPath } from "../../platform/files/package-root.js";
import { ThreadPool } from "../../platform/pool/thread-pool.js";
import { dealOut, joinRequests, partedAfter, type JointRequest } from "./joint-requests.js";
import { findKeySpec } from "../key-specs/table.js";
import type { VaultRequest, VaultTaskResult } from "../protocol.js";

export interface VaultLaneOptions {
  readonly name: string;
  /** Requests that may wait; one more is refused with 503. */
  readonly queueLengthMax: number;
  readonly niceness: number;
}

interface Waiting {
  readonly request: VaultRequest;
  readonly resolve: (result: VaultTaskResult<unknown>) => void;
  readonly reject: (error: unknown) => void;
}

/** Messages handed to the thread ahead of time, so that it need not wait for a round trip between two of them. */
const MESSAGES_IN_THREAD = 16;
/** Work of one message: its first answer waits for the last. */
const MESSAGE_US = 1_000;

export class VaultThreadLane {
  readonly #pool: ThreadPool;
  readonly #options: VaultLaneOptions;
  readonly #log: Log;
  #outbox: Waiting[] = [];
  /** Work in the outbox, in microseconds. */
  #outboxUs = 0;
  #pending = 0;

  constructor(options: VaultLaneOptions, dependencies: { log: Log }) {
    this.#options = options;
    this.#log = dependencies.log;
    this.#pool = new ThreadPool(
      {
        name: options.name,
        entry: workerPath("vault.worker"),
        threads: 1,
        tasksPerThread: MESSAGES_IN_THREAD,
        queueLengthMax: options.queueLengthMax,
        niceness: options.niceness,
      },
      dependencies,
    );
  }

  /** Requests that were taken and not answered. */
  get pending(): number {
    return this.#pending;
  }

  /** Whether a message is about to leave that has room for the request. */
  takesAlong(request: VaultRequest): boolean {
    return this.#outbox.length > 0 && this.#outboxUs + costOf(request) <= MESSAGE_US;
  }

  /** Rejects with `overloaded` when too many wait, and as the pool does. */
  run(request: VaultRequest): Promise<VaultTaskResult<unknown>> {
    return new Promise((resolve, reject) => {
      if (this.#pending >= this.#options.queueLengthMax + MESSAGES_IN_THREAD) {
        throw new AppError("overloaded", {
          message: `${this.#options.name}: the queue is full, try again later`,
          retryAfterSec: this.#pool.retryAfterSec(),
        });
      }
      this.#pending += 1;
      this.#outbox.push({ request, resolve, reject });
      this.#outboxUs += costOf(request);
      if (this.#outbox.length === 1) this.#scheduleFlush();
    });
  }

  async stop(): Promise<void> {
    await this.#pool.stop();
  }

  /** Once all promises that are ready have run: requests that came with one read of the network travel together. */
  #scheduleFlush(): void {
    setImmediate(() => {
      const outbox = this.#outbox;
      this.#outbox = [];
      this.#outboxUs = 0;
      for (const group of groupsOf(joinRequests(outbox))) void this.#send(group);
    });
  }

  /** Never rejects. */
  async #send(group: readonly JointRequest<Waiting>[]): Promise<void> {
    try {
      const results = await this.#pool.run<VaultTaskResult<unknown>[]>(group.map(({ request }) => request));
      for (const [index, joint] of group.entries()) {
        const parted = partedAfter(joint, results[index]);
        if (parted === undefined) settle(joint.waiting, dealOut(joint, results[index]));
        else this.#sendAgain(parted, results[index]);
      }
      // The pool's books may hold the array until the next full collection, but need not hold the answers.
      results.length = 0;
    } catch (error) {
      for (const { waiting } of group) for (const { reject } of waiting) reject(error);
    } finally {
      for (const { waiting } of group) this.#pending -= waiting.length;
    }
  }

  /** Each alone; told here, because the fault may be one of their being together. */
  #sendAgain(parted: readonly JointRequest<Waiting>[], result: VaultTaskResult<unknown> | undefined): void {
    const stack = result?.ok === false ? result.frames : undefined;
    this.#log.error("joined vault operations failed unexpectedly and are run one by one", {
      count: parted.length,
      ...(stack === undefined ? {} : { stack }),
    });
    this.#pending += parted.length;
    void this.#send(parted);
  }
}

function settle(waiting: readonly Waiting[], results: readonly (VaultTaskResult<unknown> | undefined)[]): void {
  for (let index = 0; index < waiting.length; index += 1) {
    const result = results[index];
    if (result === undefined)
      waiting[index]?.reject(new Error("invariant broken: each request of a message has a result"));
    else waiting[index]?.resolve(result);
  }
}

/** Consecutive requests that are quick together; one that is not goes alone. */
function groupsOf(requests: readonly JointRequest<Waiting>[]): JointRequest<Waiting>[][] {
  const groups: JointRequest<Waiting>[][] = [];
  let roomUs = 0;
  for (const one of requests) {
    const costUs = costOf(one.request);
    const last = groups.at(-1);
    if (last === undefined || costUs > roomUs) {
      groups.push([one]);
      roomUs = MESSAGE_US - costUs;
    } else {
      last.push(one);
      roomUs -= costUs;
    }
  }
  return groups;
}

/** Microseconds; anything but an operation with a key may take its time. */
function costOf(request: VaultRequest): number {
  if (request.task !== "operate") return MESSAGE_US;
  return (findKeySpec(request.message.key.spec)?.operationUs ?? MESSAGE_US) * request.message.items.length;
}
