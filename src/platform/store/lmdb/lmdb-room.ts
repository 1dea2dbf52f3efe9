/**
 * Room at the end of a data file that grows fast. Where a commit makes the file longer, the file system writes the new
 * length and the map of its blocks too, each waited for in turn; a commit into blocks that are there already waits for
 * its own pages alone.
 */
import { closeSync, openSync, writeSync } from "node:fs";
import type { Space } from "./lmdb-environment.js";

/** Slower growth than this between two looks costs nothing that anybody would feel. */
const GROWTH_BYTES_MIN = 16 * 1024;

/**
 * Longest piece that is put on at a time: the commit that flushes it takes 1.4 ms with 256 KiB, 4 ms with 1 MiB and 7
 * ms with 2 MiB, where others take 1 ms.
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
   * Puts zeros on, as long as twice the growth since the last look, when less than that growth is left. To be called
   * now and then, between transactions, with plenty of space on the disk. Never throws: a disk that does not take it
   * will tell the next commit.
   */
  keep({ fileBytes, endBytes }: Pick<Space, "fileBytes" | "endBytes">): void {
    const grown = endBytes - this.#endBytes;
    this.#endBytes = endBytes;
    if (grown < GROWTH_BYTES_MIN || fileBytes - endBytes >= grown) return;
    // LMDB looks at nothing beyond its last page. The next commit's sync covers this, too.
    try {
      const handle = openSync(this.#file, "r+");
      try {
        const zeros = Buffer.alloc(Math.min(2 * grown, STEP_BYTES_MAX));
        writeSync(handle, zeros, 0, zeros.length, Math.max(fileBytes, endBytes));
      } finally {
        closeSync(handle);
      }
    } catch {
      // Commits do without.
    }
  }
}
