/** The disk under the writer: transactions that end with an fsync, and how many bytes may still be written. */
import { statfsSync } from "node:fs";
import { join } from "node:path";
import type { WriterOptions } from "../writer-protocol.js";
import { DATA_FILE, measureSpace, transact, type Environment } from "./lmdb-environment.js";
import { FileRoom } from "./lmdb-room.js";

/** The part of the disk that the writer uses; a test puts a failing disk here. */
export interface WriterStorage {
  /** Runs the body in one transaction. When it returns, all of it is on disk; when it throws, nothing is written. */
  transact(body: () => void): void;
  /** Returns the bytes that may still be written: in free pages of the file, on the disk, and below dataBytesMax. */
  freeBytes(): number;
}

/** With this much free space, a measurement of the last milliseconds is good enough; a new one costs about 20 us. */
const MEASURE_ALWAYS_BYTES = 2 ** 30;
/** Short, so that a file that grows fast is extended in small pieces: see FileRoom. */
const MEASURE_AGE_MS = 50;

/** Returns the storage of a data folder, which also makes room at the end of a file that grows fast. */
export function systemStorage(
  options: Pick<WriterOptions, "path" | "dataBytesMax" | "reserveBytes">,
  environment: Environment,
): WriterStorage {
  const room = new FileRoom(join(options.path, DATA_FILE));
  const enough = MEASURE_ALWAYS_BYTES + options.reserveBytes;
  let measured = 0;
  let measuredAtMs = -Infinity;
  return {
    transact: (body) => {
      transact(environment, body);
    },
    freeBytes: () => {
      const nowMs = performance.now();
      if (nowMs - measuredAtMs > MEASURE_AGE_MS || measured < enough) {
        const space = measureSpace(environment, options.path);
        const growth = Math.min(options.dataBytesMax - space.fileBytes, diskFreeBytes(options.path));
        measured = space.freeInsideBytes + Math.max(0, growth);
        measuredAtMs = nowMs;
        if (measured >= enough) room.keep(space);
      }
      return measured;
    },
  };
}

function diskFreeBytes(path: string): number {
  const disk = statfsSync(path);
  // Some network and container file systems do not report it; then only a failing write shows that the disk is full.
  return disk.blocks === 0 ? Number.MAX_SAFE_INTEGER : disk.bavail * disk.bsize;
}
