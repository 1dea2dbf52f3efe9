/**
 * What makes two requests wait for each other? Work under the same key of a `KeyedMutex` runs one after the other, in
 * order of arrival: logins and sign-ups of one address, refreshes of one session, and derivations of one HD wallet. It
 * spares commits of one process that would only collide and be repeated; the store's checks still ensure what must hold
 * across processes.
 *
 * Requests also wait in other places: for a password hash (auth/password-hash-limiter.ts), for a thread or a new RSA
 * key (pool/lane.ts), for a worker that handles vault keys (vault/threads), and for the one writer of the store
 * (store/write-queue.ts).
 */
import { AppError } from "../errors.js";
import { unlessAborted } from "./unless-aborted.js";

interface TurnOptions {
  readonly mayExceedLimit?: boolean;
  readonly signal?: AbortSignal;
}

interface Queue {
  tail: Promise<unknown>;
  length: number;
}

export class KeyedMutex {
  readonly #waitingMax: number;
  readonly #queues = new Map<string, Queue>();

  /** @param options.waitingMax tasks per key, the running one included; one more gets `too_many_requests` */
  constructor(options: { readonly waitingMax: number }) {
    this.#waitingMax = options.waitingMax;
  }

  /**
   * Runs a task after all earlier tasks of the same key have settled, whether they failed or not.
   * @param options.mayExceedLimit for a task that completes an earlier one of the same key, and is bounded by it
   * @param options.signal ends the wait: the task is then not run. A task that has begun heeds the signal by itself.
   * @returns the task's own result or failure
   * @throws too_many_requests when `waitingMax` tasks of the key are waiting or running; the signal's reason
   */
  async run<T>(key: string, task: () => Promise<T>, options: TurnOptions = {}): Promise<T> {
    const { signal } = options;
    signal?.throwIfAborted();
    const queue = this.#queues.get(key) ?? { tail: Promise.resolve(), length: 0 };
    if (queue.length >= this.#waitingMax && options.mayExceedLimit !== true)
      throw new AppError("too_many_requests", { message: "too many requests at once", retryAfterSec: 1 });
    queue.length += 1;
    this.#queues.set(key, queue);
    // Asked first, so that a signal of the task's own first moment comes too late to end the wait.
    const waiting = signal === undefined ? undefined : unlessAborted(queue.tail, signal);
    const result = queue.tail.then(async () => {
      signal?.throwIfAborted();
      return await task();
    });
    // The next task must run even if this one fails; the caller gets the failure from `result`.
    queue.tail = result.catch(() => undefined);
    try {
      if (waiting !== undefined) await waiting;
      return await result;
    } finally {
      queue.length -= 1;
      if (queue.length === 0) this.#queues.delete(key);
    }
  }
}
