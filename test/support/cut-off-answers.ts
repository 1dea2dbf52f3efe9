/** Requests under an Idempotency-Key whose server ends before it stores the answer, and what a repeat gets. */
import { randomUUID } from "node:crypto";
import { vi } from "vitest";
import { systemClock } from "../../src/platform/clock.js";
import type { Once } from "../../src/platform/contract/once.js";
import type { AnyReply, RouteSpec } from "../../src/platform/contract/route.js";
import { runOnce, type IdempotencyStore } from "../../src/platform/http/limits/idempotency.js";
import { StoredIdempotency } from "../../src/platform/http/limits/idempotency-store.js";
import type { Store } from "../../src/platform/store/store.js";

export interface CutOff {
  /** What the handler answered, and nobody was told. */
  readonly reply: AnyReply;
  /** What a repeat gets from the next process: the kept answer, the words of a refusal, or that it would run again. */
  readonly repeat: AnyReply | string;
  /** The tables of records that each commit put which kept something, sorted, in the order of the commits. */
  readonly keeping: readonly (readonly string[])[];
}

export const RUNS_AGAIN = "runs again";

/** Runs a handler as the front does, up to where the answer would be stored, and repeats it in another process. */
export async function cutOff(
  store: Store,
  route: Pick<RouteSpec, "id" | "keepsOnce">,
  handler: (once: Once) => AnyReply | Promise<AnyReply>,
): Promise<CutOff> {
  const { id: routeId, keepsOnce = false } = route;
  const claim = { subject: "user:caller", routeId, key: randomUUID(), requestHash: "hash", keepsOnce };
  const stored = new StoredIdempotency({ store, clock: systemClock });
  const ending: IdempotencyStore = {
    claim: async (claimed) => await stored.claim(claimed),
    keeping: (claimed, kept) => stored.keeping(claimed, kept),
    begin: async (claimed) => {
      await stored.begin(claimed);
    },
    hasKept: (claimed) => stored.hasKept(claimed),
    settle: () => Promise.resolve(),
    release: async (claimed) => {
      await stored.release(claimed);
    },
    abandon: (claimed) => {
      stored.abandon(claimed);
    },
  };
  const commits = vi.spyOn(store, "commit");
  try {
    const reply = await runOnce(ending, claim, handler);
    const { calls, settledResults: ends } = commits.mock;
    const keeping = calls
      // The first is the claim; those that met a conflict kept nothing.
      .filter((_commit, index) => index > 0 && ends[index]?.type === "fulfilled")
      .map(([commit]) => (commit.puts ?? []).map(({ key }) => String(key[0])).filter((table) => !/[#!]/.test(table)))
      .filter((tables) => tables.includes("idempotency"))
      .map((tables) => tables.filter((table) => table !== "idempotency").sort());
    const next = new StoredIdempotency({ store, clock: systemClock });
    const repeat = await runOnce(next, claim, () => {
      throw new Error(RUNS_AGAIN);
    }).catch((error: unknown) => (error as Error).message);
    return { reply, repeat, keeping };
  } finally {
    commits.mockRestore();
  }
}

/** Returns a kept answer as a repeat gets it. */
export function replayed({ status, headers, body }: AnyReply): AnyReply {
  return {
    status,
    headers: { ...headers, "Idempotency-Replayed": "true" },
    body: JSON.parse(JSON.stringify(body)) as unknown,
  };
}
