/**
 * Replicas that a node must not go on with: damaged on its disk, other than the log says, or too far behind it. The
 * cluster has everything that they have, so that the next start sets the file aside, for inspection, and copies the
 * state anew. What has commits that the log has not is no such replica: those are for people to look at.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { syncFolder } from "../files/durable-files.js";
import { DATA_FILE, LOCK_FILE, STORE_FILE_MODE } from "../store/lmdb/lmdb-environment.js";

const MARK = "distrusted";
/** What was set aside last; the one before is deleted, since a disk may have no room for a third. */
const ASIDE = "data-distrusted.mdb";

/** Says durably why the replica of a folder is not to be used any more. */
export function distrust(folder: string, reason: string): void {
  writeFileSync(join(folder, MARK), reason, { mode: STORE_FILE_MODE, flush: true });
  syncFolder(folder);
}

/** Returns why the replica of a folder is not to be used; undefined where it may be. */
export function distrustedBecause(folder: string): string | undefined {
  const path = join(folder, MARK);
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

/** Sets a replica aside that nobody has open, and returns where it is then. The folder is one that joins anew. */
export function setAside(folder: string): string {
  const aside = join(folder, ASIDE);
  if (existsSync(join(folder, DATA_FILE))) renameSync(join(folder, DATA_FILE), aside);
  rmSync(join(folder, LOCK_FILE), { force: true });
  syncFolder(folder);
  rmSync(join(folder, MARK), { force: true });
  return aside;
}
