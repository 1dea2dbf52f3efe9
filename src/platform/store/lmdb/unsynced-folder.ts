/**
 * Folders of replicas, whose commits are not synced one by one: the cluster's log is the truth, and a flush of the
 * replica beside that of PostgreSQL took a third of a commit. The end of a process leaves such a folder whole, since
 * the system has what was written. The end of the machine may leave it torn, so that it must not even be read. A file
 * tells the two apart: it has the boot of the machine in which the folder was opened, and goes when it is synced.
 */
import {
  closeSync,
  existsSync,
  fdatasync,
  fdatasyncSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { AppError } from "../../errors.js";
import { bootId } from "../../files/boot-id.js";
import { syncFolder } from "../../files/durable-files.js";
import { DATA_FILE, LOCK_FILE, STORE_FILE_MODE } from "./lmdb-environment.js";

const MARK = "unsynced";

/** Whether commits of this machine's replicas may go without a sync of their own. */
export function mayGoUnsynced(): boolean {
  return bootId() !== undefined;
}

/** Says durably that the folder is written without syncs from now on. */
export function markUnsynced(folder: string): void {
  const path = join(folder, MARK);
  writeFileSync(path, bootId() ?? "", { mode: STORE_FILE_MODE, flush: true });
  syncFolder(folder);
}

/** Whether the machine ended while the folder was written without syncs. */
export function isTorn(folder: string): boolean {
  const path = join(folder, MARK);
  return existsSync(path) && readFileSync(path, "utf8") !== bootId();
}

/**
 * Refuses to read a folder that may be torn.
 * @throws conflict with the way out
 */
export function refuseTorn(folder: string): void {
  if (!isTorn(folder)) return;
  throw new AppError("conflict", {
    message:
      "the machine ended while this node's replica was not on its disk as a whole: start the node once, which then copies the cluster's state anew",
  });
}

/** Empties a folder that may be torn, for a node that joins anew. */
export function discardTorn(folder: string): void {
  for (const file of [DATA_FILE, LOCK_FILE]) rmSync(join(folder, file), { force: true });
  syncFolder(folder);
  rmSync(join(folder, MARK), { force: true });
}

/** Brings everything onto the disk that was written to a folder, which nobody writes any more. */
export function settleUnsynced(folder: string): void {
  const path = join(folder, DATA_FILE);
  if (!existsSync(join(folder, MARK)) || !existsSync(path)) return;
  const file = openSync(path, "r+");
  try {
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
  rmSync(join(folder, MARK), { force: true });
  syncFolder(folder);
}

/** Brings a data file onto the disk from time to time, so that a failing disk is noticed, and little is left to do. */
export class DataFileSync {
  readonly #file: number;
  readonly #timer: NodeJS.Timeout;
  #isSyncing = false;
  #isStopped = false;

  /** @param onFailure called for each time that the disk refuses */
  constructor(folder: string, { everyMs, onFailure }: DataFileSyncOptions) {
    // Open from the start: the system tells a failure of writing back to those alone that had the file open then.
    this.#file = openSync(join(folder, DATA_FILE), "r+");
    this.#timer = setInterval(() => {
      this.#sync(onFailure);
    }, everyMs);
    this.#timer.unref();
  }

  /** Ends it, without a last sync. */
  stop(): void {
    clearInterval(this.#timer);
    this.#isStopped = true;
    if (!this.#isSyncing) closeSync(this.#file);
  }

  #sync(onFailure: DataFileSyncOptions["onFailure"]): void {
    if (this.#isSyncing) return;
    this.#isSyncing = true;
    fdatasync(this.#file, (error) => {
      this.#isSyncing = false;
      if (this.#isStopped) closeSync(this.#file);
      else if (error !== null) onFailure(error);
    });
  }
}

interface DataFileSyncOptions {
  readonly everyMs: number;
  readonly onFailure: (error: NodeJS.ErrnoException) => void;
}
