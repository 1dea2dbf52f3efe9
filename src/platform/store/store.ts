/**
 * The store port: what services may ask of durable storage. Read, decide, commit; on a conflict, read again.
 * A resolved commit is on disk. Adapters: LMDB (lmdb-store.ts). One behaviour suite runs on every adapter.
 */

/** Parts of a key, outermost first: the table's name, then the owner's kind and id, then ids. Compared part by part. */
export type StoreKey = readonly (string | number)[];

/** What a record may hold: plain JSON. Bytes travel as base64 or hex text. */
export type StoreValue =
  string | number | boolean | null | readonly StoreValue[] | { readonly [member: string]: StoreValue | undefined };

export interface StoreRecord<T = StoreValue> {
  readonly key: StoreKey;
  readonly value: T;
  /**
   * Grows with each write, and never repeats, not even when the key is deleted and written again; what a check pins.
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
 * A record for a numbered log: the store gives it the chain's next number and, unless told otherwise, links it to its
 * predecessor as a hash chain (chain.ts). Appends of different commits never conflict.
 */
export interface StoreAppend {
  readonly chain: string;
  readonly value: StoreValue;
  /** Keys under which the record's number is put as well, completed by that number. */
  readonly indexes?: readonly StoreKey[];
  /**
   * Only numbered: the value itself is the record, and the oldest records may be deleted. The same for all records of
   * one chain.
   */
  readonly unlinked?: boolean;
}

/** All of it happens, or none of it: first the checks, then the deletions, then the puts and the appends. */
export interface StoreCommit {
  readonly checks?: readonly StoreCheck[];
  readonly puts?: readonly StorePut[];
  readonly deletes?: readonly StoreKey[];
  /** Every key that starts with one of these prefixes is deleted, as of the commit. */
  readonly deletePrefixes?: readonly StoreKey[];
  readonly appends?: readonly StoreAppend[];
  /**
   * May use the space that is held back for the time when the disk is full: revocations, seals, audit of a deletion.
   * Deletions alone, and with appends that tell of them, are always urgent.
   */
  readonly urgent?: boolean;
}

export interface RangeOptions {
  /** Records to pass over, for pages. */
  readonly offset?: number;
  readonly limit?: number;
  /** Largest key first. */
  readonly reverse?: boolean;
  /** Start after this key (exclusive), in the direction of travel. */
  readonly after?: StoreKey;
}

export interface Store {
  /** The record, or undefined. Throws `data_corrupt` when its integrity tag does not hold. Microseconds. */
  get<T = StoreValue>(key: StoreKey): StoreRecord<T> | undefined;
  /** Records whose keys start with the prefix, in key order. */
  range<T = StoreValue>(prefix: StoreKey, options?: RangeOptions): StoreRecord<T>[];
  /** How many keys start with the prefix. */
  count(prefix: StoreKey): number;
  /**
   * Another number after every acknowledged commit with puts or deletions, so that what was read before may be used
   * again until then. Appends leave it as it is. Absent: nothing may be kept.
   */
  revision?(): number;
  /**
   * Applies a commit durably. Rejects with StoreConflict when a check fails (nothing is written), with `storage_full`
   * when the disk is full, with `storage_failed` when the disk does not take the write, with `overloaded` when the
   * write queue is full.
   */
  commit(commit: StoreCommit): Promise<void>;
  /** Waits for pending commits, then releases the store. */
  close(): Promise<void>;
}

/** Tells of appends, so that whoever passes them on need not look again and again. */
export interface AppendFeed {
  /**
   * Calls the listener after each group of commits that appended to the chain, once they can be read. Returns what ends
   * that.
   */
  onAppend(chain: string, listener: () => void): () => void;
}

/** A check of a commit did not hold: somebody else wrote first. The caller reads again and decides anew. */
export class StoreConflict extends Error {
  override readonly name = "StoreConflict";
  readonly key: StoreKey;

  constructor(key: StoreKey) {
    super("a record changed between read and commit");
    this.key = key;
  }
}
