/**
 * Durable files: a new file is on disk only after an fsync of the file and one of the folder that holds its name.
 * Windows flushes no folders, whose entries are in the file system's journal, and files only through a handle that may
 * write.
 */
import { closeSync, fsyncSync, openSync } from "node:fs";
import { open, stat } from "node:fs/promises";

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
