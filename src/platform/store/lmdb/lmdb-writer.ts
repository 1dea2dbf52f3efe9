/**
 * What the writer thread does with a batch of commits: one transaction, one fsync, each commit judged by itself. A
 * commit whose check fails writes nothing and hurts nobody else. It must not run on two threads, and must not touch
 * disk between batches.
 */
import { statfsSync } from "node:fs";
import { join } from "node:path";
import { AppError, assert } from "../../errors.js";
import { ChainKey } from "../chain.js";
import { afterPrefix, decodeKey } from "../keys.js";
import { ChainTails } from "./lmdb-chains.js";
import { ChangeSet } from "./lmdb-changes.js";
import { DATA_FILE, measureSpace, readMeta, reasonOf, transact, writeMeta } from "./lmdb-environment.js";
import type { Environment, StoreMeta } from "./lmdb-environment.js";
import { FileRoom } from "./lmdb-room.js";
import type { StoreKey } from "../store.js";
import { ABSENT, APPEND, CHECK, DELETE, DELETE_PREFIX, PUT } from "../wire.js";
import type { PackedCommit } from "../wire.js";

/** Why a commit was not applied. Crosses threads, so it is data. */
export type WriteFailure =
  | { readonly code: "conflict"; readonly key: StoreKey }
  | {
      readonly code: "data_corrupt" | "storage_full" | "storage_failed" | "too_many_records" | "internal_error";
      readonly message: string;
    };

/** Undefined: applied and on disk. */
export type WriteOutcome = WriteFailure | undefined;

/**
 * ready: takes everything. full: puts are refused until there is space, which every batch looks at anew.
 * failed: the disk refused a write that should have fitted; nothing more is written, because a second fsync may lie.
 */
export type WriterState = "ready" | "full" | "failed";

export interface WriterOptions {
  readonly path: string;
  /** Largest size that the data file may reach, in bytes. */
  readonly dataBytesMax: number;
  /** Free bytes of the disk, or of dataBytesMax, that only urgent commits may use. */
  readonly reserveBytes: number;
  /** Links the hash chains of the store; without it a commit with appends is a fault of the caller. */
  readonly chainKey?: Uint8Array | undefined;
}

/** What the writer asks of the storage beneath it; a test puts a failing disk here. */
export interface WriterStorage {
  transact(body: () => void): void;
  /** Bytes that may still be written: in the file's free pages, on the disk, and below dataBytesMax. */
  freeBytes(): number;
}

/** Records that one prefix deletion may remove: about a second of the writer. */
const PREFIX_RECORDS_MAX = 100_000;

/** Pages that a small transaction touches on its way from leaf to root, free list included. */
const TRANSACTION_OVERHEAD_BYTES = 64 * 4096;

/** A write amplification that covers half-empty pages and copied neighbours. */
const SPACE_FACTOR = 3;

/** With less than this free, a failed write is taken for a full disk: LMDB reports a short write as EIO, not ENOSPC. */
const FULL_DISK_BYTES = 16 * 2 ** 20;

/** EFBIG, ENOSPC, EDQUOT, and LMDB's MDB_MAP_FULL. */
const FULL_CODES: ReadonlySet<unknown> = new Set([27, 28, 122, -30792]);

export class LmdbWriter {
  readonly #environment: Environment;
  readonly #storage: WriterStorage;
  readonly #options: WriterOptions;
  readonly #chainKey: ChainKey | undefined;
  /** What the last transaction wrote of these, so that the next need not read it; undefined after one that failed. */
  #ends: { readonly meta: StoreMeta; readonly tails: ChainTails } | undefined;
  #state: WriterState = "ready";

  constructor(options: WriterOptions, dependencies: { environment: Environment; storage?: WriterStorage }) {
    this.#options = options;
    this.#chainKey = options.chainKey === undefined ? undefined : new ChainKey(options.chainKey);
    this.#environment = dependencies.environment;
    this.#storage = dependencies.storage ?? systemStorage(options, dependencies.environment);
  }

  get state(): WriterState {
    return this.#state;
  }

