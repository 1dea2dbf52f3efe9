/**
 * The memory that large work may take at the same time. Work says before it begins how much it will take, and waits
 * until that much is free; work that takes more than there ever is is refused. Memory of this process and of those that
 * it starts; another process of the service has its own.
 */
import { AppError } from "../errors.js";

export interface MemoryBudgetOptions {
  /** All memory that may be taken at the same time. */
  readonly bytes: number;
  /** How long the first that waits is patient with new uses of what is kept. 2 s unless given. */
  readonly patienceMs?: number;
}

/** Memory that was taken. */
export interface MemoryShare {
  readonly bytes: number;
  /** Gives back what is more than `bytes`, when less is taken than was said. */
  shrink(bytes: number): void;
  /** Gives all of it back; later calls do nothing. */
  release(): void;
}

interface Waiting {
  readonly sinceMs: number;
  readonly bytes: number;
  readonly begin: () => void;
}

/**
 * What takes at most this share of the whole may begin before larger work that waits: a proof of a small circuit need
 * not wait for a setup's turn.
 */
const SMALL_SHARE = 1 / 32;
const PATIENCE_MS = 2_000;
const GIB = 1024 ** 3;

export class MemoryBudget {
  readonly bytes: number;
  readonly #waiting: Waiting[] = [];
  readonly #reclaimers: ((bytes: number) => void)[] = [];
  readonly #patienceMs: number;
  /** Called once when work begins or leaves the line. */
  #watchers = new Set<() => void>();
  #taken = 0;

  constructor({ bytes, patienceMs = PATIENCE_MS }: MemoryBudgetOptions) {
    this.bytes = bytes;
    this.#patienceMs = patienceMs;
  }

  /** Bytes that the first in the line lacks, once its patience has ended; otherwise 0. */
  get wanting(): number {
    const [first] = this.#waiting;
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
   * @param what begins the message, such as `the setup of this circuit`
   * @throws AppError `insufficient_memory`
   */
  require(bytes: number, what: string): void {
    if (bytes <= this.bytes) return;
    throw new AppError("insufficient_memory", {
      message: `${what} takes ${inGib(bytes)} GiB of memory, and the server has ${inGib(this.bytes)} GiB for it (PROOFWRIGHT_MEMORY_MB)`,
    });
  }

  /**
   * Takes memory, as soon as it is free: in the order of the calls, but for small ones.
   * @param what as in `require`
   * @throws AppError `insufficient_memory` when there is never as much; the signal's reason when it fires first
   */
  async take(bytes: number, what: string, signal?: AbortSignal): Promise<MemoryShare> {
    this.require(bytes, what);
    signal?.throwIfAborted();
    if ((this.#waiting.length === 0 || bytes <= this.bytes * SMALL_SHARE) && this.#fits(bytes))
      return this.#share(bytes);
    return await new Promise<MemoryShare>((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(entry), 1);
        reject(signal?.reason as Error);
        this.#announce();
        this.#beginWaiting();
      };
      const entry: Waiting = {
        sinceMs: performance.now(),
        bytes,
        begin: () => {
          signal?.removeEventListener("abort", onAbort);
          resolve(this.#share(bytes));
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(entry);
    });
  }

  /** Takes memory for the work, and gives it back at its end; otherwise as `take`. */
  async run<Value>(
    {
      bytes,
      what,
      signal,
    }: { readonly bytes: number; readonly what: string; readonly signal?: AbortSignal | undefined },
    work: () => Promise<Value>,
  ): Promise<Value> {
    const share = await this.take(bytes, what, signal);
    try {
      return await work();
    } finally {
      share.release();
    }
  }

  #fits(bytes: number): boolean {
    const wanting = this.#taken + bytes - this.bytes;
    if (wanting > 0) for (const reclaim of this.#reclaimers) reclaim(wanting);
    return this.#taken + bytes <= this.bytes;
  }

  #share(bytes: number): MemoryShare {
    this.#taken += bytes;
    let held = bytes;
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
      release: () => {
        giveBack(0);
      },
    };
  }

  #beginWaiting(): void {
    for (;;) {
      const [first] = this.#waiting;
      if (first === undefined || !this.#fits(first.bytes)) return;
      // A share that was given back on the way may have begun it already.
      if (this.#waiting[0] !== first) continue;
      this.#waiting.shift();
      first.begin();
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
