/**
 * The calling thread's end of the writer thread: a bounded queue of commits, posted once per turn of the event loop and
 * settled in order, each after the fsync of its batch. It does not depend on LMDB. When the writer thread dies, the
 * outcome of the commits that it held is unknown, and they are rejected with a message that says so.
 */
import { Worker } from "node:worker_threads";
import { AppError, assert } from "../errors.js";
import type {
  LogPlace,
  WriteFailure,
  WriterOptions,
  WriterReply,
  WriterReport,
  WriterRequest,
  WriterState,
} from "./writer-protocol.js";
import { StoreConflict } from "./store.js";
import type { StoreCommit } from "./store.js";
import { CommitPacker } from "./wire.js";

export interface WriteQueueOptions extends WriterOptions {
  readonly workerPath: string;
  /** Commits that may wait; one more is rejected with `overloaded`. */
  readonly queueLengthMax: number;
}

export interface WriteQueueDependencies {
  /** Called before commits are acknowledged, so that reads after the acknowledgement see them. */
  readonly onBatch: (state: WriterState) => void;
  /** Called after commits with appends were acknowledged, with the names of the logs that grew. */
  readonly onAppended: (chains: ReadonlySet<string>) => void;
  /** Called with the encoded keys of watched tables that other nodes have changed, when the changes can be read. */
  readonly onForeign?: (keys: readonly Uint8Array[]) => void;
  /** Called once, when nothing can be written until a restart. */
  readonly onFatal: (error: AppError) => void;
}

/** Bytes of commits that may wait: a limit on memory beside the limit on their number. */
const QUEUE_BYTES_MAX = 64 * 2 ** 20;

/** Up to this size a copy costs less than a transfer of the memory, which takes some 20 us. */
const COPIED_BYTES_MAX = 64 * 1024;

