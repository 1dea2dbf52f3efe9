/**
 * Durable files: a new file is on disk only after an fsync of the file and one of the folder that holds its name.
 * Windows flushes no folders, whose entries are in the file system's journal, and files only through a handle that may
 * write.
 */
import { closeSync, fsyncSync, openSync } from "node:fs";
import { open, rename, stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/**
 * What Windows answers while somebody has one of the files open, be it a reader or a virus scanner: Node renames by
 * MoveFileEx, which replaces no open file.
 */
const IN_USE: readonly unknown[] = ["EPERM", "EACCES", "EBUSY"];
/** Waits of 20, 40, 60 ms and so on: 1.1 s in all, longer than a small file is read or a new one scanned. */
const WAITS_MAX = 10;
const WAIT_STEP_MS = 20;

export interface Replacing {
  readonly platform?: NodeJS.Platform;
  readonly move?: (from: string, to: string) => Promise<void>;
}

/** Forces a folder's entries to disk. Blocks the thread. */
export function syncFolder(path: string, platform = process.platform): void {
  if (platform === "win32") return;
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Forces a file's content, or a folder's entries, to disk without blocking the thread. */
export async function syncPath(path: string, platform = process.platform): Promise<void> {
  const isWindows = platform === "win32";
  if (isWindows && (await stat(path)).isDirectory()) return;
  const handle = await open(path, isWindows ? "r+" : "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Renames a file, in place of one that has the name: after a crash the name has the old file or the new one. Waits on
 * Windows until nobody reads either, for a second.
 * @throws Error of the file system; on Windows one that `isInUse` when the name's file stays open
 */
export async function replaceFile(
  from: string,
  to: string,
  { platform = process.platform, move = rename }: Replacing = {},
): Promise<void> {
  for (let waits = 0; ;) {
    try {
      await move(from, to);
      return;
    } catch (error) {
      if (!isInUse(error, platform) || waits === WAITS_MAX) throw error;
    }
    waits += 1;
    await delay(waits * WAIT_STEP_MS);
  }
}

/** Whether the system refuses because somebody has the file open, which only Windows does. */
export function isInUse(error: unknown, platform = process.platform): boolean {
  return platform === "win32" && error instanceof Error && "code" in error && IN_USE.includes(error.code);
}
