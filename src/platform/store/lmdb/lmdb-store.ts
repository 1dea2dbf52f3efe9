/**
 * The LMDB adapter of the store port: reads on the calling thread, all writes on one writer thread in groups. A commit
 * resolves after the fsync of its group. One process at a time owns a data folder.
 */
import { existsSync, mkdirSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError } from "../../errors.js";
import type { Log } from "../../log.js";
import { workerPath } from "../../files/package-root.js";
import { syncFolder, syncPath } from "../../files/durable-files.js";
import { lockFolder, refuseOtherContainer } from "../../files/folder-lock.js";
import { ChainKey } from "../chain.js";
import { encodeKey, prefixRange } from "../keys.js";
import { ChainTails } from "./lmdb-chains.js";
import { ChangeSet } from "./lmdb-changes.js";
import {
  DATA_FILE,
  STORE_FILE_MODE,
  emptyMeta,
  openEnvironment,
  readMeta,
  isReplica,
  refuseReplica,
  transact,
  writeMeta,
} from "./lmdb-environment.js";
import type { Environment } from "./lmdb-environment.js";
import { migrate, migrationStore, storedMeta } from "./lmdb-migrate.js";
import { countKeys, readRange, readRecord } from "./lmdb-reader.js";
import { transactionSpace } from "./record-space.js";
import { refuseTorn } from "./unsynced-folder.js";
import { scrubStore, scrubStoreNow } from "./lmdb-scrub.js";
import type { IntegrityReport } from "./lmdb-scrub.js";
import { FIRST_SCHEMA_VERSION, MIGRATIONS } from "../migrations.js";
import type { Migration, MigrationStore } from "../migrations.js";
import type {
  AppendFeed,
  RangeOptions,
  Store,
  StoreAppend,
  StoreCommit,
  StoreKey,
  StoreRecord,
  StoreValue,
} from "../store.js";
import { isTraced, traced, type Step } from "../../tracing/steps.js";
import { WriteQueue, type WriteQueueOptions } from "../write-queue.js";
import type { WriterState } from "../writer-protocol.js";

export interface OpenStoreOptions {
  /** Folder of the data file, on a local disk, not on a network file system. */
  readonly path: string;
  /** Largest size of the data file in bytes; beyond it commits fail with `storage_full`. Default 64 GiB. */
  readonly mapBytes?: number;
  /** Free bytes that only deletions and urgent commits may use. Default 64 MiB. */
  readonly reserveBytes?: number;
  /** Commits that may wait for the writer. Default 1,024. */
  readonly queueLengthMax?: number;
  /** 32 bytes that link the hash chains (chain.ts); needed for commits with appends. */
  readonly chainKey?: Uint8Array;
  /** For tests of migrations; by default those of the program. */
  readonly migrations?: readonly Migration[];
}

export interface OpenStoreDependencies {
  readonly log: Log;
  /** Called once when the store can no longer be written or trusted; the server must seal, stop and restart. */
  readonly onFatal?: (error: AppError) => void;
}

/** Reads of a store, also while a server runs on it. */
export interface StoreReader extends Pick<Store, "get" | "range" | "count"> {
  readonly schemaVersion: number;
  /**
   * Copies a consistent snapshot into a new folder and fsyncs it; commits continue meanwhile.
   * @throws conflict when the folder holds a store already
   */
  backup(folder: string): Promise<void>;
  /** Reads everything and reports damage. Pauses often, and takes about 10 us per record. */
  integrityReport(): Promise<IntegrityReport>;
  close(): Promise<void>;
}

/** A store with what the operation of the server needs beside the port. */
export interface DurableStore extends Store, StoreReader, AppendFeed {
  /** See Store.revision. */
  readonly revision: () => number;
  /** ready, full (only deletions and urgent commits), or failed (nothing, until a restart). */
  readonly state: WriterState;
}

const COMMIT: Step = { name: "store commit", kind: "internal" };
const DATA_BYTES_MAX = 64 * 2 ** 30;
const RESERVE_BYTES = 64 * 2 ** 20;
const QUEUE_LENGTH_MAX = 1024;

/**
 * Records that are all checked before the server starts (about half a second); a larger store is checked while it
 * serves.
 */
const VERIFY_BEFORE_SERVING_MAX = 100_000;

/**
 * Opens or creates the store of a data folder, checks it and runs pending migrations.
 * @throws conflict when another server uses it, or a newer program wrote it
 * @throws data_corrupt when it is damaged
 * @throws storage_failed when the folder cannot be used
 */
export async function openStore(options: OpenStoreOptions, dependencies: OpenStoreDependencies): Promise<DurableStore> {
  const lock = lockFolder(options.path);
  let environment: Environment | undefined;
  try {
    refuseTorn(options.path);
    environment = openEnvironment(options.path);
    refuseReplica(environment);
    await prepare(environment, options, dependencies.log);
    const store = new LmdbStore(queueOptionsOf(options), {
      ...dependencies,
      environment,
      release: () => {
        lock.release();
      },
    });
    await store.start();
    return store;
  } catch (error) {
    await environment?.close();
    lock.release();
    throw error;
  }
}

