/**
 * Patience with a database that is away for a moment while a node starts: one that restarts, fails over, or is started
 * at the same time. What no waiting mends, such as a wrong password, ends the start at once.
 */
import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "../errors.js";
import type { Log } from "../log.js";
import { READ_ONLY, whyUnreachable } from "./database-client.js";

/** Longer than the failover of a managed database, and shorter than supervisors wait for a start. */
const WAIT_MS = 60_000;
const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 2_000;

/** What the system says of a server that is not there now. */
const AWAY: ReadonlySet<string> = new Set([
  ...["ECONNREFUSED", "ECONNRESET", "EPIPE", "ENOENT", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"],
  ...["ENOTFOUND", "EAI_AGAIN"],
]);
/** SQLSTATE of a server that starts, stops, has too many connections, or takes no writes yet. */
const PASSING: ReadonlySet<string> = new Set(["57P01", "57P02", "57P03", "53300", READ_ONLY]);
/** SQLSTATE class of connections that broke. */
const BROKEN = "08";

/** Whether a failure of pg, which has ended the connection or kept it from being made, may pass by itself. */
export function isPassing(error: unknown): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  if (typeof code === "string") return AWAY.has(code) || PASSING.has(code) || code.startsWith(BROKEN);
  // pg gives no code to what it finds itself: a connection that ended, or a time that ran out.
  return typeof message === "string" && /\b(terminated|timeout|not queryable)\b/i.test(message);
}

/**
 * Runs a step of the start, again while the database is away, and tells the log once that it waits.
 * @param options.waitMs for how long. 60 s unless given.
 * @returns what the step returns
 * @throws what the step throws when it is not `store_unreachable` nor a passing failure of pg, or lasts
 */
export async function whenReachable<T>(
  step: () => Promise<T>,
  { log, waitMs = WAIT_MS }: { readonly log: Log; readonly waitMs?: number },
): Promise<T> {
  const endAtMs = performance.now() + waitMs;
  for (let tries = 0; ; tries += 1) {
    try {
      return await step();
    } catch (error) {
      const isUnreachable = error instanceof AppError ? error.code === "store_unreachable" : isPassing(error);
      if (!isUnreachable || performance.now() > endAtMs) throw error;
      if (tries === 1)
        log.warn(`${error instanceof AppError ? error.message : whyUnreachable(error)}; the start waits for it`);
      await delay(Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** tries));
    }
  }
}
