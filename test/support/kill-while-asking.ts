/** Kill -9 of a server at a random moment while it answers one request after the other. */
import { ApiError } from "../../src/sdk/errors.js";
import type { SeededRandom } from "./seeded.js";
import type { TestServer } from "./server.js";

export interface KillMoment {
  readonly random: SeededRandom;
  /** About what the server needs for all requests. */
  readonly withinMs: number;
  /**
   * Whether the time counts from the first answer, so that a slow machine has answered something, and not from the
   * first request, while the server may be opening what it needs.
   */
  readonly afterFirstAnswer: boolean;
}

/**
 * Asks in turn until the server is gone, and returns then.
 * @throws {ApiError} a refusal, as the running server gave it; a connection that breaks is the kill
 */
export async function askUntilKilled<T>(
  server: TestServer,
  requests: Iterable<T>,
  ask: (request: T) => Promise<void>,
  { random, withinMs, afterFirstAnswer }: KillMoment,
): Promise<void> {
  let begin: () => void = () => undefined;
  const killed = new Promise<void>((resolve) => {
    begin = () => setTimeout(resolve, random.below(withinMs));
    if (!afterFirstAnswer) begin();
  }).then(async () => await server.end("SIGKILL"));
  let answers = 0;
  try {
    for (const request of requests) {
      await ask(request);
      answers += 1;
      if (afterFirstAnswer && answers === 1) begin();
    }
  } catch (error) {
    if (error instanceof ApiError) throw error;
  }
  // A connection that breaks before the first answer is no kill of ours.
  if (afterFirstAnswer && answers === 0) throw new Error(`the server left before it answered: ${server.output()}`);
  await killed;
}
