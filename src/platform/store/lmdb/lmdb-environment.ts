/**
 * Opens the LMDB environment the one way that every thread must open it, and reads and writes the store's own record.
 * Only the writer thread, and a migration before the writer starts, may open transactions on it.
 *
 * `overlappingSync: false`: with lmdb-js's default a write whose fsync failed is refused but stays visible. `noMemInit:
 * false`: pages on disk never hold stray memory. No compression, no value cache, no shared structures: what is read is
 * what was written.
 */
import { mkdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type * as lmdb from "lmdb";
import { AppError } from "../../errors.js";
import { RESERVED_KEY_BYTE } from "../keys.js";
import { corrupt, decodeRecord, encodeRecord } from "../record.js";

export type Environment = lmdb.RootDatabase<Buffer, Buffer>;

/** The package's CommonJS build: one file, where its ES modules are a dozen to find and open, for each thread anew. */
const { open } = createRequire(import.meta.url)("lmdb") as typeof lmdb;

/**
 * Address space set aside for the map. lmdb-js grows it beyond when needed, so it is no limit; the writer keeps one.
 */
const MAP_BYTES = 64 * 2 ** 30;

/** Threads and open snapshots at a time; a slot is 64 bytes of the lock file. */
const READERS_MAX = 512;

/** In the store's folder. */
export const DATA_FILE = "data.mdb";

const META_KEY = Buffer.of(RESERVED_KEY_BYTE, 0x01);

/** The store's own record, rewritten with every batch. In memory; stored with the sum as hex. */
export interface StoreMeta {
  /** Number of the last migration that has run. */
  schema_version: number;
  /** Last version given to a record; the source of versions that never repeat. */
  sequence: number;
  /** How many records there are, without this one. */
  count: number;
  /**
   * Sum of all records' tags modulo 2^64. A walk over the store must arrive at it: that shows records that a damaged
   * page hides, which no tag of a single record can.
   */
  tag_sum: bigint;
}

export interface Space {
  readonly fileBytes: number;
  /** Where LMDB's pages end; what the file has beyond is room for more of them. */
  readonly endBytes: number;
  /** Bytes inside the file that hold nothing. LMDB files never shrink, they reuse. */
  readonly freeInsideBytes: number;
}

/**
 * Opens or creates the data file in `path` (a folder). Throws `storage_failed` with the folder's name when it cannot.
 */
export function openEnvironment(path: string, options: { readOnly?: boolean } = {}): Environment {
  try {
    if (options.readOnly !== true) mkdirSync(path, { recursive: true, mode: 0o700 });
    return open<Buffer, Buffer>({
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
    });
  } catch (error) {
    throw new AppError("storage_failed", {
      message: `the store in ${path} cannot be opened: ${reasonOf(error)}`,
      cause: error,
    });
  }
}

/** The store's own record, or undefined in a new store. Throws `data_corrupt`. */
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

/** Puts the store's own record; inside a transaction only. */
export function writeMeta(environment: Environment, meta: StoreMeta): void {
  const json = JSON.stringify({ ...meta, tag_sum: meta.tag_sum.toString(16) });
  void environment.put(META_KEY, encodeRecord(META_KEY, meta.sequence, json).bytes);
}

/**
 * The stored bytes under a key; an error of LMDB itself is `data_corrupt`, because a sound file has none on reading.
 */
export function readBinary(
  environment: Environment,
  key: Buffer,
  transaction?: ReturnType<Environment["useReadTransaction"]>,
): Buffer | undefined {
  try {
    if (transaction === undefined) return environment.getBinary(key);
    // The option is there at run time and in `get`; the type of getBinary leaves it out.
    const read = environment.getBinary.bind(environment) as (
      id: Buffer,
      options: { transaction: unknown },
    ) => Buffer | undefined;
    return read(key, { transaction });
  } catch (error) {
    throw corrupt(error);
  }
}

/** Runs `body` as one transaction: everything it puts is on disk when this returns, or nothing is when it throws. */
export function transact(environment: Environment, body: () => void): void {
  environment.transactionSync(body);
}

/** How large the data file is, and how much of it holds nothing. Microseconds. */
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

/** Text of an unknown error, for messages to the operator. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