/** Operations on a store that no other process has open. */
export interface RewriteStore extends MigrationStore {
  append(record: StoreAppend): void;
}

/**
 * Changes a store that no server has open, in one transaction of any size. Nothing is changed when `change` throws.
 * @throws conflict when a server uses the store, or another version wrote it
 */
export async function rewriteStore(
  options: { readonly path: string; readonly chainKey: Uint8Array },
  change: (store: RewriteStore) => void,
): Promise<void> {
  const lock = lockFolder(options.path);
  let environment: Environment | undefined;
  try {
    refuseTorn(options.path);
    const opened = openEnvironment(options.path);
    environment = opened;
    refuseReplica(opened);
    const chainKey = new ChainKey(options.chainKey);
    const newest = MIGRATIONS.at(-1)?.to ?? FIRST_SCHEMA_VERSION;
    if (storedMeta(opened).schema_version !== newest)
      throw new AppError("conflict", {
        message: "the store was written by another version; start that version of the server, or this one, first",
      });
    refuseDamaged(scrubStoreNow(opened));
    transact(opened, () => {
      const meta = storedMeta(opened);
      change({
        ...migrationStore(opened, meta),
        append: ({ chain, value, indexes = [], unlinked = false }) => {
          const space = transactionSpace(opened);
          const tails = new ChainTails(space, chainKey);
          const changes = new ChangeSet(space, tails);
          changes.append({
            key: encodeKey([chain]),
            json: Buffer.from(JSON.stringify(value)),
            indexes: indexes.map(encodeKey),
            unlinked,
          });
          changes.write(meta);
          tails.write(meta);
        },
      });
      writeMeta(opened, meta);
    });
  } finally {
    await environment?.close();
    lock.release();
  }
}

/**
 * Opens a store for reading only, also while a server runs on it, for the commands `backup` and `scrub`.
 * @throws conflict while a server of another container runs on it
 */
export function openStoreReader(options: { readonly path: string }): StoreReader {
  if (!existsSync(join(options.path, DATA_FILE))) {
    throw new AppError("storage_failed", { message: `there is no store in ${options.path}` });
  }
  refuseOtherContainer(options.path);
  refuseTorn(options.path);
  return new LmdbReader(openEnvironment(options.path, { readOnly: true }));
}

/** Whether a folder holds the replica of a cluster's node, and not the store of a single server. */
export function isReplicaFolder(options: { readonly path: string }): boolean {
  refuseOtherContainer(options.path);
  refuseTorn(options.path);
  const environment = openEnvironment(options.path, { readOnly: true });
  try {
    return isReplica(environment);
  } finally {
    void environment.close();
  }
}

/** Initializes a new store, or checks and migrates an existing one, before it is used. */
async function prepare(environment: Environment, options: OpenStoreOptions, log: Log): Promise<void> {
  const migrations = options.migrations ?? MIGRATIONS;
  const meta = readMeta(environment);
  if (meta === undefined) {
    if (environment.getKeysCount({ ...prefixRange([]), limit: 1 }) > 0) throw damaged("its meta record is missing");
    transact(environment, () => {
      writeMeta(environment, emptyMeta(migrations.at(-1)?.to ?? FIRST_SCHEMA_VERSION));
    });
    // LMDB syncs the file but not the folders that hold its name.
    syncFolder(options.path);
    syncFolder(dirname(options.path));
    return;
  }
  if (meta.count <= VERIFY_BEFORE_SERVING_MAX) refuseDamaged(scrubStoreNow(environment));
  await migrate(environment, { migrations, log, backup: (name) => backupTo(environment, join(options.path, name)) });
}

function refuseDamaged(report: IntegrityReport): void {
  if (report.sound) return;
  throw damaged(report.damages[0]?.reason ?? "unknown damage");
}

function damaged(reason: string): AppError {
  return new AppError("data_corrupt", { message: `the store is damaged (${reason}): restore a backup` });
}

async function backupTo(environment: Environment, folder: string): Promise<void> {
  const file = join(folder, DATA_FILE);
  if (existsSync(file)) throw new AppError("conflict", { message: `${folder} holds a store already` });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Not compacted: a compacting copy takes longer, and freed pages cannot be reused until its snapshot ends.
  await environment.backup(folder, false);
  await chmod(file, STORE_FILE_MODE);
  await syncPath(file);
  await syncPath(folder);
  await syncPath(dirname(folder));
}

class LmdbReader implements StoreReader {
  protected readonly environment: Environment;
  readonly schemaVersion: number;
  readonly #ending = new AbortController();
  /** Walks that go on: nothing may read an environment that is closed. */
  readonly #walks = new Set<Promise<IntegrityReport>>();

