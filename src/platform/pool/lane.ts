/**
 * The places of one kind of work, and the queue before them. Bounded, by turns of the owners (fair-queue.ts), and
 * measured: from the time that work takes follows when a refused caller may come again.
 */
import { AsyncResource } from "node:async_hooks";
import { FairQueue } from "../concurrency/fair-queue.js";
import { GiveWay } from "../concurrency/give-way.js";
import { AppError } from "../errors.js";
import { isTraced, traced, type Step } from "../tracing/steps.js";

export interface LaneOptions {
  /** What waits, for messages and metrics, such as `prove`. */
  readonly name: string;
  /** Tasks that run at a time. */
  readonly places: number;
  /** Tasks that may wait; one more is refused with 503. */
  readonly queueLengthMax: number;
  /**
   * How long an owner may keep more than its share of the places while another waits; then its youngest task that may
   * give way is ended. Without it no task is ended.
   */
  readonly giveWayMs?: number;
}

export interface LaneTask {
  /** Whose turn it takes, such as `user:<uuid>`; the server's own work by default. */
  readonly owner?: string;
  /** Its abort takes the task out of the queue. */
  readonly signal?: AbortSignal;
  /** Asks the running task to end because another owner waits; without it the task never gives way. */
  readonly giveWay?: () => void;
}

/** What a lane did since the start of the server, and what it does now. */
export interface LaneFigures {
  readonly waiting: number;
  readonly running: number;
  /** Tasks that began. */
  readonly started: number;
  /** Tasks that were refused or displaced because the queue was full. */
  readonly refused: number;
  /** Time that the begun tasks waited, summed up. */
  readonly waitSeconds: number;
}

type OwnedTask = LaneTask & { readonly owner: string };

interface Waiting {
  readonly begin: () => void;
  readonly refuse: (error: AppError) => void;
}

interface Running {
  readonly owner: string;
  readonly startedMs: number;
  readonly giveWay: (() => void) | undefined;
}

/** The owner of the server's own work, such as the warming up of threads. */
const SERVER = "";
/** Weight of a new duration in the moving average for Retry-After: about the last ten tasks count. */
const EWMA_SHARE = 0.2;
/** No caller of the server waits longer for a single answer: by then, what is ahead now is done or given up. */
export const RETRY_AFTER_MAX_SEC = 120;

