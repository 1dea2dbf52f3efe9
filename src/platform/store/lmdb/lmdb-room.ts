/**
 * Zeros at the end of a data file that grows fast. A commit that extends the file also waits until the file system has
 * written the new length and the map of its blocks; a commit into existing blocks waits for its own pages only.
 *
 * LMDB ignores the file beyond the last page that its meta page names, so that a crash between the zeros and the next
 * commit, and a backup meanwhile, leave a sound store (lmdb-room.test.ts).
 */
import { closeSync, openSync, writeSync } from "node:fs";
import type { Space } from "./lmdb-environment.js";

/** Growth between two calls below which no room is made: the gain would not be noticeable. */
const GROWTH_BYTES_MIN = 16 * 1024;

/**
 * Most zeros that are appended at a time. The commit that flushes them takes 1.4 ms with 256 KiB, 4 ms with 1 MiB and
 * 7 ms with 2 MiB, where other commits take 1 ms.
 */
const STEP_BYTES_MAX = 2 ** 19;

export class FileRoom {
  readonly #file: string;
  #endBytes = Number.MAX_SAFE_INTEGER;

  /** @param file path of the data file */
  constructor(file: string) {
    this.#file = file;
  }

  /**
   * Appends zeros, twice as many as the file grew since the last call, when less room than that growth is left. To be
   * called regularly, between transactions, while the disk has plenty of space. Never throws: if the disk fails, the
   * next commit reports it.
   */
  keep({ fileBytes, endBytes }: Pick<Space, "fileBytes" | "endBytes">): void {
    const grown = endBytes - this.#endBytes;
    this.#endBytes = endBytes;
    if (grown < GROWTH_BYTES_MIN || fileBytes - endBytes >= grown) return;
    // The fsync of the next commit covers the zeros too.
    try {
      const handle = openSync(this.#file, "r+");
      try {
        const zeros = Buffer.alloc(Math.min(2 * grown, STEP_BYTES_MAX));
        writeSync(handle, zeros, 0, zeros.length, Math.max(fileBytes, endBytes));
      } finally {
        closeSync(handle);
      }
    } catch {
      // Commits extend the file themselves.
    }
  }
}
