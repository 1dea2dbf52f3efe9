/** Requests that are sent again when the connection or the server fails, with longer and longer pauses. */

/** The server answered with an error of its own, which trying again does not change. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Three minutes in all: longer than a server's restart, or a train's tunnel. */
const ATTEMPTS = 9;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Repeats work until it succeeds. What it has done stays its own affair: the next attempt may go on from there.
 * @param work throws `Refusal` for what is final, and anything else for what may pass
 * @param onPause told how long the pause before the next attempt is
 */
export async function retried<T>(work: () => Promise<T>, onPause: (seconds: number) => void): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Refusal) throw error;
      if (attempt === ATTEMPTS)
        throw new Error("the server cannot be reached: go on here when it can", { cause: error });
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
      onPause(pauseMs / 1000);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}
