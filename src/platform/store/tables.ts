/**
 * Typed tables over the store port: records under keys that begin with their owner, index entries that are updated with
 * their records, and lists in a stable order. A table reads, and builds commits; it never commits by itself, so that a
 * service can merge several changes into one commit.
 *
 *   record          [name, ...key(record)]                                   -> the record
 *   index entry     [name#index, ...index(record), created_at, id]           -> the record's key without the name
 *   unique entry    [name!unique, ...unique(record)]                         -> the record's key without the name
 *
 * A list by an index is therefore ordered by created_at, then id.
 */
import { AppError, assert } from "../errors.js";
import type { Store, StoreCommit, StoreKey, StoreRecord, StoreValue } from "./store.js";

export { mergeCommits, retryOnConflict } from "./commits.js";

/**
 * What every record of a table has. created_at is ISO 8601 in UTC with milliseconds, whose text order is its time
 * order.
 */
export interface TableRow {
  readonly id: string;
  readonly created_at: string;
}

/** Returns the key of a record in an index; undefined when the record is not in the index. */
export type KeyOf<T> = (record: T) => StoreKey | undefined;

export interface TableOptions<T extends TableRow, I extends string, U extends string> {
  /** First part of every key. Never change it. */
  readonly name: string;
  /** Owner first, then ids: `[ownerKind, ownerId, id]`. Must never change for a record. */
  readonly key: (record: T) => StoreKey;
  /** Indexes for lists, such as by owner, parent or status. created_at and id complete each entry. */
  readonly indexes?: Readonly<Record<I, KeyOf<T>>>;
  /** Keys that at most one record may have, such as an e-mail address, or a name within a vault. */
  readonly uniques?: Readonly<Record<U, KeyOf<T>>>;
}

export interface Page {
  /** From 1. */
  readonly page: number;
  /** Results per page. */
  readonly rpp: number;
}

export interface ListOptions<T> {
  readonly page?: Page;
  /** Newest first. */
  readonly reverse?: boolean;
  /**
   * Selects rows. All rows of the list are read, about 8 us each, so that long lists need an index instead.
   */
  readonly filter?: (row: T) => boolean;
}

export interface Listing<T> {
  readonly rows: T[];
  /** Number of rows on all pages. */
  readonly total: number;
}

export interface Walk<T> {
  readonly rows: T[];
  readonly next: StoreKey | undefined;
}

export interface Table<T extends TableRow, I extends string, U extends string> {
  /** Returns the record of a key, which is given without the table's name. */
  get(key: StoreKey): StoreRecord<T> | undefined;
  /** Returns the record with a unique key. */
  findBy(unique: U, key: StoreKey): StoreRecord<T> | undefined;
  /** Lists the records of an index under a prefix of its key, by created_at, then id; all of them without a page. */
  list(index: I, prefix: StoreKey, options?: ListOptions<T>): Listing<T>;
  /** Lists records with their keys and versions, for changes to many. */
  records(index: I, prefix: StoreKey, page?: Page): StoreRecord<T>[];
  /**
   * Reads the next records of an index, by created_at, then id within one key, for walks over more than one turn should
   * hold. `next` is the place from which to go on; undefined at the end.
   */
  walk(index: I, options: { readonly after?: StoreKey | undefined; readonly limit: number }): Walk<T>;
  /**
   * Returns the first record of each group under a prefix: those of a group have the same first `parts` parts of their
   * key in the index, ids as a rule. It leaps from group to group, whatever their lengths.
   */
  firstOfEach(index: I, prefix: StoreKey, parts: number): StoreRecord<T>[];
  /** Returns the number of records of an index under a prefix. */
  count(index: I, prefix: StoreKey): number;
  /** The commit conflicts when the key or a unique key is taken; `uniqueOf(conflict.key)` tells which. */
  insertCommit(record: T): StoreCommit;
  /** The commit conflicts when the record was changed since it was read, or a new unique key is taken. */
  updateCommit(current: StoreRecord<T>, next: T): StoreCommit;
  /** The commit conflicts when the record was changed since it was read. */
  deleteCommit(current: StoreRecord<T>): StoreCommit;
  /** Returns the name of the unique key that caused a conflict, or undefined when the record itself did. */
  uniqueOf(conflictKey: StoreKey): U | undefined;
  /** True when a record of this table, or one of its entries, caused a conflict. */
  isOwnKey(conflictKey: StoreKey): boolean;
}

/** Defines a table over a store. */
export function defineTable<T extends TableRow, I extends string = never, U extends string = never>(
  options: TableOptions<T, I, U>,
  dependencies: { readonly store: Pick<Store, "get" | "range" | "count"> },
): Table<T, I, U> {
  return new StoreTable<T, I, U>(options, dependencies.store);
}

/** The last of all texts that stand in keys: they sort by code point. */
const BEHIND_ALL = "\u{10ffff}";

class StoreTable<T extends TableRow, I extends string, U extends string> implements Table<T, I, U> {
  readonly #options: TableOptions<T, I, U>;
  readonly #store: Pick<Store, "get" | "range" | "count">;

  constructor(options: TableOptions<T, I, U>, store: Pick<Store, "get" | "range" | "count">) {
    this.#options = options;
    this.#store = store;
  }

  get(key: StoreKey): StoreRecord<T> | undefined {
    return this.#store.get<T>([this.#options.name, ...key]);
  }

  findBy(unique: U, key: StoreKey): StoreRecord<T> | undefined {
    const entry = this.#store.get<StoreKey>([`${this.#options.name}!${unique}`, ...key]);
    return entry === undefined ? undefined : this.#follow(entry);
  }

