/** Requests with an Idempotency-Key over kills of the server that answers them, all sent again to the next one. */
import { expect } from "vitest";
import { askUntilKilled } from "./kill-while-asking.js";
import type { SeededRandom } from "./seeded.js";
import type { TestServer } from "./server.js";

export interface Asked<Kind extends string> {
  readonly kind: Kind;
  readonly index: number;
  /** What the first answer named; undefined when the kill cut it off. */
  id: string | undefined;
}

export interface Kills<Kind extends string> {
  readonly kinds: readonly Kind[];
  readonly rounds: number;
  readonly requestsPerRound: number;
  /** About what a server needs for all requests of a round. */
  readonly withinMs: number;
  readonly random: SeededRandom;
  /** Starts a server, and after each kill the next one on the same folder. */
  readonly start: () => Promise<TestServer>;
}

/**
 * Asks a server, kills it at a random moment, starts the next one, and sends it everything again that was ever asked.
 * Expects that each answer names what the first one did, if that was not cut off.
 * @param send sends a request, the same each time, and returns what its answer names
 * @returns everything that was asked, with what it made
 */
export async function repeatOverKills<Kind extends string>(
  { kinds, rounds, requestsPerRound, withinMs, random, start }: Kills<Kind>,
  send: (server: TestServer, asked: Asked<Kind>) => Promise<string>,
): Promise<Asked<Kind>[]> {
  const all: Asked<Kind>[] = [];
  let server = await start();
  for (let round = 0; round < rounds; round += 1) {
    const running = server;
    const asked = function* (): Generator<Asked<Kind>> {
      for (let count = 0; count < requestsPerRound; count += 1) {
        const one: Asked<Kind> = { kind: random.pick(kinds), index: all.length, id: undefined };
        all.push(one);
        yield one;
      }
    };
    const ask = async (one: Asked<Kind>): Promise<void> => {
      one.id = await send(running, one);
    };
    await askUntilKilled(server, asked(), ask, { random, withinMs, afterFirstAnswer: round % 2 === 0 });
    server = await start();
    for (const one of all) {
      const again = await send(server, one);
      expect(again, `seed ${String(random.seed)}, ${one.kind} ${String(one.index)}`).toBe(one.id ?? again);
      one.id = again;
    }
  }
  return all;
}