  /** Applies a batch and returns one outcome per commit, in order. Never throws. */
  apply(commits: readonly PackedCommit[]): WriteOutcome[] {
    if (this.#state === "failed")
      return commits.map(() => ({
        code: "storage_failed",
        message: "the store does not take writes since its disk failed",
      }));
    let outcomes: WriteOutcome[] = [];
    try {
      outcomes = this.#refuseForSpace(commits);
      this.#storage.transact(() => {
        this.#applyAll(commits, outcomes);
      });
      const isRefused = outcomes.some((outcome) => outcome?.code === "storage_full");
      // What passes on a full disk (deletions, the audit log) does not say that there is room again.
      this.#state = isRefused || (this.#state === "full" && !this.#hasRoom()) ? "full" : "ready";
      return outcomes;
    } catch (error) {
      this.#ends = undefined;
      const failure = this.#classify(error);
      // A conflict may have been with a commit of this batch that is now undone, so that it is no longer one.
      return commits.map((_, index) => (outcomes[index]?.code === "storage_full" ? outcomes[index] : failure));
    }
  }

  /**
   * Refuses what would not fit before LMDB runs into the wall, and keeps a reserve, since even a deletion copies pages.
   */
  #refuseForSpace(commits: readonly PackedCommit[]): WriteOutcome[] {
    let free = this.#storage.freeBytes() - TRANSACTION_OVERHEAD_BYTES;
    const needed = commits.reduce((sum, { bytes }) => sum + bytes * SPACE_FACTOR, 0);
    if (free - needed >= this.#options.reserveBytes) return commits.map(() => undefined);
    return commits.map((commit) => {
      const isUrgent = commit.urgent || isDeletion(commit);
      const need = commit.bytes * SPACE_FACTOR;
      if (!isUrgent && free - need < this.#options.reserveBytes) {
        return { code: "storage_full", message: "the disk or the store's share of it is full; nothing was written" };
      }
      free -= need;
      return undefined;
    });
  }

  #hasRoom(): boolean {
    return this.#storage.freeBytes() - TRANSACTION_OVERHEAD_BYTES >= this.#options.reserveBytes;
  }

  #applyAll(commits: readonly PackedCommit[], outcomes: WriteOutcome[]): void {
    this.#ends ??= this.#readEnds();
    const { meta, tails } = this.#ends;
    let changed = false;
    for (const [index, commit] of commits.entries()) {
      if (outcomes[index] !== undefined) continue;
      const prepared = this.#prepare(commit, tails);
      if (prepared instanceof ChangeSet) {
        prepared.write(meta);
        changed = changed || prepared.size > 0;
      } else {
        outcomes[index] = prepared;
      }
    }
    if (!changed) return;
    tails.write(meta);
    writeMeta(this.#environment, meta);
  }

  #readEnds(): { meta: StoreMeta; tails: ChainTails } {
    const meta = readMeta(this.#environment);
    assert(meta !== undefined, "an open store has its own record");
    return { meta, tails: new ChainTails(this.#environment, this.#chainKey) };
  }

  /** Reads and judges only, so that a refusal leaves nothing behind. */
  #prepare(commit: PackedCommit, tails: ChainTails): ChangeSet | WriteFailure {
    const changes = new ChangeSet(this.#environment, tails);
    try {
      for (const operation of commit.operations) {
        if (operation.kind === CHECK) {
          const current = changes.versionOf(operation.key) ?? ABSENT;
          if (current !== operation.version) return { code: "conflict", key: decodeKey(operation.key) };
        } else if (operation.kind === DELETE_PREFIX) {
          if (!this.#planPrefix(operation.key, changes)) {
            return {
              code: "too_many_records",
              message: `a deletion covers more than ${PREFIX_RECORDS_MAX} records; delete its parts first`,
            };
          }
        } else if (operation.kind === APPEND) {
          changes.append(operation);
        } else {
          changes.plan(operation.key, operation.kind === PUT ? operation.json : undefined);
        }
      }
      return changes;
    } catch (error) {
      if (error instanceof AppError && error.code === "data_corrupt")
        return { code: "data_corrupt", message: error.message };
      throw error;
    }
  }

  #planPrefix(prefix: Buffer, changes: ChangeSet): boolean {
    const keys = [
      ...this.#environment.getKeys({ start: prefix, end: afterPrefix(prefix), limit: PREFIX_RECORDS_MAX + 1 }),
    ];
    for (const key of keys) changes.plan(Buffer.from(key), undefined);
    return keys.length <= PREFIX_RECORDS_MAX;
  }

  #classify(error: unknown): WriteFailure {
    if (error instanceof AppError)
      return { code: error.code === "data_corrupt" ? "data_corrupt" : "internal_error", message: error.message };
    const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
    // Without a code it is a fault of ours, not of the disk; the transaction was rolled back.
    if (typeof code !== "number") return { code: "internal_error", message: reasonOf(error) };
    if (FULL_CODES.has(code) || this.#isDiskFull()) {
      this.#state = "full";
      return { code: "storage_full", message: "the disk is full; nothing was written" };
    }
    this.#state = "failed";
    return { code: "storage_failed", message: `the disk refused a write (${reasonOf(error)}); nothing was written` };
  }

  #isDiskFull(): boolean {
    try {
      return this.#storage.freeBytes() < FULL_DISK_BYTES;
    } catch {
      // A disk that cannot even be asked is not merely full.
      return false;
    }
  }
}

