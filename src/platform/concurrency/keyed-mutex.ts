/**
 * Turns by key: work on the same key runs one after the other, in order of arrival. Spares commits of one process that
 * would only collide and be repeated; what must hold across processes is still the store's checks.
 */
import { AppError } from "../errors.js";

interface Line {
  tail: Promise<unknown>;
  waiting: number;
}

export class Turns {
  readonly #waitingMax: number;
  readonly #lines = new Map<string, Line>();

  /** @param options.waitingMax how many may stand in one line; one more gets `too_many_requests` */
  constructor(options: { readonly waitingMax: number }) {
    this.#waitingMax = options.waitingMax;
  }

  /**
   * Runs the work when everything that came before it with the same key has settled.
   * @param options.evenWhenFull for work that ends what was begun in an earlier turn, and so is bounded by it
   */
  async run<T>(key: string, work: () => Promise<T>, options: { readonly evenWhenFull?: boolean } = {}): Promise<T> {
    const line = this.#lines.get(key) ?? { tail: Promise.resolve(), waiting: 0 };
    if (line.waiting >= this.#waitingMax && options.evenWhenFull !== true)
      throw new AppError("too_many_requests", { message: "too many requests at once", retryAfterSec: 1 });
    line.waiting += 1;
    this.#lines.set(key, line);
    const result = line.tail.then(work);
    // The next in line must run whether this one fails or not; its caller gets the failure from `result`.
    line.tail = result.catch(() => undefined);
    try {
      return await result;
    } finally {
      line.waiting -= 1;
      if (line.waiting === 0) this.#lines.delete(key);
    }
  }
}
