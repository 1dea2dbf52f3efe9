/**
 * The private folders of tasks in processes. A server that is killed leaves its own behind: the name of a folder says
 * which process made it, so that the next server removes it at once.
 */
import { lstat, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { pidNamespace, startIn } from "../files/process-identity.js";

const PREFIX = "proofwright-task-";
const MADE_BY = /^proofwright-task-(\d+)\.(\d+)\.(\d+)-/;
/**
 * A folder of this age was left behind, also where the system does not tell by whom: the longest deadline, of the
 * largest setup, is a few hours.
 */
const STALE_MS = 24 * 60 * 60 * 1000;
/** What the system answers for a process that has ended, before and while its file is read. */
const NO_PROCESS: readonly (string | undefined)[] = ["ENOENT", "ESRCH"];

/** Makes a new private folder in a folder. */
export async function makeTaskFolder(parentFolder: string): Promise<string> {
  const maker = await makerName();
  return await mkdtemp(join(parentFolder, maker === undefined ? PREFIX : `${PREFIX}${maker}-`));
}

/** Removes folders that killed servers left behind. Those of other users cannot be removed and stay. */
export async function removeStaleFolders(parentFolder: string): Promise<void> {
  const names = (await readdir(parentFolder)).filter((name) => name.startsWith(PREFIX));
  for (const name of names) {
    const path = join(parentFolder, name);
    try {
      const isOld = Date.now() - (await lstat(path)).mtimeMs > STALE_MS;
      if (isOld || (await isMakerGone(name))) await rm(path, { recursive: true, force: true });
    } catch {
      // Removed meanwhile, or another user's: a task can run in both cases.
    }
  }
}

/**
 * Process, its start and the namespace of its number: a number is taken again by another process, and means another one
 * in another container, which may share the folder. Undefined where the system does not tell.
 */
async function makerName(): Promise<string | undefined> {
  const start = await startTimeOf(process.pid).catch(() => undefined);
  const namespace = pidNamespace();
  return start === undefined || namespace === undefined ? undefined : [process.pid, start, namespace].join(".");
}

/** False for a folder of another namespace, whose processes are not seen here. */
async function isMakerGone(name: string): Promise<boolean> {
  const [, pid, start, namespace] = MADE_BY.exec(name) ?? [];
  if (pid === undefined || namespace === undefined || namespace !== pidNamespace()) return false;
  return (await startTimeOf(Number(pid))) !== start;
}

/**
 * In clock ticks since the system started; undefined when there is no such process. Rejects where that cannot be told,
 * such as without a free file descriptor: a folder in use must not pass for one that was left behind.
 */
async function startTimeOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${String(pid)}/stat`, "utf8").catch((error: unknown) => {
    if (NO_PROCESS.includes((error as NodeJS.ErrnoException).code)) return undefined;
    throw error;
  });
  return stat === undefined ? undefined : startIn(stat);
}
