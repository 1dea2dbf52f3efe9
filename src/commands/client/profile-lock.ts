/**
 * A lock on the file of profiles, so that commands that run at once neither lose each other's changes nor send one
 * refresh token twice, for which the server would end the session. It is a file beside it, which names its owner: the
 * lock of a command that was killed is taken over.
 */
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../platform/clock.js";
import { StartError } from "../../platform/start-error.js";

const LOCK_FILE = "profiles.lock";
/** Held while the lock of a killed command is removed, so that nobody removes the lock of its successor. */
const TAKEOVER_FILE = "profiles.lock.takeover";
const POLL_MS = 50;
/** Longer than a renewal takes that is tried again after an interruption. */
const WAIT_MS_DEFAULT = 60_000;
/** A lock that is older belongs to nobody, whatever process has its number today. */
const AGE_MS_MAX = 300_000;

/**
 * Runs `work` while no other command changes the profiles.
 * @param folder of the profiles; made when it does not exist
 * @param options.waitMs how long another command may take
 * @throws StartError that names the file when another command holds the lock for too long
 */
export async function withProfileLock<T>(
  folder: string,
  work: () => Promise<T>,
  { waitMs = WAIT_MS_DEFAULT }: { readonly waitMs?: number } = {},
): Promise<T> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, LOCK_FILE);
  const owner = `${String(process.pid)} ${randomUUID()}\n`;
  const deadlineMs = systemClock.nowMs() + waitMs;
  while (!(await isCreated(path, owner))) {
    if (await isLeftBehind(path)) await takeOver(folder, path);
    else if (systemClock.nowMs() > deadlineMs)
      throw new StartError(`another command holds ${path}. If none runs, remove that file.`);
    else await delay(POLL_MS);
  }
  try {
    return await work();
  } finally {
    // Not that of a successor, which took over from a command that slept for long.
    if ((await textOf(path)) === owner) await rm(path, { force: true });
  }
}

async function takeOver(folder: string, path: string): Promise<void> {
  const takeover = join(folder, TAKEOVER_FILE);
  if (!(await isCreated(takeover, `${String(process.pid)}\n`))) {
    if (await isLeftBehind(takeover)) await rm(takeover, { force: true });
    else await delay(POLL_MS);
    return;
  }
  try {
    if (await isLeftBehind(path)) await rm(path, { force: true });
  } finally {
    await rm(takeover, { force: true });
  }
}

async function isCreated(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** Whether the owner of a lock has ended. One that is just being written is empty, and has its age alone. */
async function isLeftBehind(path: string): Promise<boolean> {
  try {
    const { mtimeMs } = await stat(path);
    if (systemClock.nowMs() - mtimeMs > AGE_MS_MAX) return true;
    const pid = Number.parseInt(await readFile(path, "utf8"), 10);
    return Number.isSafeInteger(pid) && pid > 0 && !isRunning(pid);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user.
    return codeOf(error) === "EPERM";
  }
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
