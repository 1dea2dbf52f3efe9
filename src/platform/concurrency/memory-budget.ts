/**
 * The memory that large work may take at the same time. Work says before it begins how much it will take, and waits
 * until that much is free; work that takes more than there ever is is refused. Owners take turns (fair-queue.ts); while
 * the work whose turn it is waits for much memory, other work that fits passes it for a while. Memory of this process
 * and of those that it starts; another process of the service has its own.
 */
import { AppError, assert } from "../errors.js";
import { FairQueue, type Place } from "./fair-queue.js";

export interface MemoryBudgetOptions {
  /** All memory that may be taken at the same time. */
  readonly bytes: number;
  /** How long the first that waits is patient with new uses of what is kept. 2 s unless given. */
  readonly patienceMs?: number;
  /** How long other work may pass the first that waits. 30 s unless given. */
  readonly passMs?: number;
}

/** What work will take. */
export interface MemoryRequest {
  readonly bytes: number;
  /** Begins the message of a refusal, such as `the setup of this circuit`. */
  readonly what: string;
  /** Whose turn it takes, such as `user:<uuid>`; work without an owner is one owner's. */
  readonly owner?: string | undefined;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

/** Memory that was taken. */
export interface MemoryShare {
  readonly bytes: number;
  /** Gives back what is more than `bytes`, when less is taken than was said. */
  shrink(bytes: number): void;
  /** Ends the owner's turn: the work is done, and the memory only kept, for whoever uses it next. */
  endTurn(): void;
  /** Gives all of it back; later calls do nothing. */
  release(): void;
}

interface Waiting {
  readonly sinceMs: number;
  readonly bytes: number;
  readonly begin: () => void;
}

/** The work whose turn it is, while it waits for its memory. */
interface First {
  readonly place: Place<Waiting>;
  readonly sinceMs: number;
}

/**
 * What takes at most this share of the whole may always begin before larger work that waits: a proof of a small circuit
 * need not wait for a setup's turn.
 */
const SMALL_SHARE = 1 / 32;
const PATIENCE_MS = 2_000;
/**
 * Opening a key of 2^20 constraints and proving with it takes less. Who is passed waits that much longer at most, and
 * for the work that has passed by then.
 */
const PASS_MS = 30_000;
const GIB = 1024 ** 3;

export class MemoryBudget {
  readonly bytes: number;
  readonly #waiting = new FairQueue<Waiting>();
  readonly #reclaimers: ((bytes: number) => void)[] = [];
  readonly #patienceMs: number;
  readonly #passMs: number;
  /** Out of the queue, and before all that is in it. */
  #first: First | undefined;
  /** What is given back for the first must not go to others on the way. */
  #isReclaiming = false;
  /** Called once when work begins or leaves the line. */
  #watchers = new Set<() => void>();
  #taken = 0;

  constructor({ bytes, patienceMs = PATIENCE_MS, passMs = PASS_MS }: MemoryBudgetOptions) {
    this.bytes = bytes;
    this.#patienceMs = patienceMs;
    this.#passMs = passMs;
  }

