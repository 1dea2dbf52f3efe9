/**
 * Opens the LMDB environment with the options that every thread must use, and reads and writes the meta record of the
 * store. Only the writer thread, and a migration before the writer starts, may open write transactions.
 *
 * `overlappingSync: false`: with lmdb-js's default, a write whose fsync failed is rejected but stays visible.
 * `noMemInit: false`: pages on disk never contain stray memory. Compression, the value cache and shared structures are
 * off, so that the bytes read are the bytes written.
 */
import { chmodSync, mkdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type * as lmdb from "lmdb";
import { AppError } from "../../errors.js";
import { RESERVED_KEY_BYTE } from "../keys.js";
import { corrupt, decodeRecord, encodeRecord } from "../record.js";

export type Environment = lmdb.RootDatabase<Buffer, Buffer>;

/**
 * The package's CommonJS build, one file: its ES modules are a dozen, which each thread would have to find and open.
 */
const { open } = createRequire(import.meta.url)("lmdb") as typeof lmdb;

/**
 * Address space reserved for the memory map. lmdb-js extends it when needed, so it is no limit; the writer has its own.
 */
const MAP_BYTES = 64 * 2 ** 30;

/** Threads and open snapshots at a time; each takes 64 bytes of the lock file. */
const READERS_MAX = 512;

/** Name of the data file in the store's folder. */
export const DATA_FILE = "data.mdb";
export const LOCK_FILE = "lock.mdb";
/** Nobody but the server's user reads the store, even where its folder was made by somebody else. */
export const STORE_FILE_MODE = 0o600;

/** An option that the declarations of lmdb-js lack: the mode of the files that it creates. */
interface FileModeOption {
  readonly permissionsMode: number;
}

const META_KEY = Buffer.of(RESERVED_KEY_BYTE, 0x01);
/** Where a replica stands in its cluster's log (cluster/replica.ts); a single server's store has no such record. */
export const REPLICA_PLACE_KEY = Buffer.of(RESERVED_KEY_BYTE, 0x02);

/** The meta record, rewritten with every batch. This is its form in memory; it is stored with the sum as hex. */
export interface StoreMeta {
  /** Number of the last migration that has run. */
  schema_version: number;
  /** The last version given to a record. It only grows, so that versions never repeat. */
  sequence: number;
  /** Number of records, without this one. */
  count: number;
  /**
   * Sum of all records' tags modulo 2^64. A walk over the store must arrive at the same sum. This detects records that
   * a damaged page hides, which the tag of a single record cannot.
   */
  tag_sum: bigint;
}

export interface Space {
  readonly fileBytes: number;
  /** End of LMDB's last page; the file may be longer, with room for more pages (lmdb-room.ts). */
  readonly endBytes: number;
  /** Bytes of free pages and of room at the end. LMDB files never shrink; free pages are reused. */
  readonly freeInsideBytes: number;
}

export interface EnvironmentOptions {
  readonly readOnly?: boolean;
  /** Commits are on disk when the system has time: for replicas (unsynced-folder.ts). All threads must say the same. */
  readonly isUnsynced?: boolean;
}

/**
 * Opens the data file in a folder, and creates both when they are missing.
 * @throws storage_failed when they cannot be opened or created; the message names the folder
 */
export function openEnvironment(path: string, options: EnvironmentOptions = {}): Environment {
  try {
    if (options.readOnly !== true) mkdirSync(path, { recursive: true, mode: 0o700 });
    const fileMode: FileModeOption = { permissionsMode: STORE_FILE_MODE };
    const environment = open<Buffer, Buffer>({
      ...fileMode,
      path,
      mapSize: MAP_BYTES,
      maxReaders: READERS_MAX,
      maxDbs: 1,
      keyEncoding: "binary",
      encoding: "binary",
      overlappingSync: false,
      noMemInit: false,
      compression: false,
      cache: false,
      readOnly: options.readOnly === true,
      noSync: options.isUnsynced === true,
    });
    if (options.readOnly !== true) keepPrivate(path);
    return environment;
  } catch (error) {
    throw new AppError("storage_failed", {
      message: `the store in ${path} cannot be opened: ${reasonOf(error)}`,
      cause: error,
    });
  }
}

/** Files of older versions have the mode that the process's mask left them. Only their owner can change it. */
function keepPrivate(path: string): void {
  for (const file of [join(path, DATA_FILE), join(path, LOCK_FILE)])
    if (statSync(file).uid === process.getuid?.()) chmodSync(file, STORE_FILE_MODE);
}

/** Returns the meta record of a store without records. */
export function emptyMeta(schemaVersion: number): StoreMeta {
  return { schema_version: schemaVersion, sequence: 0, count: 0, tag_sum: 0n };
}

/** Returns the meta record, or undefined in a new store. Throws `data_corrupt`. */
export function readMeta(
  environment: Environment,
  transaction?: ReturnType<Environment["useReadTransaction"]>,
): StoreMeta | undefined {
  const bytes = readBinary(environment, META_KEY, transaction);
  if (bytes === undefined) return undefined;
  const stored = JSON.parse(decodeRecord(META_KEY, bytes).json.toString("utf8")) as Omit<StoreMeta, "tag_sum"> & {
    readonly tag_sum: string;
  };
  return { ...stored, tag_sum: BigInt(`0x${stored.tag_sum}`) };
}

/** Whether an environment is a node's replica. */
export function isReplica(environment: Environment): boolean {
  return readBinary(environment, REPLICA_PLACE_KEY) !== undefined;
}

/**
 * Refuses to use a node's replica as the store of a single server, which would part from the cluster unnoticed.
 * @throws conflict with the way out
 */
export function refuseReplica(environment: Environment): void {
  if (!isReplica(environment)) return;
  throw new AppError("conflict", {
    message:
      "the folder is a replica of a cluster: set PROOFWRIGHT_DATABASE_URL, or make it a single server's with `proofwright cluster leave`",
  });
}

/** Writes the meta record. Must be called inside a transaction. */
export function writeMeta(environment: Environment, meta: StoreMeta): void {
  const json = JSON.stringify({ ...meta, tag_sum: meta.tag_sum.toString(16) });
  void environment.put(META_KEY, encodeRecord(META_KEY, meta.sequence, json).bytes);
}

/**
 * Returns the stored bytes of a key. An error of LMDB is rethrown as `data_corrupt`: reading a sound file causes none.
 */
export function readBinary(
  environment: Environment,
  key: Buffer,
  transaction?: ReturnType<Environment["useReadTransaction"]>,
): Buffer | undefined {
  try {
    if (transaction === undefined) return environment.getBinary(key);
    // The option exists at run time; only the type of getBinary lacks it.
    const read = environment.getBinary.bind(environment) as (
      id: Buffer,
      options: { transaction: unknown },
    ) => Buffer | undefined;
    return read(key, { transaction });
  } catch (error) {
    throw corrupt(error);
  }
}

/** Runs `body` as one transaction. When it returns, all its writes are on disk; when it throws, nothing is written. */
export function transact(environment: Environment, body: () => void): void {
  environment.transactionSync(body);
}

/** Measures the data file and its free space, in microseconds. */
export function measureSpace(environment: Environment, path: string): Space {
  const stats = environment.getStats() as {
    pageSize: number;
    lastPageNumber: number;
    root: TreePages;
    free: TreePages;
  };
  const used = 2 + pagesOf(stats.root) + pagesOf(stats.free);
  const fileBytes = statSync(join(path, DATA_FILE)).size;
  const endBytes = (stats.lastPageNumber + 1) * stats.pageSize;
  return { fileBytes, endBytes, freeInsideBytes: Math.max(0, Math.max(fileBytes, endBytes) - used * stats.pageSize) };
}

interface TreePages {
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

function pagesOf(tree: TreePages): number {
  return tree.treeBranchPageCount + tree.treeLeafPageCount + tree.overflowPages;
}

/** Returns the text of an unknown error, for messages to the operator. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