interface Pending {
  readonly bytes: number;
  /** Names of the logs that it appends to; undefined for none. */
  readonly chains: readonly string[] | undefined;
  /** False for commits of appends alone. */
  readonly replaces: boolean;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class WriteQueue {
  readonly #options: WriteQueueOptions;
  readonly #dependencies: WriteQueueDependencies;
  readonly #worker: Worker;
  readonly #packer = new CommitPacker();
  readonly #exited: Promise<void>;
  #pending: Pending[] = [];
  #pendingBytes = 0;
  #flushing = false;
  #state: WriterState = "ready";
  #revision = 0;
  #place: LogPlace | undefined;
  #foreignGroups = 0;
  #closed = false;
  #confirming: { resolve: () => void; reject: (error: Error) => void }[] = [];
  #whenEmpty: (() => void) | undefined;
  #whenReady: { resolve: () => void; reject: (error: Error) => void } | undefined;

  constructor(options: WriteQueueOptions, dependencies: WriteQueueDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    const { path, dataBytesMax, reserveBytes, chainKey, cluster } = options;
    const workerData: WriterOptions = { path, dataBytesMax, reserveBytes, chainKey, cluster };
    // The writer gets no environment variables: they may hold keys and passwords.
    this.#worker = new Worker(options.workerPath, { workerData, env: {}, execArgv: [], name: "store-writer" });
    this.#worker.on("message", (reply: WriterReply) => {
      this.#settle(reply);
    });
    this.#worker.on("error", (error) => {
      this.#die(error);
    });
    this.#exited = new Promise((resolve) => {
      this.#worker.once("exit", () => {
        if (!this.#closed) this.#die(new Error("the writer thread ended"));
        resolve();
      });
    });
  }

  get state(): WriterState {
    return this.#state;
  }

  /** See Store.revision. */
  get revision(): number {
    return this.#revision;
  }

  /** Resolves when the writer has opened the store. Rejects when it cannot. */
  ready(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#whenReady = { resolve, reject };
    });
  }

  /** See Store.commit. */
  commit(commit: StoreCommit): Promise<void> {
    // One promise per commit; an exception in here rejects it.
    return new Promise((resolve, reject) => {
      this.#requireCapacity();
      const bytes = this.#packer.add(commit);
      this.#pendingBytes += bytes;
      this.#pending.push({
        bytes,
        chains: commit.appends?.map(({ chain }) => chain),
        replaces: replaces(commit),
        resolve,
        reject,
      });
      this.#scheduleFlush();
    });
  }

  /**
   * Resolves when everything can be read that any node of the cluster had committed at the call.
   * @throws store_unreachable when the cluster's database does not say how much that is
   */
  confirm(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new AppError("shutting_down", { message: "the store is closed", retryAfterSec: 5 });
      if (this.#state === "failed") throw storageFailed("the store accepts no writes since its disk failed");
      this.#confirming.push({ resolve, reject });
      this.#post({ confirm: true });
    });
  }

  /** Where this node stands in the cluster's log; undefined in a single server. */
  get place(): LogPlace | undefined {
    return this.#place;
  }

  /** A number that grows with the commits of other nodes that can be read. */
  get foreignGroups(): number {
    return this.#foreignGroups;
  }

  /** Has `onForeign` told of a table's keys from now on. */
  watch(table: string): void {
    if (!this.#closed) this.#post({ watch: table });
  }

  /** Rejects new commits, and waits for the accepted ones and for the end of the thread. */
  async close(): Promise<void> {
    if (this.#closed) return this.#exited;
    this.#closed = true;
    if (this.#pending.length > 0)
      await new Promise<void>((resolve) => {
        this.#whenEmpty = resolve;
      });
    this.#post({ close: true });
    await this.#exited;
  }

  /** Throws when no commit can be accepted. */
  #requireCapacity(): void {
    if (this.#closed) throw new AppError("shutting_down", { message: "the store is closed", retryAfterSec: 5 });
    if (this.#state === "failed") throw storageFailed("the store accepts no writes since its disk failed");
    if (this.#pending.length >= this.#options.queueLengthMax || this.#pendingBytes >= QUEUE_BYTES_MAX) {
      throw new AppError("overloaded", { message: "too many writes are waiting", retryAfterSec: 1 });
    }
  }

  /**
   * Posts at the end of the event loop's turn: the commits of all its events are sent as one message, and become one
   * transaction.
   */
  #scheduleFlush(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#flushing = false;
    if (this.#packer.commits === 0) return;
    const commits = this.#packer.take();
    this.#post(commits, commits.length > COPIED_BYTES_MAX ? [commits.buffer] : []);
  };

  #post(request: WriterRequest, transfer: readonly ArrayBuffer[] = []): void {
    this.#worker.postMessage(request, transfer);
  }

  #settle(reply: WriterReply): void {
    const report: WriterReport = typeof reply === "number" ? { settled: reply, failures: [], state: "ready" } : reply;
    if (report.startFailure === undefined) this.#whenReady?.resolve();
    else {
      // The thread ends by itself.
      this.#closed = true;
      this.#whenReady?.reject(toError(report.startFailure));
    }
    this.#whenReady = undefined;
    const { settled: count, failures, state, foreign, place } = report;
    this.#state = state;
    this.#place = place;
    if (foreign !== undefined) this.#foreignGroups += 1;
    this.#dependencies.onBatch(state);
    const settled = this.#pending.splice(0, count);
    assert(settled.length === count, "the writer settles only what it was given");
    if (foreign !== undefined || settled.some((pending) => pending.replaces)) this.#revision += 1;
    const appended = new Set<string>(foreign?.logs);
    let failed = 0;
    for (let index = 0; index < count; index += 1) {
      const { bytes, chains, resolve, reject } = settled[index] as Pending;
      this.#pendingBytes -= bytes;
      // The failures are in the order of the commits.
      const failure = failures[failed];
      if (failure?.index === index) {
        failed += 1;
        reject(toError(failure.failure, this.#options));
      } else {
        resolve();
        if (chains !== undefined) for (const chain of chains) appended.add(chain);
      }
    }
    if (appended.size > 0) this.#dependencies.onAppended(appended);
    this.#tellForeign(report);
    if (state === "failed") this.#dependencies.onFatal(storageFailed(report.fault ?? "the disk of the store failed"));
    if (this.#pending.length === 0) this.#whenEmpty?.();
  }

  /** Tells of what other nodes have changed, and answers those who asked whether all of it is here. */
  #tellForeign({ foreign, confirmed }: WriterReport): void {
    if (foreign !== undefined && foreign.keys.length > 0) this.#dependencies.onForeign?.(foreign.keys);
    if (confirmed === undefined) return;
    for (const { resolve, reject } of this.#confirming.splice(0, confirmed.requests))
      if (confirmed.failure === undefined) resolve();
      else reject(toError(confirmed.failure));
  }

  /**
   * No second writer thread is started: it would share the environment of a thread that died inside LMDB. The process
   * must restart, which the crash tests show to be safe at any moment.
   */
  #die(cause: Error): void {
    if (this.#state === "failed" && this.#pending.length === 0 && this.#whenReady === undefined) return;
    this.#state = "failed";
    const error = storageFailed(
      "the writer thread of the store died; whether the commit was written is unknown",
      cause,
    );
    const pending = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#whenReady?.reject(error);
    const wasStarting = this.#whenReady !== undefined;
    this.#whenReady = undefined;
    for (const { reject } of [...pending, ...this.#confirming.splice(0)]) reject(error);
    this.#whenEmpty?.();
    if (!wasStarting) this.#dependencies.onFatal(error);
  }
}

function replaces({ puts = [], deletes = [], deletePrefixes = [] }: StoreCommit): boolean {
  return puts.length + deletes.length + deletePrefixes.length > 0;
}

function storageFailed(message: string, cause?: unknown): AppError {
  return new AppError("storage_failed", { message, retryAfterSec: 5, ...(cause === undefined ? {} : { cause }) });
}

function toError(failure: WriteFailure, { cluster }: Pick<WriteQueueOptions, "cluster"> = {}): Error {
  switch (failure.code) {
    case "conflict":
      return new StoreConflict(failure.key, { isShared: cluster !== undefined });
    case "storage_failed":
      return storageFailed(failure.message);
    case "store_unreachable":
    case "outcome_unknown":
      return new AppError(failure.code, { message: failure.message, retryAfterSec: 5 });
    case "too_many_records":
    case "start_refused":
      return new AppError("conflict", { message: failure.message });
    case "internal_error":
      return new Error(`the writer thread failed: ${failure.message}`);
    case "data_corrupt":
    case "storage_full":
      return new AppError(failure.code, { message: failure.message });
  }
}
