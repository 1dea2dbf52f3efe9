/**
 * Typed tables over the store port: records under owner-prefixed keys, their index entries kept in step, lists in a
 * stable order. A table reads, and builds commits; it never commits by itself, so that a service can put several
 * changes into one.
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

/** Where a record stands in an index; undefined: not in it. */
export type KeyOf<T> = (record: T) => StoreKey | undefined;

export interface TableOptions<T extends TableRow, I extends string, U extends string> {
  /** First part of every key. Never change it. */
  readonly name: string;
  /** Owner first, then ids: `[ownerKind, ownerId, id]`. Never changes in a record's life. */
  readonly key: (record: T) => StoreKey;
  /** Lists: by owner, by parent, by status. Entries are completed with created_at and id. */
  readonly indexes?: Readonly<Record<I, KeyOf<T>>>;
  /** What at most one record may have: an e-mail address, a name within a vault. */
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
   * Keeps some rows only. Reads all rows of the list: about 8 us each, so that an index is better where lists grow
   * long.
   */
  readonly filter?: (row: T) => boolean;
}

export interface Listing<T> {
  readonly rows: T[];
  /** Over all pages. */
  readonly total: number;
}

export interface Table<T extends TableRow, I extends string, U extends string> {
  /** The record under a key without the table's name. */
  get(key: StoreKey): StoreRecord<T> | undefined;
  /** The record that a unique entry names. */
  findBy(unique: U, key: StoreKey): StoreRecord<T> | undefined;
  /** The records of an index under a prefix of its key, by created_at, then id; all of them without a page. */
  list(index: I, prefix: StoreKey, options?: ListOptions<T>): Listing<T>;
  /** The same with keys and versions, for changes to many. */
  records(index: I, prefix: StoreKey, page?: Page): StoreRecord<T>[];
  count(index: I, prefix: StoreKey): number;
  /** Conflicts when the key or one of its uniques is taken; StoreConflict.key tells which (`uniqueOf`). */
  insertCommit(record: T): StoreCommit;
  /** Conflicts when the record is no longer as read, or one of its new uniques is taken. */
  updateCommit(current: StoreRecord<T>, next: T): StoreCommit;
  /** Conflicts when the record is no longer as read. */
  deleteCommit(current: StoreRecord<T>): StoreCommit;
  /** The name of the unique whose entry a conflict was about, or undefined when it was about the record itself. */
  uniqueOf(conflictKey: StoreKey): U | undefined;
  /** True when a conflict was about a record of this table or one of its entries. */
  isOwnKey(conflictKey: StoreKey): boolean;
}

/** Makes a table over a store. */
export function defineTable<T extends TableRow, I extends string = never, U extends string = never>(
  options: TableOptions<T, I, U>,
  dependencies: { readonly store: Pick<Store, "get" | "range" | "count"> },
): Table<T, I, U> {
  return new StoreTable<T, I, U>(options, dependencies.store);
}

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
    const kept = this.#read(index, prefix, undefined, reverse)
      .map((record) => record.value)
      .filter(filter);
    const from = page === undefined ? 0 : (page.page - 1) * page.rpp;
    return { rows: page === undefined ? kept : kept.slice(from, from + page.rpp), total: kept.length };
  }

  records(index: I, prefix: StoreKey, page?: Page): StoreRecord<T>[] {
    return this.#read(index, prefix, page, false);
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
    const gone = before.filter((entry) => !after.some((other) => same(other.key, entry.key)));
    const added = after.filter((entry) => !before.some((other) => same(other.key, entry.key)));
    return {
      checks: [
        { key, version: current.version },
        ...added.filter((entry) => entry.unique).map((entry) => ({ key: entry.key, version: "absent" as const })),
      ],
      deletes: gone.map((entry) => entry.key),
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
    // Both are written in one commit and read in one turn, so that an entry without its record is damage.
    if (record === undefined)
      throw new AppError("data_corrupt", { message: "an index of the store names a record that is not there" });
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

/** Rows are interfaces of plain JSON members; TypeScript asks for an index signature that interfaces do not have. */
function toValue(record: TableRow): StoreValue {
  return record as unknown as StoreValue;
}

function same(one: StoreKey, other: StoreKey): boolean {
  return one.length === other.length && one.every((part, index) => part === other[index]);
}