  /** Bytes that the first in the line lacks, once its patience has ended; otherwise 0. */
  get wanting(): number {
    const first = this.#first?.place.item;
    if (first === undefined || performance.now() - first.sinceMs < this.#patienceMs) return 0;
    return Math.max(0, this.#taken + first.bytes - this.bytes);
  }

  /**
   * Waits until work of the line has begun or left it.
   * @throws the signal's reason when it fires first
   */
  async untilNext(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        this.#watchers.delete(watcher);
        reject(signal.reason as Error);
      };
      const watcher = (): void => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      this.#watchers.add(watcher);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Bytes taken now. */
  get taken(): number {
    return this.#taken;
  }

  /**
   * Adds a way to free memory that is only kept for later. It is called with the bytes that are wanting, and gives
   * shares back at once.
   */
  onWant(reclaim: (bytes: number) => void): void {
    this.#reclaimers.push(reclaim);
  }

  /** Lets work that waits try again, after something became free to be reclaimed. */
  wake(): void {
    this.#beginWaiting();
  }

  /**
   * Requires that the work can ever begin.
   * @param what as in `MemoryRequest`
   * @throws AppError `insufficient_memory`
   */
  require(bytes: number, what: string): void {
    if (bytes <= this.bytes) return;
    throw new AppError("insufficient_memory", {
      message: `${what} takes ${inGib(bytes)} GiB of memory, and the server has ${inGib(this.bytes)} GiB for it (PROOFWRIGHT_MEMORY_MB)`,
    });
  }

  /**
   * Takes memory, as soon as it is free and its owner's turn has come.
   * @throws AppError `insufficient_memory` when there is never as much; the signal's reason when it fires first
   */
  async take({ bytes, what, owner = "", signal }: MemoryRequest): Promise<MemoryShare> {
    this.require(bytes, what);
    signal?.throwIfAborted();
    // Also before what its owner has in the queue.
    if (this.#first !== undefined && this.#mayPass(bytes) && this.#fits(bytes)) {
      this.#waiting.enter(owner);
      return this.#share(owner, bytes);
    }
    return await new Promise<MemoryShare>((resolve, reject) => {
      const leave = (): void => {
        if (place !== undefined) this.#leave(place);
        reject(signal?.reason as Error);
        this.#announce();
        this.#beginWaiting();
      };
      const { place } = this.#waiting.add(owner, {
        sinceMs: performance.now(),
        bytes,
        begin: () => {
          signal?.removeEventListener("abort", leave);
          resolve(this.#share(owner, bytes));
        },
      });
      assert(place !== undefined, "the line of what waits for memory has no end");
      signal?.addEventListener("abort", leave, { once: true });
      this.#beginWaiting();
    });
  }

  /** Takes memory for the work, and gives it back at its end; otherwise as `take`. */
  async run<Value>(request: MemoryRequest, work: () => Promise<Value>): Promise<Value> {
    const share = await this.take(request);
    try {
      return await work();
    } finally {
      share.release();
    }
  }

  #fits(bytes: number): boolean {
    const wanting = this.#taken + bytes - this.bytes;
    if (wanting > 0) this.#reclaim(wanting);
    return this.#taken + bytes <= this.bytes;
  }

  #reclaim(bytes: number): void {
    const before = this.#isReclaiming;
    this.#isReclaiming = true;
    try {
      for (const reclaim of this.#reclaimers) reclaim(bytes);
    } finally {
      this.#isReclaiming = before;
    }
  }

  /** Whether work may begin before the first that waits. */
  #mayPass(bytes: number): boolean {
    return (
      this.#first === undefined ||
      bytes <= this.bytes * SMALL_SHARE ||
      performance.now() - this.#first.sinceMs < this.#passMs
    );
  }

  /** The owner's turn has begun with its place in the queue. */
  #share(owner: string, bytes: number): MemoryShare {
    this.#taken += bytes;
    let held = bytes;
    let hasTurn = true;
    const endTurn = (): void => {
      if (!hasTurn) return;
      hasTurn = false;
      this.#waiting.release(owner);
    };
    const giveBack = (left: number): void => {
      if (left >= held) return;
      this.#taken -= held - left;
      held = left;
      this.#beginWaiting();
    };
    return {
      get bytes() {
        return held;
      },
      shrink: giveBack,
      endTurn,
      release: () => {
        endTurn();
        giveBack(0);
      },
    };
  }

  #leave(place: Place<Waiting>): void {
    if (this.#first?.place !== place) {
      this.#waiting.remove(place);
      return;
    }
    this.#first = undefined;
    this.#waiting.release(place.owner);
  }

  #beginWaiting(): void {
    for (;;) {
      this.#first ??= this.#nextFirst();
      const first = this.#first;
      if (first === undefined) return;
      const fits = this.#fits(first.place.item.bytes);
      // A share that was given back on the way may have begun it already.
      if (this.#first !== first) continue;
      if (!fits) break;
      this.#first = undefined;
      first.place.item.begin();
      this.#announce();
    }
    this.#letPass();
  }

  #nextFirst(): First | undefined {
    const place = this.#waiting.take();
    return place === undefined ? undefined : { place, sinceMs: performance.now() };
  }

  /** Begins what fits beside all that is taken, while the first that waits does not. */
  #letPass(): void {
    if (this.#isReclaiming) return;
    for (;;) {
      const place = this.#waiting.take(({ bytes }) => this.#mayPass(bytes) && this.#taken + bytes <= this.bytes);
      if (place === undefined) return;
      place.item.begin();
      this.#announce();
    }
  }

  #announce(): void {
    const watchers = this.#watchers;
    this.#watchers = new Set();
    for (const watcher of watchers) watcher();
  }
}

function inGib(bytes: number): string {
  return (bytes / GIB).toFixed(1);
}