  constructor(environment: Environment) {
    this.environment = environment;
    const meta = readMeta(environment);
    if (meta === undefined) throw damaged("its meta record is missing");
    this.schemaVersion = meta.schema_version;
  }

  get<T = StoreValue>(key: StoreKey): StoreRecord<T> | undefined {
    return readRecord<T>(this.environment, key);
  }

  range<T = StoreValue>(prefix: StoreKey, options?: RangeOptions): StoreRecord<T>[] {
    return readRange<T>(this.environment, prefix, options);
  }

  count(prefix: StoreKey): number {
    return countKeys(this.environment, prefix);
  }

  backup(folder: string): Promise<void> {
    return backupTo(this.environment, folder);
  }

  async integrityReport(): Promise<IntegrityReport> {
    const walk = scrubStore(this.environment, this.#ending.signal);
    this.#walks.add(walk);
    try {
      return await walk;
    } finally {
      this.#walks.delete(walk);
    }
  }

  async close(): Promise<void> {
    await this.endWalks();
    await this.environment.close();
  }

  /** Ends the walks over all records that go on. */
  protected async endWalks(): Promise<void> {
    this.#ending.abort();
    await Promise.allSettled(this.#walks);
  }
}

/** Returns the options of the writer thread of a single server. */
export function queueOptionsOf(options: OpenStoreOptions): WriteQueueOptions {
  return {
    path: options.path,
    workerPath: workerPath("writer.worker"),
    dataBytesMax: options.mapBytes ?? DATA_BYTES_MAX,
    reserveBytes: options.reserveBytes ?? RESERVE_BYTES,
    queueLengthMax: options.queueLengthMax ?? QUEUE_LENGTH_MAX,
    chainKey: options.chainKey,
  };
}

/** A store whose reads are LMDB's, and whose commits are those of a writer thread. */
export class LmdbStore extends LmdbReader implements DurableStore {
  protected readonly queue: WriteQueue;
  readonly #dependencies: OpenStoreDependencies & { readonly release: () => void };
  readonly #listeners = new Map<string, Set<() => void>>();
  #isFatal = false;
  #closing: Promise<void> | undefined;
  /** See Store.revision. Bound, so that wrappers may pass it on as it is. */
  readonly revision = (): number => this.queue.revision;

  constructor(
    options: WriteQueueOptions,
    dependencies: OpenStoreDependencies & { environment: Environment; release: () => void },
  ) {
    super(dependencies.environment);
    this.#dependencies = dependencies;
    let last: WriterState = "ready";
    this.queue = new WriteQueue(options, {
      onBatch: (state) => {
        // lmdb-js keeps one read snapshot per turn of the event loop; without this, a read after the acknowledgement
        // would miss the write.
        this.environment.resetReadTxn();
        if (state !== last) dependencies.log.warn("store changed state", { state });
        last = state;
      },
      onAppended: (chains) => {
        for (const chain of chains)
          this.#listeners.get(chain)?.forEach((listener) => {
            listener();
          });
      },
      onForeign: (keys) => {
        this.changedElsewhere(keys);
      },
      onFatal: (error) => {
        this.fatal(error);
      },
    });
  }

  /** See DurableStore. */
  get state(): WriterState {
    return this.queue.state;
  }

  /** Waits until the writer has opened the store; a large one is checked while it serves. */
  async start(): Promise<void> {
    await this.queue.ready();
    if ((readMeta(this.environment)?.count ?? 0) > VERIFY_BEFORE_SERVING_MAX) void this.#verifyWhileServing();
  }

  /** See Store. */
  commit(commit: StoreCommit): Promise<void> {
    return isTraced() ? traced(COMMIT, () => this.queue.commit(commit)) : this.queue.commit(commit);
  }

  /** See AppendFeed. */
  onAppend(chain: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(chain) ?? new Set();
    this.#listeners.set(chain, listeners.add(listener));
    return () => {
      listeners.delete(listener);
    };
  }

  /** Called with the encoded keys of watched tables that other nodes have changed. A single server has no others. */
  protected changedElsewhere(_keys: readonly Uint8Array[]): void {
    // Only a node of a cluster watches tables.
  }

  /** See Store. */
  override close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all([this.endWalks(), this.queue.close()]);
    await super.close();
    this.#dependencies.release();
  }

  async #verifyWhileServing(): Promise<void> {
    try {
      const report = await this.integrityReport();
      if (!report.sound) this.fatal(damaged(report.damages[0]?.reason ?? "unknown damage"));
    } catch (error) {
      // Closing the store ends the check; any other error is damage.
      if (this.#closing === undefined) this.fatal(damaged(error instanceof Error ? error.message : "the walk failed"));
    }
  }

  /** Tells, once, that the store can no longer keep its promises. */
  protected fatal(error: AppError): void {
    if (this.#isFatal) return;
    this.#isFatal = true;
    this.#dependencies.log.error("store failed", { code: error.code });
    this.#dependencies.onFatal?.(error);
  }
}
