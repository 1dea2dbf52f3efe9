/** Files and byte arrays that are read, or written, in ranges. */
import { closeSync, fstatSync, fsyncSync, openSync, readSync, statSync, writeSync } from "node:fs";
import type { RangeFile } from "./file-layout.js";
import { PowersOfTauError } from "./powers-of-tau-error.js";

const OWNER_ONLY = 0o600;

/** Opens a file for reading; the caller closes it. */
export function openRangeFile(path: string): RangeFile & { close(): void } {
  const handle = openSync(path, "r");
  return {
    size: fstatSync(handle).size,
    read: (target, offset) => {
      for (let done = 0; done < target.length;) {
        const count = readSync(handle, target, done, target.length - done, offset + done);
        if (count === 0) throw truncated();
        done += count;
      }
    },
    close: () => {
      closeSync(handle);
    },
  };
}

/** A file that is written in ranges, by any number of threads that each open it. */
export interface WrittenFile {
  write(source: Uint8Array, offset: number): void;
  /** Waits until all that was written is on disk. */
  sync(): void;
  close(): void;
}

/**
 * Makes a file that only its owner may read, or opens one that was made.
 * @throws Error `EEXIST` when a file to be made is there
 */
export function openWrittenFile(path: string, { isNew }: { readonly isNew: boolean }): WrittenFile {
  const handle = openSync(path, isNew ? "wx" : "r+", OWNER_ONLY);
  return {
    write: (source, offset) => {
      for (let done = 0; done < source.length;)
        done += writeSync(handle, source, done, source.length - done, offset + done);
    },
    sync: () => {
      fsyncSync(handle);
    },
    close: () => {
      closeSync(handle);
    },
  };
}

/** Reads from a file that is opened for each range, and need not be closed. */
export function rangeOfPath(path: string): RangeFile {
  return {
    size: statSync(path).size,
    read: (target, offset) => {
      const file = openRangeFile(path);
      try {
        file.read(target, offset);
      } finally {
        file.close();
      }
    },
  };
}

/** Reads from bytes in memory. */
export function rangeOfBytes(bytes: Uint8Array): RangeFile {
  return {
    size: bytes.length,
    read: (target, offset) => {
      if (offset + target.length > bytes.length) throw truncated();
      target.set(bytes.subarray(offset, offset + target.length));
    },
  };
}

function truncated(): PowersOfTauError {
  return new PowersOfTauError("truncated", "the file ends before its sections");
}