  list(index: I, prefix: StoreKey, options: ListOptions<T> = {}): Listing<T> {
    const { page, reverse, filter } = options;
    if (filter === undefined) {
      return {
        rows: this.#read(index, prefix, page, reverse).map((record) => record.value),
        total: this.count(index, prefix),
      };
    }
    const selected = this.#read(index, prefix, undefined, reverse)
      .map((record) => record.value)
      .filter(filter);
    const from = page === undefined ? 0 : (page.page - 1) * page.rpp;
    return { rows: page === undefined ? selected : selected.slice(from, from + page.rpp), total: selected.length };
  }

  records(index: I, prefix: StoreKey, page?: Page): StoreRecord<T>[] {
    return this.#read(index, prefix, page, false);
  }

  walk(index: I, { after, limit }: { readonly after?: StoreKey | undefined; readonly limit: number }): Walk<T> {
    const entries = this.#store.range<StoreKey>(this.#indexKey(index, []), {
      limit,
      ...(after === undefined ? {} : { after }),
    });
    const next = entries.length < limit ? undefined : entries.at(-1)?.key;
    return { rows: entries.map((entry) => this.#follow(entry).value), next };
  }

  firstOfEach(index: I, prefix: StoreKey, parts: number): StoreRecord<T>[] {
    const found: StoreRecord<T>[] = [];
    const key = this.#indexKey(index, prefix);
    let after: StoreKey | undefined;
    for (;;) {
      const [entry] = this.#store.range<StoreKey>(key, { limit: 1, ...(after === undefined ? {} : { after }) });
      if (entry === undefined) return found;
      found.push(this.#follow(entry));
      after = [...entry.key.slice(0, 1 + parts), BEHIND_ALL];
    }
  }

  count(index: I, prefix: StoreKey): number {
    return this.#store.count(this.#indexKey(index, prefix));
  }

  insertCommit(record: T): StoreCommit {
    const key = this.#key(record);
    const entries = this.#entries(record);
    const uniques = entries.filter((entry) => entry.unique).map((entry) => entry.key);
    return {
      checks: [key, ...uniques].map((checked) => ({ key: checked, version: "absent" })),
      puts: [
        { key, value: toValue(record) },
        ...entries.map((entry) => ({ key: entry.key, value: this.#options.key(record) })),
      ],
    };
  }

  updateCommit(current: StoreRecord<T>, next: T): StoreCommit {
    const key = this.#key(next);
    assert(same(key, current.key), `a record of ${this.#options.name} keeps its key`);
    const before = this.#entries(current.value);
    const after = this.#entries(next);
    const removed = before.filter((entry) => !after.some((other) => same(other.key, entry.key)));
    const added = after.filter((entry) => !before.some((other) => same(other.key, entry.key)));
    return {
      checks: [
        { key, version: current.version },
        ...added.filter((entry) => entry.unique).map((entry) => ({ key: entry.key, version: "absent" as const })),
      ],
      deletes: removed.map((entry) => entry.key),
      puts: [
        { key, value: toValue(next) },
        ...added.map((entry) => ({ key: entry.key, value: this.#options.key(next) })),
      ],
    };
  }

  deleteCommit(current: StoreRecord<T>): StoreCommit {
    return {
      checks: [{ key: current.key, version: current.version }],
      deletes: [current.key, ...this.#entries(current.value).map((entry) => entry.key)],
    };
  }

  uniqueOf(conflictKey: StoreKey): U | undefined {
    const names = Object.keys(this.#options.uniques ?? {}) as U[];
    return names.find((name) => conflictKey[0] === `${this.#options.name}!${name}`);
  }

  isOwnKey(conflictKey: StoreKey): boolean {
    return typeof conflictKey[0] === "string" && conflictKey[0].split(/[#!]/, 1)[0] === this.#options.name;
  }

  #key(record: T): StoreKey {
    return [this.#options.name, ...this.#options.key(record)];
  }

  #indexKey(index: I, prefix: StoreKey): StoreKey {
    return [`${this.#options.name}#${index}`, ...prefix];
  }

  #read(index: I, prefix: StoreKey, page: Page | undefined, reverse = false): StoreRecord<T>[] {
    const entries = this.#store.range<StoreKey>(this.#indexKey(index, prefix), {
      reverse,
      ...(page === undefined ? {} : { offset: (page.page - 1) * page.rpp, limit: page.rpp }),
    });
    return entries.map((entry) => this.#follow(entry));
  }

  #follow(entry: StoreRecord<StoreKey>): StoreRecord<T> {
    const record = this.get(entry.value);
    // Both are written in one commit and read in one turn of the event loop: an entry without a record is damage.
    if (record === undefined)
      throw new AppError("data_corrupt", { message: "an index of the store names a record that does not exist" });
    return record;
  }

  /** All index and unique entries of a record. */
  #entries(record: T): { key: StoreKey; unique: boolean }[] {
    const { name, indexes, uniques } = this.#options;
    const entries: { key: StoreKey; unique: boolean }[] = [];
    for (const [index, keyOf] of Object.entries<KeyOf<T>>(indexes ?? {})) {
      const key = keyOf(record);
      if (key !== undefined)
        entries.push({ key: [`${name}#${index}`, ...key, record.created_at, record.id], unique: false });
    }
    for (const [unique, keyOf] of Object.entries<KeyOf<T>>(uniques ?? {})) {
      const key = keyOf(record);
      if (key !== undefined) entries.push({ key: [`${name}!${unique}`, ...key], unique: true });
    }
    return entries;
  }
}

/** Rows are plain JSON, but interfaces lack the index signature that StoreValue requires. */
function toValue(record: TableRow): StoreValue {
  return record as unknown as StoreValue;
}

function same(one: StoreKey, other: StoreKey): boolean {
  return one.length === other.length && one.every((part, index) => part === other[index]);
}
