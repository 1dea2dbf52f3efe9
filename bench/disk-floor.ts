/**
 * What the disk alone takes for a commit of the store that holds one audit record: some pages all over the data file, a
 * flush, and the page that makes them count, flushed too (LMDB's order). No answer that waits for a commit comes
 * sooner.
 */
import { closeSync, constants, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

const PAGE_BYTES = 4096;
const FILE_PAGES = 1024;
/** Of the tables, their free list and the record itself. */
const PAGES_PER_COMMIT = 7;
/** Far apart, as they are in a data file. */
const STRIDE = 131;

/** Milliseconds of each commit, at a rate for some seconds. */
export async function sampleCommitFloorMs(
  folder: string,
  { perSec, seconds }: { readonly perSec: number; readonly seconds: number },
): Promise<number[]> {
  const path = join(folder, "disk-floor");
  const data = openSync(path, "w+");
  const meta = openSync(path, constants.O_WRONLY | constants.O_DSYNC);
  const page = Buffer.alloc(PAGE_BYTES, 1);
  try {
    for (let at = 0; at < FILE_PAGES; at += 1) writeSync(data, page, 0, PAGE_BYTES, at * PAGE_BYTES);
    fdatasyncSync(data);
    const samples: number[] = [];
    for (let commit = 0; commit < perSec * seconds; commit += 1) {
      const beginMs = performance.now();
      for (let i = 0; i < PAGES_PER_COMMIT; i += 1)
        writeSync(
          data,
          page,
          0,
          PAGE_BYTES,
          PAGE_BYTES * (2 + ((commit * PAGES_PER_COMMIT + i * STRIDE) % (FILE_PAGES - 2))),
        );
      fdatasyncSync(data);
      writeSync(meta, page, 0, PAGE_BYTES, PAGE_BYTES * (commit & 1));
      samples.push(performance.now() - beginMs);
      await new Promise((resolve) => {
        setTimeout(resolve, 1000 / perSec);
      });
    }
    return samples;
  } finally {
    closeSync(data);
    closeSync(meta);
    rmSync(path);
  }
}