export class Lane {
  readonly #options: LaneOptions;
  readonly #queue: FairQueue<Waiting>;
  /** An array: a set that lives long would keep what passed through it until the next full collection. */
  readonly #running: Running[] = [];
  readonly #giveWay: GiveWay | undefined;
  /** Undefined until the first task has ended. */
  #averageMs: number | undefined;
  #started = 0;
  #refused = 0;
  #waitMs = 0;
  #stopped: AppError | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#queue = new FairQueue({ lengthMax: options.queueLengthMax });
    const { giveWayMs } = options;
    if (giveWayMs !== undefined)
      this.#giveWay = new GiveWay(this.#queue, { afterMs: giveWayMs, end: (owner) => this.#endYoungest(owner) });
  }

  /** Tasks that wait for a place. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** The figures for metrics. */
  get figures(): LaneFigures {
    return {
      waiting: this.#queue.length,
      running: this.#running.length,
      started: this.#started,
      refused: this.#refused,
      waitSeconds: this.#waitMs / 1000,
    };
  }

  /** Returns the seconds, 1 to 120, that the work takes which runs or waits before a new task of the owner. */
  retryAfterSec(owner: string = SERVER): number {
    const tasks = this.#queue.aheadOf(owner) + this.#running.length;
    const seconds = (tasks * this.#expectedMs()) / this.#options.places / 1000;
    return Math.min(RETRY_AFTER_MAX_SEC, Math.max(1, Math.ceil(seconds)));
  }

  /**
   * Runs the work as soon as there is a place and it is the owner's turn.
   * @throws overloaded when the queue is full, or when the task was displaced by an owner with less waiting work
   * @throws the signal's reason when the task was aborted before it began
   */
  async run<Value>(task: LaneTask, work: () => Promise<Value>): Promise<Value> {
    const owner = task.owner ?? SERVER;
    task.signal?.throwIfAborted();
    if (this.#stopped !== undefined) throw this.#stopped;
    if (this.#running.length >= this.#options.places) return await this.#tracedTurn({ ...task, owner }, work);
    this.#queue.enter(owner);
    return await this.#perform({ ...task, owner }, work);
  }

  /** Refuses all tasks from now on, those that wait included, with this error. */
  stop(error: AppError): void {
    this.#stopped = error;
    for (let next = this.#queue.take(); next !== undefined; next = this.#queue.take()) {
      this.#queue.release(next.owner);
      next.item.refuse(error);
    }
    this.#giveWay?.stop();
  }

  /** Runs work whose place is taken, at once: a thread that has just become free waits for nothing else. */
  async #perform<Value>({ owner, giveWay }: OwnedTask, work: () => Promise<Value>): Promise<Value> {
    const running: Running = { owner, startedMs: performance.now(), giveWay };
    this.#running.push(running);
    this.#started += 1;
    try {
      return await (isTraced() ? traced(this.#step(`${this.#options.name} task`), work) : work());
    } finally {
      this.#running.splice(this.#running.indexOf(running), 1);
      this.#measure(performance.now() - running.startedMs);
      this.#queue.release(owner);
      this.#beginNext();
    }
  }

  /** Shows the wait as a step of its own, beside the task and not around it. */
  async #tracedTurn<Value>(task: OwnedTask, work: () => Promise<Value>): Promise<Value> {
    if (!isTraced()) return await this.#turn(task, work);
    let begun = (): void => undefined;
    const began = new Promise<void>((resolve) => (begun = resolve));
    const done = this.#turn(task, async () => {
      begun();
      return await work();
    });
    await traced(this.#step(`${this.#options.name} queue`), async () => {
      // A task that is refused or leaves the queue never begins.
      await Promise.race([began, done.then(() => undefined)]);
    });
    return await done;
  }

  #step(name: string): Step {
    return { name, kind: "internal", attributes: () => ({ "proofwright.lane": this.#options.name }) };
  }

  #turn<Value>(task: OwnedTask, work: () => Promise<Value>): Promise<Value> {
    const { owner, signal } = task;
    const askedMs = performance.now();
    return new Promise((resolve, reject) => {
      const settle = (): void => signal?.removeEventListener("abort", leave);
      const begin = (): void => {
        settle();
        this.#waitMs += performance.now() - askedMs;
        resolve(this.#perform(task, work));
      };
      const { place, displaced } = this.#queue.add(owner, {
        // Called at the end of another task, of whose trace this one is no part.
        begin: isTraced() ? AsyncResource.bind(begin) : begin,
        refuse: (error) => {
          settle();
          reject(error);
        },
      });
      const leave = (): void => {
        if (place === undefined || !this.#queue.remove(place)) return;
        this.#giveWay?.check();
        reject(signal?.reason as Error);
      };
      if (place === undefined) {
        reject(this.#full(owner));
        return;
      }
      signal?.addEventListener("abort", leave, { once: true });
      displaced?.item.refuse(this.#full(displaced.owner));
      this.#giveWay?.check();
    });
  }

  #beginNext(): void {
    while (this.#running.length < this.#options.places) {
      const next = this.#queue.take();
      if (next === undefined) break;
      next.item.begin();
    }
    this.#giveWay?.check();
  }

  #full(owner: string): AppError {
    this.#refused += 1;
    const retryAfterSec = this.retryAfterSec(owner);
    return new AppError("overloaded", {
      message: `${this.#options.name}: the queue is full, try again in ${String(retryAfterSec)} s`,
      retryAfterSec,
    });
  }

  #measure(ms: number): void {
    this.#averageMs = this.#averageMs === undefined ? ms : this.#averageMs + EWMA_SHARE * (ms - this.#averageMs);
  }

  /** What a task takes: the average so far, or what the running ones have taken already where that is more. */
  #expectedMs(): number {
    const nowMs = performance.now();
    let elapsedMs = 0;
    for (const { startedMs } of this.#running) elapsedMs += nowMs - startedMs;
    return Math.max(this.#averageMs ?? 0, elapsedMs / Math.max(1, this.#running.length));
  }

  #endYoungest(owner: string): void {
    const youngest = this.#running.findLast((task) => task.owner === owner && task.giveWay !== undefined);
    youngest?.giveWay?.();
  }
}

/** Adds up the figures of two lanes that do the same work. */
export function sumOfFigures(one: LaneFigures, other: LaneFigures): LaneFigures {
  return {
    waiting: one.waiting + other.waiting,
    running: one.running + other.running,
    started: one.started + other.started,
    refused: one.refused + other.refused,
    waitSeconds: one.waitSeconds + other.waitSeconds,
  };
}
