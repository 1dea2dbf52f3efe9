/**
 * One vault worker: its thread and the requests that wait for it. Quick requests of one turn of the event loop travel
 * to the thread as one message and back as one, because waking a thread takes longer than most of them.
 */
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import { workerPath } from "../../platform/files/package-root.js";
import { ThreadPool } from "../../platform/pool/thread-pool.js";
import { splitResult, joinRequests, separateAfterFault, type JointRequest } from "./joint-requests.js";
import { findKeySpec } from "../key-specs/table.js";
import type { VaultRequest, VaultTaskResult } from "../protocol.js";

export interface VaultWorkerOptions {
  readonly name: string;
  /** Requests that may wait; one more is rejected with `overloaded` (503). */
  readonly queueLengthMax: number;
  readonly niceness: number;
}

interface Waiting {
  readonly request: VaultRequest;
  readonly resolve: (result: VaultTaskResult<unknown>) => void;
  readonly reject: (error: unknown) => void;
}

/** Messages given to the thread ahead of time, so that it does not wait for a round trip between two of them. */
const MESSAGES_IN_THREAD = 16;
/** Longest work of one message, whose first answer waits for the last. */
const MESSAGE_US = 1_000;

export class VaultWorker {
  readonly #pool: ThreadPool;
  readonly #options: VaultWorkerOptions;
  readonly #log: Log;
  #outbox: Waiting[] = [];
  /** Work in the outbox, in microseconds. */
  #outboxUs = 0;
  #pending = 0;

  constructor(options: VaultWorkerOptions, dependencies: { log: Log }) {
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

  /** Requests that were accepted and are not answered yet. */
  get pending(): number {
    return this.#pending;
  }

  /** Whether a message is about to leave that has room for the request. */
  hasRoomFor(request: VaultRequest): boolean {
    return this.#outbox.length > 0 && this.#outboxUs + costOf(request) <= MESSAGE_US;
  }

  /** Runs a request. Rejects with `overloaded` when too many wait, and when the thread ends before it answers. */
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

  /** Ends the thread with everything in its memory. */
  async stop(): Promise<void> {
    await this.#pool.stop();
  }

  /** Sends after all ready promises have run, so that requests of one read from the network travel together. */
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
        const separated = separateAfterFault(joint, results[index]);
        if (separated === undefined) settle(joint.waiting, splitResult(joint, results[index]));
        else this.#sendAgain(separated, results[index]);
      }
      // The pool may keep the array until the next full garbage collection; emptied, it does not keep the answers.
      results.length = 0;
    } catch (error) {
      for (const { waiting } of group) for (const { reject } of waiting) reject(error);
    } finally {
      for (const { waiting } of group) this.#pending -= waiting.length;
    }
  }

  /** Sends each alone. Logs the fault here, because it may occur only when they are joined. */
  #sendAgain(separated: readonly JointRequest<Waiting>[], result: VaultTaskResult<unknown> | undefined): void {
    const stack = result?.ok === false ? result.frames : undefined;
    this.#log.error("joined vault operations failed unexpectedly and are run one by one", {
      count: separated.length,
      ...(stack === undefined ? {} : { stack }),
    });
    this.#pending += separated.length;
    void this.#send(separated);
  }
}

function settle(waiting: readonly Waiting[], results: readonly (VaultTaskResult<unknown> | undefined)[]): void {
  for (let index = 0; index < waiting.length; index += 1) {
    const result = results[index];
    if (result === undefined) waiting[index]?.reject(new Error("each request of a message has a result"));
    else waiting[index]?.resolve(result);
  }
}

/** Groups consecutive requests that together fit into one message; a long one goes alone. */
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

/** Returns the work in microseconds; a task that is no operation of a key counts as a whole message. */
function costOf(request: VaultRequest): number {
  if (request.task !== "operate") return MESSAGE_US;
  return (findKeySpec(request.message.key.spec)?.operationUs ?? MESSAGE_US) * request.message.items.length;
}
