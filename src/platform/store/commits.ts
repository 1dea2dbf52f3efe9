/** Merges commits, and repeats a commit after a conflict. */
import { setTimeout as delay } from "node:timers/promises";
import { AppError, assert } from "../errors.js";
import { encodeKey } from "./keys.js";
import { StoreConflict } from "./store.js";
import type { StoreCheck, StoreCommit, StoreKey, StorePut } from "./store.js";

/** A conflict means that another commit succeeded, so that a few attempts settle any ordinary race. */
const ATTEMPTS_MAX = 8;
/** Other nodes may be first as often again. */
const SHARED_FACTOR = 2;
/** Longer than a commit takes, so that nodes that collide do not go on in step. */
const JITTER_MS_MAX = 20;

/**
 * Merges commits into one with all of their checks, deletions, puts and appends; it is urgent when one of them is. Two
 * parts may contain the same check. It is a fault of the caller when two parts put the same record, or check a record
 * for different versions.
 */
export function mergeCommits(...commits: readonly StoreCommit[]): StoreCommit {
  const checks = new Map<string, StoreCheck>();
  const puts = new Map<string, StorePut>();
  for (const commit of commits) {
    for (const check of commit.checks ?? []) {
      const earlier = checks.get(nameOf(check.key));
      assert(
        earlier === undefined || earlier.version === check.version,
        `two parts of a commit check one record of ${String(check.key[0])} for the same version`,
      );
      checks.set(nameOf(check.key), check);
    }
    for (const put of commit.puts ?? []) {
      assert(!puts.has(nameOf(put.key)), `two parts of a commit put different records of ${String(put.key[0])}`);
      puts.set(nameOf(put.key), put);
    }
  }
  const appends = commits.flatMap((commit) => commit.appends ?? []);
  return {
    checks: [...checks.values()],
    puts: [...puts.values()],
    deletes: commits.flatMap((commit) => commit.deletes ?? []),
    deletePrefixes: commits.flatMap((commit) => commit.deletePrefixes ?? []),
    ...(appends.length === 0 ? {} : { appends }),
    ...(commits.some((commit) => commit.urgent === true) ? { urgent: true } : {}),
  };
}

/**
 * Repeats `attempt` (read, decide, commit) while its commit fails with a conflict. Rethrows any other error at once.
 * On a node of a cluster it tries more often, and from the second conflict on waits for a moment of chance before it.
 * @param options.exhausted makes what is thrown when the last attempt fails with a conflict too
 * @throws conflict then, unless `exhausted` is given
 */
export async function retryOnConflict<R>(
  attempt: () => Promise<R>,
  options: { readonly attemptsMax?: number; readonly exhausted?: () => AppError } = {},
): Promise<R> {
  const attemptsMax = options.attemptsMax ?? ATTEMPTS_MAX;
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
      if (attempts >= (error.isShared ? SHARED_FACTOR * attemptsMax : attemptsMax))
        throw options.exhausted?.() ?? contended(error);
      if (error.isShared && attempts > 1) await delay(JITTER_MS_MAX * Math.random());
    }
  }
}

function contended(cause: StoreConflict): AppError {
  return new AppError("conflict", { message: "the record is being changed by other requests; try again", cause });
}

function nameOf(key: StoreKey): string {
  return encodeKey(key).toString("latin1");
}
