/** Names in the data folder that no area has as its own, and the mark of a restore that has not ended. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { StartError } from "../start-error.js";

/** Signs the tokens with which a page subscribes to events. */
export const SUBSCRIPTION_KEY_FILE = "subscription-key";
/** Hashes the requests that an `Idempotency-Key` names. */
export const REQUEST_HASH_KEY_FILE = "request-hash-key";

/** Where `proofwright restore` collects a backup; it is gone when the restore has ended well. */
const RESTORE_FOLDER = "restore-in-progress";

/** Returns where a restore into a data folder collects what it has read. */
export function restoreFolder(dataDir: string): string {
  return join(dataDir, RESTORE_FOLDER);
}

/**
 * Refuses a data folder that holds a part of a backup: a server would make a new store, or new keys, beside it.
 * @throws StartError with the way out
 */
export function refuseUnfinishedRestore(dataDir: string): void {
  if (!existsSync(restoreFolder(dataDir))) return;
  throw new StartError(
    `a restore into ${dataDir} has not ended; if it does not run any more, empty the folder and restore the backup again.`,
  );
}
