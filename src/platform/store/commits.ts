/** Putting commits together, and trying again when somebody else was first. */
import { AppError, assert } from "../errors.js";
import { encodeKey } from "./keys.js";
import { StoreConflict } from "./store.js";
import type { StoreCheck, StoreCommit, StoreKey, StorePut } from "./store.js";

/** A conflict means that somebody else got through, so that a handful of tries settles any honest race. */
const ATTEMPTS_MAX = 8;

/**
 * One commit of several: all of their checks, deletions and puts, urgent when one of them is. The same check may come
 * from two parts. Two parts that write the same record, or pin one to different versions, are a fault of the caller.
 */
export function mergeCommits(...commits: readonly StoreCommit[]): StoreCommit {
  const checks = new Map<string, StoreCheck>();
  const puts = new Map<string, StorePut>();
  for (const commit of commits) {
    for (const check of commit.checks ?? []) {
      const earlier = checks.get(nameOf(check.key));
      assert(
        earlier === undefined || earlier.version === check.version,
        `two parts of a commit pin one record of ${String(check.key[0])} to different versions`,
      );
      checks.set(nameOf(check.key), check);
    }
    for (const put of commit.puts ?? []) {
      assert(!puts.has(nameOf(put.key)), `two parts of a commit write the same record of ${String(put.key[0])}`);
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
 * Runs `attempt` (read, decide, commit) again as long as its commit meets a conflict.
 * Throws `conflict` when the record is still contended after the last attempt; any other error at once.
 */
export async function retryOnConflict<R>(
  attempt: () => Promise<R>,
  options: { readonly attemptsMax?: number } = {},
): Promise<R> {
  const attemptsMax = options.attemptsMax ?? ATTEMPTS_MAX;
  for (let tried = 1; ; tried += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
      if (tried >= attemptsMax) {
        throw new AppError("conflict", { message: "the record is being changed by others; try again", cause: error });
      }
    }
  }
}

function nameOf(key: StoreKey): string {
  return encodeKey(key).toString("latin1");
}
