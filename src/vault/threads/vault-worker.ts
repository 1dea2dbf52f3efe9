/**
 * One vault worker: its thread and the requests that wait for it. Quick requests of one turn of the event loop travel
 * to the thread as one message and back as one, because waking a thread takes longer than most of them.
 */
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import { workerPath } from "../../platform/files/package-root.js";
import type { LaneFigures } from "../../platform/pool/lane.js";
import { ThreadPool } from "../../platform/pool/thread-pool.js";
import { splitResult, joinRequests, separateAfterFault, type JointRequest } from "./joint-requests.js";
import { costOf, MESSAGE_US, RequestQueue, type QueuedRequest, type TurnOf } from "./request-queue.js";
import type { VaultRequest, VaultTaskResult } from "../protocol.js";

export interface VaultWorkerOptions {
  readonly name: string;
  /** Requests that may wait; one more is rejected with `overloaded` (503). */
  readonly queueLengthMax: number;
  readonly niceness: number;
  /**
   * Messages given to the thread ahead of time. 16 unless given; fewer where a message takes long, because what the
   * thread has got, another owner's request waits for.
   */
  readonly messagesMax?: number;
  /** See RequestQueueOptions.turnOf. */
  readonly turnOf?: TurnOf | undefined;
}

/** So many that the thread does not wait for a round trip between two of them. */
const MESSAGES_IN_THREAD = 16;
/**
 * A busy thread gets more when this share of its messages has been answered: requests that wait together can be joined,
 * and joint ones cost less.
 */
const ROOM_SHARE = 0.25;

/** Work that the thread is given ahead of time at most; the message that passes it is the last. */
const AHEAD_US = 40_000;

export class VaultWorker {
  readonly #pool: ThreadPool;
  readonly #messagesMax: number;
  readonly #queue: RequestQueue;
  readonly #log: Log;
  #messages = 0;
  /** Work that the thread has got and not answered, in microseconds. */
  #sentUs = 0;
  #isFlushScheduled = false;
  #isStopped = false;

  constructor(options: VaultWorkerOptions, dependencies: { log: Log }) {
    this.#messagesMax = options.messagesMax ?? MESSAGES_IN_THREAD;
    this.#queue = new RequestQueue({
      name: options.name,
      lengthMax: options.queueLengthMax,
      turnOf: options.turnOf,
    });
    this.#log = dependencies.log;
    this.#pool = new ThreadPool(
      {
        name: options.name,
        entry: workerPath("vault.worker"),
        threads: 1,
        tasksPerThread: MESSAGES_IN_THREAD,
        // The requests are counted before they become messages.
        queueLengthMax: Infinity,
        niceness: options.niceness,
      },
      dependencies,
    );
  }

  /** Requests that were accepted and are not answered yet. */
  get pending(): number {
    return this.#queue.pending;
  }

  /** What waits and runs, for metrics. */
  get figures(): LaneFigures {
    return this.#queue.figures;
  }

  /** Whether a message is about to leave that has room for the request. */
  hasRoomFor(request: VaultRequest): boolean {
    return this.#queue.length > 0 && this.#queue.waitingUs + costOf(request) <= MESSAGE_US;
  }

  /** Runs a request. Rejects with `overloaded` when too many wait, and when the thread ends before it answers. */
  run(request: VaultRequest): Promise<VaultTaskResult<unknown>> {
    return new Promise((resolve, reject) => {
      if (this.#isStopped) throw stopped();
      this.#queue.add({ request, resolve, reject });
      this.#scheduleFlush();
    });
  }

  /** Ends the thread with everything in its memory. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#queue.refuseAll(stopped());
    await this.#pool.stop();
  }

  /** Sends after all ready promises have run, so that requests of one read from the network travel together. */
  #scheduleFlush(): void {
    if (this.#isFlushScheduled || this.#queue.length === 0) return;
    const room = this.#messagesMax - this.#messages;
    if (room < Math.max(1, Math.floor(this.#messagesMax * ROOM_SHARE)) || this.#sentUs >= AHEAD_US) return;
    this.#isFlushScheduled = true;
    setImmediate(() => {
      this.#isFlushScheduled = false;
      const requests = this.#queue.take((this.#messagesMax - this.#messages) * MESSAGE_US);
      for (const group of groupsOf(joinRequests(requests))) void this.#send(group);
    });
  }

  /** Never rejects. */
  async #send(group: readonly JointRequest<QueuedRequest>[]): Promise<void> {
    const sentMs = performance.now();
    const answered: QueuedRequest[] = [];
    let done = 0;
    const workUs = group.reduce((sum, { request }) => sum + costOf(request), 0);
    this.#messages += 1;
    this.#sentUs += workUs;
    try {
      const results = await this.#pool.run<VaultTaskResult<unknown>[]>(group.map(({ request }) => request));
      for (const [index, joint] of group.entries()) {
        const separated = separateAfterFault(joint, results[index]);
        if (separated === undefined) {
          settle(joint.waiting, splitResult(joint, results[index]));
          answered.push(...joint.waiting);
        } else this.#sendAgain(separated, results[index]);
        done = index + 1;
      }
      // The pool may keep the array until the next full garbage collection; emptied, it does not keep the answers.
      results.length = 0;
    } catch (error) {
      // Those before have their answers, or were sent again.
      for (const { waiting } of group.slice(done)) {
        answered.push(...waiting);
        for (const { reject } of waiting) reject(error);
      }
    } finally {
      this.#messages -= 1;
      this.#sentUs -= workUs;
      this.#queue.ended(answered, sentMs);
      this.#scheduleFlush();
    }
  }

  /** Sends each alone. Logs the fault here, because it may occur only when they are joined. */
  #sendAgain(separated: readonly JointRequest<QueuedRequest>[], result: VaultTaskResult<unknown> | undefined): void {
    const stack = result?.ok === false ? result.frames : undefined;
    this.#log.error("joined vault operations failed unexpectedly and are run one by one", {
      count: separated.length,
      ...(stack === undefined ? {} : { stack }),
    });
    void this.#send(separated);
  }
}

function stopped(): AppError {
  return new AppError("shutting_down", { message: "the server is stopping", retryAfterSec: 5 });
}

function settle(waiting: readonly QueuedRequest[], results: readonly (VaultTaskResult<unknown> | undefined)[]): void {
  for (let index = 0; index < waiting.length; index += 1) {
    const result = results[index];
    if (result === undefined) waiting[index]?.reject(new Error("each request of a message has a result"));
    else waiting[index]?.resolve(result);
  }
}

/** Groups consecutive requests that together fit into one message; a long one goes alone. */
function groupsOf(requests: readonly JointRequest<QueuedRequest>[]): JointRequest<QueuedRequest>[][] {
  const groups: JointRequest<QueuedRequest>[][] = [];
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
