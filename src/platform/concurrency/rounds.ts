/** Work that is done again and again while the server runs, such as ending what nobody ended. */

export class Rounds {
  readonly #everyMs: number;
  readonly #work: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;

  /** @param work safe to run twice at once: a round does not wait for the one before */
  constructor(everyMs: number, work: () => Promise<void>) {
    this.#everyMs = everyMs;
    this.#work = work;
  }

  /**
   * Does the work now, and then again in each interval; the process does not stay alive for it.
   * @throws what the first round throws; later ones fail in silence, and the next one tries again
   */
  async start(): Promise<void> {
    await this.#work();
    this.#timer = setInterval(() => {
      // The store may be closing.
      this.#work().catch(() => undefined);
    }, this.#everyMs).unref();
  }

  /** Begins no further round. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
