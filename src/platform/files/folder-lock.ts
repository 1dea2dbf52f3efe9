/**
 * Prevents two servers from using one data folder. Node has no flock, so the lock is a file that names its holder: the
 * process, its start time (process ids are reused), the boot and the host. The processes of other hosts cannot be seen,
 * so every holder renews the file's time stamp. The lock protects against mistakes, not against attackers.
 */
import { randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { AppError } from "../errors.js";
import { bootId } from "./boot-id.js";
import { isMachineNamespace, pidNamespace, startedAtMs, startTicks } from "./process-identity.js";

export interface FolderLock {
  /** Removes the lock file if it is still this holder's. */
  release(): void;
}

interface Holder {
  readonly token: string;
  readonly pid: number;
  readonly started: string;
  readonly boot: string;
  readonly host: string;
  /** In which namespace `pid` is its number; locks of older versions, and systems without namespaces, have none. */
  readonly namespace?: string | undefined;
}

const LOCK_FILE = "server.lock";
const REFRESH_MS = 5_000;
/** A lock of another host is taken for abandoned after six missed refreshes. */
const ABANDONED_MS = 30_000;
const TRIES_MAX = 5;
/** The system's own program tells the start of a process in whole seconds. */
const START_ROUNDING_MS = 2_000;
const UNKNOWN_BOOT = "unknown";

/**
 * Takes the lock of a folder, and creates the folder when it is missing.
 * @throws conflict when a running server holds it; the message names the process
 * @throws storage_failed when the lock file cannot be written
 */
export function lockFolder(folder: string): FolderLock {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, LOCK_FILE);
  const own: Holder = {
    token: randomUUID(),
    pid: process.pid,
    started: startTicks(process.pid) ?? "",
    boot: bootId() ?? UNKNOWN_BOOT,
    host: hostname(),
    namespace: pidNamespace(),
  };
  const draft = `${path}.${own.token}`;
  writeFileSync(draft, JSON.stringify(own), { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < TRIES_MAX; attempt += 1) {
      if (tryLink(draft, path)) return held(path, own);
      removeAbandoned(path, folder);
    }
    throw new AppError("conflict", { message: `the data folder ${folder} is being opened by several servers at once` });
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Refuses to read a store beside a server of another container. LMDB knows its readers by the number of their process,
 * which both containers may have given: one then fails, or ends the reads of the other.
 * @throws conflict with the way out
 */
export function refuseOtherContainer(folder: string, namespace = pidNamespace()): void {
  const path = join(folder, LOCK_FILE);
  const holder = readHolder(path);
  if (holder?.namespace === undefined || namespace === undefined || holder.namespace === namespace) return;
  if (holder.boot !== bootId() || !isFresh(path)) return;
  if (isMachineNamespace(namespace) && holder.pid !== process.pid) return;
  throw new AppError("conflict", {
    message: `the data folder ${folder} is in use by process ${holder.pid} of another container (${holder.host}); run the command in that container, or while it is stopped`,
  });
}

/** Creates the lock file with its content in one step; link() fails when the name exists. */
function tryLink(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw new AppError("storage_failed", { message: `the data folder cannot be locked: ${path}`, cause: error });
  }
}

/** Removes the lock of a holder that no longer runs. Throws when it runs. */
function removeAbandoned(path: string, folder: string): void {
  const holder = readHolder(path);
  if (holder === undefined) return;
  if (isAlive(path, holder)) {
    const isHere = holder.host === hostname();
    const where = isHere ? "" : ` on host ${holder.host}`;
    // A container that was killed leaves its lock to the next one, which has another name.
    const then = isHere ? "" : `, or wait ${ABANDONED_MS / 1000} s if it was killed`;
    throw new AppError("conflict", {
      message: `the data folder ${folder} is in use by process ${holder.pid}${where}; stop that process first${then}`,
    });
  }
  // Of several starting servers only one can move the file. If it is not the file that was examined, it is put back.
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  if (readHolder(aside)?.token !== holder.token) tryLink(aside, path);
  rmSync(aside, { force: true });
}

function readHolder(path: string): Holder | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as Holder;
  } catch (error) {
    throw new AppError("conflict", {
      message: `the lock file ${path} is unreadable; remove it if no server runs`,
      cause: error,
    });
  }
}

function isAlive(path: string, holder: Holder): boolean {
  if (holder.host !== hostname()) return isFresh(path);
  if (holder.boot !== (bootId() ?? UNKNOWN_BOOT)) return false;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
  return holder.started === ""
    ? !startedLater(path, holder)
    : (startTicks(holder.pid) ?? holder.started) === holder.started;
}

/** Whether a lock's holder has renewed it lately. */
function isFresh(path: string): boolean {
  return Date.now() - stampMs(path) < ABANDONED_MS;
}

/** Whether the process that has the holder's number began after the holder was last heard of, and so is another. */
function startedLater(path: string, holder: Holder): boolean {
  const startedMs = startedAtMs(holder.pid);
  return startedMs !== undefined && startedMs > stampMs(path) + START_ROUNDING_MS;
}

function stampMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function held(path: string, own: Holder): FolderLock {
  const refresh = setInterval(() => {
    try {
      const now = new Date();
      utimesSync(path, now, now);
    } catch {
      // The folder was removed; the store's own writes will fail and report it.
      clearInterval(refresh);
    }
  }, REFRESH_MS);
  refresh.unref();
  return {
    release: () => {
      clearInterval(refresh);
      if (readHolder(path)?.token === own.token) rmSync(path, { force: true });
    },
  };
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
