/**
 * Applies a batch of commits on the writer thread: one transaction and one fsync for the batch, each commit decided by
 * itself. A commit whose check fails writes nothing and does not affect the others. Must not run on two threads, and
 * must not touch the disk between batches.
 */
import { AppError, assert } from "../../errors.js";
import { ChainKey } from "../chain.js";
import { evaluateCommit } from "./commit-evaluation.js";
import { ChainTails } from "./lmdb-chains.js";
import { ChangeSet } from "./lmdb-changes.js";
import { readMeta, reasonOf, writeMeta } from "./lmdb-environment.js";
import type { Environment, StoreMeta } from "./lmdb-environment.js";
import { transactionSpace, type RecordSpace } from "./record-space.js";
import { systemStorage, type WriterStorage } from "./lmdb-storage.js";
import { APPEND, DELETE, DELETE_PREFIX, PUT } from "../wire.js";
import type { PackedCommit } from "../wire.js";
import type { WriteFailure, WriterOptions, WriterState } from "../writer-protocol.js";

/** Why a commit was not applied; undefined when it is applied and on disk. */
export type WriteOutcome = WriteFailure | undefined;

/** Pages that a small transaction copies from leaf to root, and of the free list. */
const TRANSACTION_OVERHEAD_BYTES = 64 * 4096;

/** Write amplification: covers half-empty pages and copied neighbours. */
const SPACE_FACTOR = 3;

/** With less free space, a failed write means a full disk: LMDB reports a short write as EIO instead of ENOSPC. */
const FULL_DISK_BYTES = 16 * 2 ** 20;

/** EFBIG, ENOSPC, EDQUOT, and LMDB's MDB_MAP_FULL. */
const FULL_CODES: ReadonlySet<unknown> = new Set([27, 28, 122, -30792]);

export class LmdbWriter {
  readonly #environment: Environment;
  readonly #space: RecordSpace;
  readonly #storage: WriterStorage;
  readonly #options: WriterOptions;
  readonly #chainKey: ChainKey | undefined;
  /** As the last transaction wrote them, so that the next need not read them; undefined after a failed transaction. */
  #cached: { readonly meta: StoreMeta; readonly tails: ChainTails } | undefined;
  #state: WriterState = "ready";

  constructor(options: WriterOptions, dependencies: { environment: Environment; storage?: WriterStorage }) {
    this.#options = options;
    this.#chainKey = options.chainKey === undefined ? undefined : new ChainKey(options.chainKey);
    this.#environment = dependencies.environment;
    this.#space = transactionSpace(dependencies.environment);
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
        message: "the store accepts no writes since its disk failed",
      }));
    let outcomes: WriteOutcome[] = [];
    try {
      outcomes = this.#refuseForSpace(commits);
      this.#storage.transact(() => {
        this.#applyAll(commits, outcomes);
      });
      const isRefused = outcomes.some((outcome) => outcome?.code === "storage_full");
      // Commits that pass on a full disk (deletions, the audit log) do not show that there is space again.
      this.#state = isRefused || (this.#state === "full" && !this.#hasRoom()) ? "full" : "ready";
      return outcomes;
    } catch (error) {
      this.#cached = undefined;
      const failure = this.#classify(error);
      // All commits fail alike: a conflict may have been with a commit of this batch that is now rolled back.
      return commits.map((_, index) => (outcomes[index]?.code === "storage_full" ? outcomes[index] : failure));
    }
  }

  /**
   * Refuses commits that would not fit before LMDB fails on them, and keeps a reserve, since even a deletion copies
   * pages.
   */
  #refuseForSpace(commits: readonly PackedCommit[]): WriteOutcome[] {
    let free = this.#storage.freeBytes() - TRANSACTION_OVERHEAD_BYTES;
    const needed = commits.reduce((sum, { bytes }) => sum + bytes * SPACE_FACTOR, 0);
    if (free - needed >= this.#options.reserveBytes) return commits.map(() => undefined);
    return commits.map((commit) => {
      const isUrgent = commit.urgent || isDeletion(commit);
      const need = commit.bytes * SPACE_FACTOR;
      if (!isUrgent && free - need < this.#options.reserveBytes) {
        return {
          code: "storage_full",
          message: "the disk is full, or the store has reached its maximum size; nothing was written",
        };
      }
      free -= need;
      return undefined;
    });
  }

  #hasRoom(): boolean {
    return this.#storage.freeBytes() - TRANSACTION_OVERHEAD_BYTES >= this.#options.reserveBytes;
  }

  #applyAll(commits: readonly PackedCommit[], outcomes: WriteOutcome[]): void {
    this.#cached ??= this.#readStored();
    const { meta, tails } = this.#cached;
    let changed = false;
    for (const [index, commit] of commits.entries()) {
      if (outcomes[index] !== undefined) continue;
      const prepared = evaluateCommit(commit, this.#space, tails);
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

  #readStored(): { meta: StoreMeta; tails: ChainTails } {
    const meta = readMeta(this.#environment);
    assert(meta !== undefined, "an open store has a meta record");
    return { meta, tails: new ChainTails(this.#space, this.#chainKey) };
  }

  #classify(error: unknown): WriteFailure {
    if (error instanceof AppError)
      return { code: error.code === "data_corrupt" ? "data_corrupt" : "internal_error", message: error.message };
    const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
    // An error without a code is a fault of the program, not of the disk; the transaction was rolled back.
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
      // A disk that cannot be queried has failed; it is not merely full.
      return false;
    }
  }
}

/**
 * True for a commit of deletions alone, or with appends that record them. Without the appends no deletion could be
 * audited on a full disk, and no space could be made.
 */
function isDeletion({ operations }: PackedCommit): boolean {
  const has = (...kinds: readonly number[]): boolean => operations.some(({ kind }) => kinds.includes(kind));
  return !has(PUT) && (!has(APPEND) || has(DELETE, DELETE_PREFIX));
}
