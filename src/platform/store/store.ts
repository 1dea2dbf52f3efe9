/**
 * The store port: durable storage for the services. They read, decide and commit; after a conflict they read again.
 * `commit` resolves when the commit is on disk. A caller that answers before then, such as the audit of `deferred`
 * routes, may lose that commit in a crash. The adapter is lmdb/lmdb-store.ts; one test suite runs on every adapter.
 */

/** Parts of a key, outermost first: the table's name, then the owner's kind and id, then ids. Compared part by part. */
export type StoreKey = readonly (string | number)[];

/** The value of a record: plain JSON. Bytes are stored as base64 or hex text. */
export type StoreValue =
  string | number | boolean | null | readonly StoreValue[] | { readonly [member: string]: StoreValue | undefined };

export interface StoreRecord<T = StoreValue> {
  readonly key: StoreKey;
  readonly value: T;
  /**
   * Grows with each write, and never repeats, not even when the key is deleted and written again. Checks compare it.
   */
  readonly version: number;
}

/** A condition of a commit: the key has exactly this version, or does not exist. */
export interface StoreCheck {
  readonly key: StoreKey;
  readonly version: number | "absent";
}

export interface StorePut {
  readonly key: StoreKey;
  readonly value: StoreValue;
}

/**
 * A record for a numbered log. The store gives it the log's next number and, unless `unlinked`, links it to its
 * predecessor as a hash chain (chain.ts). Appends of different commits never conflict.
 */
export interface StoreAppend {
  readonly chain: string;
  readonly value: StoreValue;
  /** Prefixes of index entries; the record's number completes each. */
  readonly indexes?: readonly StoreKey[];
  /**
   * True for a log that is only numbered: the value itself is the record, and the oldest records may be deleted. Must
   * be the same for all records of a log.
   */
  readonly unlinked?: boolean;
}

/** An atomic change: first the checks, then the deletions, then the puts and the appends. */
export interface StoreCommit {
  readonly checks?: readonly StoreCheck[];
  readonly puts?: readonly StorePut[];
  readonly deletes?: readonly StoreKey[];
  /** Every key that starts with one of these prefixes is deleted, as of the commit. */
  readonly deletePrefixes?: readonly StoreKey[];
  readonly appends?: readonly StoreAppend[];
  /**
   * True for a commit that may use the space reserved for a full disk: revocations, seals, audit events. Deletions,
   * alone or with appends, are always urgent.
   */
  readonly urgent?: boolean;
}

export interface RangeOptions {
  /** Records to skip, for pages. */
  readonly offset?: number;
  readonly limit?: number;
  /** Largest key first. */
  readonly reverse?: boolean;
  /** Starts after this key (exclusive), in the direction of the range. */
  readonly after?: StoreKey;
}

export interface Store {
  /** Returns a record, or undefined, in microseconds. Throws `data_corrupt` when its integrity tag is wrong. */
  get<T = StoreValue>(key: StoreKey): StoreRecord<T> | undefined;
  /** Returns the records whose keys start with the prefix, in key order. */
  range<T = StoreValue>(prefix: StoreKey, options?: RangeOptions): StoreRecord<T>[];
  /** Returns the number of keys that start with the prefix. */
  count(prefix: StoreKey): number;
  /**
   * Returns a number that changes with every acknowledged commit of puts or deletions; values that were read may be
   * reused while it stays the same. Appends do not change it. Absent: no value may be reused.
   */
  revision?(): number;
  /**
   * Applies a commit; resolves when it is on disk.
   * @throws StoreConflict when a check fails; nothing is written
   * @throws storage_full when the disk is full
   * @throws storage_failed when the disk fails; whether the commit was written may be unknown
   * @throws overloaded when the write queue is full
   */
  commit(commit: StoreCommit): Promise<void>;
  /** Waits for pending commits, then releases the store. */
  close(): Promise<void>;
}

/** Notification of appends, so that readers of a log need not poll. */
export interface AppendFeed {
  /**
   * Calls the listener after each group of commits that appended to the log, when they can be read. Returns a function
   * that ends it.
   */
  onAppend(chain: string, listener: () => void): () => void;
}

/** A check of a commit failed: another commit was first. The caller must read again and decide anew. */
export class StoreConflict extends Error {
  override readonly name = "StoreConflict";
  readonly key: StoreKey;
  /** Whether other nodes write as well: those who try again at the same moments would meet again and again. */
  readonly isShared: boolean;

  constructor(key: StoreKey, { isShared = false }: { readonly isShared?: boolean } = {}) {
    super("a record changed between read and commit");
    this.key = key;
    this.isShared = isShared;
  }
}