/** To the writer thread: packed commits (wire.ts), or the wish to end once all before it is written. */
export type WriterRequest = Uint8Array<ArrayBuffer> | { readonly close: true };

/**
 * From the writer thread, most often: so many commits, oldest first, are applied and on disk, and the writer is ready.
 */
export type WriterReply = number | WriterReport;

/** How many commits are settled, oldest first, and which of them failed. */
export interface WriterReport {
  readonly settled: number;
  readonly failures: readonly { readonly index: number; readonly failure: WriteFailure }[];
  readonly state: WriterState;
}

/** The first record of a new store: nothing counted, no migration run. */
export function emptyMeta(schemaVersion: number): StoreMeta {
  return { schema_version: schemaVersion, sequence: 0, count: 0, tag_sum: 0n };
}

/**
 * Writes nothing but deletions, and what is recorded of them: were the audit log's record refused, nobody could make
 * room.
 */
function isDeletion({ operations }: PackedCommit): boolean {
  const has = (...kinds: readonly number[]): boolean => operations.some(({ kind }) => kinds.includes(kind));
  return !has(PUT) && (!has(APPEND) || has(DELETE, DELETE_PREFIX));
}

function systemStorage(options: WriterOptions, environment: Environment): WriterStorage {
  const room = new FileRoom(join(options.path, DATA_FILE));
  const enough = MEASURE_ALWAYS_BYTES + options.reserveBytes;
  let measured = 0;
  let measuredAt = -Infinity;
  return {
    transact: (body) => {
      transact(environment, body);
    },
    freeBytes: () => {
      const now = performance.now();
      if (now - measuredAt > MEASURE_AGE_MS || measured < enough) {
        const space = measureSpace(environment, options.path);
        measured =
          space.freeInsideBytes +
          Math.max(0, Math.min(options.dataBytesMax - space.fileBytes, diskFreeBytes(options.path)));
        measuredAt = now;
        if (measured >= enough) room.keep(space);
      }
      return measured;
    },
  };
}

/** With this much free, a figure some milliseconds old is as good as a fresh one (a measurement costs about 20 us). */
const MEASURE_ALWAYS_BYTES = 2 ** 30;
/** Short, so that a file that grows fast is made longer in small pieces: see FileRoom. */
const MEASURE_AGE_MS = 50;

function diskFreeBytes(path: string): number {
  const disk = statfsSync(path);
  // Some network and container file systems do not say; then only a failing write tells.
  return disk.blocks === 0 ? Number.MAX_SAFE_INTEGER : disk.bavail * disk.bsize;
}
